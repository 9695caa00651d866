// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "aggregator/cause_history.h"
#include "aggregator/questions.h"
#include "base/result.h"
#include "cluster/cause_story.h"
#include "kube/informer.h"
#include "kube/objects/launcher_pod.h"
#include "kube/objects/node.h"
#include "kube/objects/vmi.h"

namespace scout::aggregator {

/// Tells users what became of VMs: what is kept of them, and what ends now. Loop thread; what the
/// constructor takes by reference must outlive it.
class CauseStories {
public:
    struct Sources {
        kube::Informer<kube::Node>& nodes;
        kube::Informer<kube::Vmi>& vmis;
        kube::Informer<kube::LauncherPod>& launchers;
        const CauseHistory& history;
    };

    explicit CauseStories(Sources sources) : sources_(sources) {}

    /// Of vmi_why and pod_why. Without the names of nodes to who may not see them. Errors:
    /// not_found where nothing of that name is there or kept; unavailable until the cluster was
    /// read.
    [[nodiscard]] Result<cluster::CauseStory> tell(const Question& question) const;

private:
    [[nodiscard]] Result<cluster::CauseStory> of_vmi(const Question& question) const;
    [[nodiscard]] Result<cluster::CauseStory> of_pod(const Question& question) const;
    [[nodiscard]] Error nothing_known(const Question& question) const;
    [[nodiscard]] std::shared_ptr<const kube::LauncherPod> running_in(const kube::Vmi& vmi) const;
    void add_vm(cluster::CauseStory& story, std::string_view space, std::string_view name) const;
    void judge_now(cluster::CauseStory& story, const kube::LauncherPod* pod,
                   const kube::Vmi* vmi) const;
    void take_end(cluster::CauseStory& story, const KeptEnd& end) const;

    Sources sources_;
};

}  // namespace scout::aggregator
