// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aggregator/level_labels.h"
#include "aggregator/live_settings.h"
#include "aggregator/pod_admission.h"
#include "base/task.h"
#include "cluster/first_placement.h"
#include "cluster/placement_rules.h"
#include "daemon/http_server.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "kube/objects/vmi.h"

namespace scout::aggregator {

/// The webhook for first launcher pods of host-model VMs (design §7): lets them start on nodes of
/// the level that is demanded. Any replica answers, whoever leads. What it cannot judge it lets
/// pass unchanged, with a warning: a VM that starts is worth more than one that starts well.
/// An API server that asks again about a pod that it has from us gets no patch.
///
/// Loop thread. What the sources refer to must outlive it.
class PlacementAdmission {
public:
    struct Sources {
        const LevelLabels& levels;
        const LiveSettings& settings;
        const kube::Informer<kube::Vmi>& vmis;  ///< no Event is about any other
        kube::EventRecorder& events;
    };

    explicit PlacementAdmission(Sources sources);

    /// Of a POST: an AdmissionReview, or 400 with a sentence for what is none.
    [[nodiscard]] Task<daemon::HttpAnswer> serve(daemon::HttpRequest request);

    /// What is in force, and what is wrong with what was demanded.
    [[nodiscard]] const cluster::PlacementRules& rules() const noexcept {
        return sources_.settings.current().placement;
    }
    [[nodiscard]] const AdmissionCounters& counters() const noexcept { return counters_; }

private:
    void judge(const kube::AdmissionRequest& request, const kube::NewPod& pod,
               kube::AdmissionAnswer& answer);
    void place(const kube::AdmissionRequest& request, const kube::NewPod& pod,
               kube::AdmissionAnswer& answer);
    [[nodiscard]] std::string unwritten_note(const cluster::PlacementRules& rules,
                                             const cluster::LevelStanding& standing,
                                             const std::string& arch) const;
    void tell_vmi(const std::string& space, const kube::NewPod& pod, std::string note);

    Sources sources_;
    AdmissionCounters counters_;
};

}  // namespace scout::aggregator
