// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "cluster/move_policy.h"
#include "cluster/told_events.h"
#include "kube/client.h"
#include "kube/objects/vmi.h"
#include "migration/evacuation.h"

namespace scout::cluster {

/// Which VM an evacuation is of.
struct EvacuationSubject {
    std::string space;
    std::string vmi;
    std::string vmi_uid;
    std::string pod;  ///< its launcher
    std::string pod_uid;
    std::string node;
    std::string strategy;       ///< of the KubeVirt object
    bool pod_deleting = false;  ///< by the API: nothing else ends it then
};

/// Does an evacuation's steps by calls to the API server (dossier §4, §16). Loop thread; client and
/// clock must outlive it, and it must outlive its calls.
class EvacuationActs {
public:
    /// How long a call may take that begins now.
    using Allowance = std::function<std::chrono::milliseconds()>;

    /// `allowance`: of one who may act for a time only, as a leader; none: no call is cut short.
    EvacuationActs(kube::Client& client, const Clock& clock, Allowance allowance = {})
        : client_(client), clock_(clock), allowance_(std::move(allowance)), told_(client) {}

    struct VmiAnswer {
        migration::StepOutcome outcome{};
        std::optional<migration::VmiFacts> facts;  ///< done, and none: there is no such VMI
        std::chrono::seconds grace{0};             ///< grace_of() it
        /// Of a migration that was handed off and has not started; empty: there is none.
        std::string waiting_target;
        /// It has a liveness probe, and the kubelet's Events say that its launcher is killed for
        /// it: a moved guest would be as ill. False also where they do not say why, cannot be read
        /// or come too late.
        bool liveness_kill = false;
    };
    /// Within a second, or unavailable; Events, if it has a liveness probe, within half a second
    /// more.
    [[nodiscard]] Task<VmiAnswer> read_vmi(EvacuationSubject subject);

    struct MovesAnswer {
        migration::StepOutcome outcome{};
        std::vector<migration::MoveFacts> moves;
    };
    [[nodiscard]] Task<MovesAnswer> list_moves(EvacuationSubject subject);

    /// The policy of one move. Done: it is there, and so is what it is based on.
    [[nodiscard]] Task<migration::StepOutcome> escalate(EvacuationSubject subject,
                                                        MovePolicy policy);
    /// `uid`: of the object that is meant.
    [[nodiscard]] Task<migration::StepOutcome> remove_policy(std::string name, std::string uid);

    /// Every other step.
    [[nodiscard]] Task<migration::StepOutcome> carry_out(EvacuationSubject subject,
                                                         migration::EvacuationOrder order);

private:
    [[nodiscard]] kube::CallOptions urgent(std::chrono::milliseconds limit) const;
    [[nodiscard]] Task<kube::ApiResult<std::optional<kube::Vmi>>> get_vmi(
        EvacuationSubject subject, std::chrono::milliseconds limit);
    [[nodiscard]] Task<bool> is_liveness_kill(EvacuationSubject subject);
    [[nodiscard]] Task<migration::StepOutcome> stamp(EvacuationSubject subject);
    [[nodiscard]] Task<migration::StepOutcome> evict(EvacuationSubject subject, bool dry_run);
    [[nodiscard]] Task<migration::StepOutcome> create_move(EvacuationSubject subject);
    [[nodiscard]] Task<migration::StepOutcome> cancel_mark(EvacuationSubject subject);
    [[nodiscard]] Task<migration::StepOutcome> remove(kube::Target target,
                                                      kube::Preconditions same);
    [[nodiscard]] Task<migration::StepOutcome> touch(EvacuationSubject subject);
    [[nodiscard]] Task<migration::StepOutcome> look_at_policy(std::string name, std::string wanted);

    kube::Client& client_;
    const Clock& clock_;
    Allowance allowance_;
    ToldEvents told_;
};

/// Whether KubeVirt's webhook, by the text of its 429, marked this VMI to be moved, or had before.
[[nodiscard]] bool says_evacuation(std::string_view text, const EvacuationSubject& subject);

}  // namespace scout::cluster
