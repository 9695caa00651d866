// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "aggregator/cause_stories.h"
#include "aggregator/cluster_objects.h"
#include "aggregator/live_settings.h"
#include "aggregator/questions.h"
#include "aggregator/registry.h"
#include "base/clock.h"
#include "base/offload.h"
#include "cluster/levels.h"
#include "migration/cpu_map.h"

namespace scout::aggregator {

struct ClusterQuestion;

/// Answers users of the cluster from its objects, as scoutctl does from a dump of them: what an
/// answer says is what `scoutctl --live` would say now, to somebody who may read them all.
///
/// Loop thread; the work is done in the pool, on the objects of the moment of the question.
/// Everything that the constructor takes by reference must outlive it.
class ClusterQuestions final : public Questions {
public:
    struct Sources {
        ClusterObjects& objects;
        LiveSettings& settings;
        const CauseHistory& history;
        std::function<bool()> leads;
    };

    /// `levels`: with the settings that are in force; its cpu_map is copied.
    ClusterQuestions(Sources sources, cluster::LevelOptions levels, BlockingPool& pool,
                     const Clock& clock);

    /// What agents report counts while this process leads, for they report to the leader. Before
    /// the first question; the registry outlives this.
    void hear(const Registry& registry) { registry_ = &registry; }

    /// The message of the Fleet service that answers it, as JSON. Errors: unavailable until what it
    /// needs has been listed, and while the pool takes no more; timed_out; not_found and invalid
    /// name what is wrong with the question.
    [[nodiscard]] Task<Result<std::string>> answer(Question question) override;

private:
    [[nodiscard]] Status listed(Question::Kind kind) const;
    [[nodiscard]] ClusterQuestion gather(Question question) const;
    void gather_guests(ClusterQuestion& asked) const;
    void gather_protection(ClusterQuestion& asked) const;
    void gather_guest(ClusterQuestion& asked) const;

    Sources sources_;
    const Registry* registry_ = nullptr;  ///< null: no agent is heard
    cluster::LevelOptions levels_;
    std::shared_ptr<const migration::CpuMap> map_;  ///< of levels_; work may outlive this
    BlockingPool& pool_;
    const Clock& clock_;
    CauseStories stories_;
};

}  // namespace scout::aggregator
