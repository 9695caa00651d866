// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "cluster/cause_story.h"
#include "kube/labels.h"
#include "kube/objects/records.h"

/// What is written on a migration of who wanted it, and how it ended. Pure; any thread; nothing
/// here fails.
namespace scout::aggregator {

inline constexpr std::array<std::string_view, 4> move_modes{"none", "PreCopy", "PostCopy",
                                                            "Paused"};

/// Our annotations, by their keys.
using MoveNotes = std::map<std::string_view, std::string>;

/// What ours should be. How it ended is told then, if it came to run.
[[nodiscard]] MoveNotes notes_of(const kube::MoveRecord& move, const cluster::PastMove& past);
/// Whether they stand on it.
[[nodiscard]] bool has_notes(const kube::MoveRecord& move, const MoveNotes& wanted);
/// The body of an apply, of this object alone: of another uid, and of none, the API server answers
/// 409.
[[nodiscard]] std::string body_of(const kube::MoveRecord& move, const MoveNotes& wanted);

/// Who wanted it, as it stands there; empty: it does not.
[[nodiscard]] std::string_view recorded_on(const kube::Labels& annotations);

}  // namespace scout::aggregator
