// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aggregator/live_settings.h"
#include "aggregator/pod_admission.h"
#include "base/task.h"
#include "daemon/http_server.h"
#include "kube/informer.h"
#include "kube/objects/migration_policy.h"

namespace scout::aggregator {

/// The webhook for MigrationPolicies that are made, or whose spec is changed: what is wrong with
/// them is told to whoever does it, or refused (cluster/policy_review.h). Any replica answers,
/// whoever leads. Loop thread. Informer and settings must outlive it.
class PolicyAdmission {
public:
    PolicyAdmission(const kube::Informer<kube::MigrationPolicy>& policies,
                    const LiveSettings& settings)
        : policies_(policies), settings_(settings) {}

    /// Of a POST: an AdmissionReview, or 400 with a sentence for what is none.
    [[nodiscard]] Task<daemon::HttpAnswer> serve(daemon::HttpRequest request);

    [[nodiscard]] const AdmissionCounters& counters() const noexcept { return counters_; }

private:
    void judge(const kube::AdmissionRequest& request, kube::AdmissionAnswer& answer) const;

    const kube::Informer<kube::MigrationPolicy>& policies_;
    const LiveSettings& settings_;
    AdmissionCounters counters_;
};

}  // namespace scout::aggregator
