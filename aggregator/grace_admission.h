// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aggregator/pod_admission.h"
#include "base/task.h"
#include "daemon/http_server.h"
#include "kube/informer.h"
#include "kube/objects/labelled.h"

namespace scout::aggregator {

/// The webhook for launcher pods of which their VM or their namespace says that they shall have
/// more time (cluster/launcher_grace.h), targets of migrations among them. Any replica answers,
/// whoever leads; no pod is ever refused. Loop thread. The informer must outlive it.
class GraceAdmission {
public:
    explicit GraceAdmission(const kube::Informer<kube::LabelledObject>& namespaces)
        : namespaces_(namespaces) {}

    /// Of a POST: an AdmissionReview, or 400 with a sentence for what is none.
    [[nodiscard]] Task<daemon::HttpAnswer> serve(daemon::HttpRequest request);

    [[nodiscard]] const AdmissionCounters& counters() const noexcept { return counters_; }

private:
    void judge(const kube::AdmissionRequest& request, const kube::NewPod& pod,
               kube::AdmissionAnswer& answer) const;

    const kube::Informer<kube::LabelledObject>& namespaces_;
    AdmissionCounters counters_;
};

}  // namespace scout::aggregator
