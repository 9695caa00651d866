// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/questions.h"
#include "base/clock.h"
#include "base/result.h"
#include "cluster/cause_story.h"
#include "cluster/cpu_profile.h"
#include "cluster/levels.h"
#include "fleet/answers.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/labelled.h"
#include "kube/objects/launcher_pod.h"
#include "kube/objects/migration.h"
#include "kube/objects/migration_policy.h"
#include "kube/objects/node.h"
#include "kube/objects/plugin.h"
#include "kube/objects/scout_config.h"
#include "kube/objects/vmi.h"
#include "migration/cpu_map.h"

// What ClusterQuestions answers, once the objects are gathered. Pure; in the pool.

namespace scout::aggregator {

/// A question with the objects that its answer rests on, as they are now.
struct ClusterQuestion {
    Question question;
    cluster::LevelOptions levels;
    std::shared_ptr<const migration::CpuMap> map;
    WallTime moment;
    std::vector<std::shared_ptr<const kube::Node>> nodes;
    std::vector<kube::KubeVirt> kubevirts;
    std::vector<std::shared_ptr<const kube::Vmi>> vmis;
    std::vector<std::shared_ptr<const kube::Migration>> migrations;
    std::vector<std::shared_ptr<const kube::LauncherPod>> launchers;
    std::vector<std::shared_ptr<const cluster::CpuProfile>> profiles;
    std::vector<std::shared_ptr<const kube::MigrationPolicy>> policies;
    std::vector<std::shared_ptr<const kube::LabelledObject>> namespaces;
    std::vector<std::shared_ptr<const kube::Plugin>> plugins;
    std::vector<std::shared_ptr<const kube::ScoutConfig>> configs;
    std::optional<fleet::ToldPressures> pressures;  ///< none: agents report to another replica
};

/// Errors: invalid and refused, for parameters that cannot be.
[[nodiscard]] Status check_parameters(const Question& question);

/// The first of that name; empty: there is none.
[[nodiscard]] std::string option_of(const Question& question, const std::string& key);

/// Of one VMI, or of many.
[[nodiscard]] bool is_about_protection(Question::Kind kind) noexcept;

/// The message of such a story, as JSON.
[[nodiscard]] Result<std::string> tell_story(Result<cluster::CauseStory> story);

/// The message that answers it, as JSON. Errors: as Questions::answer().
[[nodiscard]] Result<std::string> respond(const ClusterQuestion& asked);

}  // namespace scout::aggregator
