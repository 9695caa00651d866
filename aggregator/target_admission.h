// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aggregator/pod_admission.h"
#include "base/task.h"
#include "cluster/target_term.h"
#include "daemon/http_server.h"
#include "kube/client.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "kube/objects/node.h"
#include "kube/objects/vmi.h"

namespace scout::aggregator {

/// The webhooks of migrations that carry a term (design §7.2). One is asked when such a migration
/// is made: it refuses what no pod could ask for, and lets something stand for the term, which
/// matches no node. The other is asked about the target pod, and puts the term in its place. Where
/// the second does not answer, or must not, the pod waits until KubeVirt gives it up: a VM goes
/// where it was asked to, or nowhere.
///
/// Any replica answers, whoever leads. Loop thread. What the sources refer to must outlive it.
class TargetAdmission {
public:
    struct Sources {
        const kube::Informer<kube::Node>& nodes;
        const kube::Informer<kube::Vmi>& vmis;
        kube::EventRecorder& events;
    };

    TargetAdmission(Sources sources, kube::Client& client) : sources_(sources), client_(client) {}

    /// Of a POST: an AdmissionReview, or 400 with a sentence for what is none.
    [[nodiscard]] Task<daemon::HttpAnswer> serve_move(daemon::HttpRequest request);
    [[nodiscard]] Task<daemon::HttpAnswer> serve_pod(daemon::HttpRequest request);

    [[nodiscard]] const AdmissionCounters& moves() const noexcept { return moves_; }
    [[nodiscard]] const AdmissionCounters& pods() const noexcept { return pods_; }

private:
    void judge_move(const kube::AdmissionRequest& request, kube::AdmissionAnswer& answer) const;
    [[nodiscard]] std::string outlook(const cluster::CarriedMove& move) const;
    [[nodiscard]] Task<kube::AdmissionAnswer> judge_pod(kube::AdmissionRequest request);
    /// The migration as it is now: what stands for a term must not be believed of an older one.
    [[nodiscard]] Task<Result<cluster::CarriedMove>> read_move(std::string space, std::string name);
    void tell(const kube::AdmissionRequest& request, const cluster::CarriedMove& move,
              std::string note);

    Sources sources_;
    kube::Client& client_;
    AdmissionCounters moves_;
    AdmissionCounters pods_;
};

}  // namespace scout::aggregator
