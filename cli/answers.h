// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cause_story.h"
#include "fleet/answers.h"
#include "migration/baseline.h"
#include "migration/comparison.h"
#include "migration/labels.h"
#include "migration/profile.h"
#include "migration/stuck.h"
#include "migration/upgrade_impact.h"

/// What scoutctl answers besides what fleet/ tells, before it is written as a table, JSON or YAML.
namespace scout::cli {

using fleet::AnyMatrix;
using fleet::DocumentState;
using fleet::GuestEvent;
using fleet::GuestLine;
using fleet::GuestsAnswer;
using fleet::LabelCheckAnswer;
using fleet::LevelsAnswer;
using fleet::MatrixAnswer;
using fleet::NodeDetail;
using fleet::NodeLine;
using fleet::NodesAnswer;
using fleet::PressureListing;
using fleet::PressureNode;
using fleet::ProfileAnswer;
using fleet::ProtectionListing;

/// `compare A B`: one guest, one target. A document that cannot be used is verdict unknown with one
/// reason of code `document`.
struct PairAnswer {
    std::string source;  ///< path as given
    std::string target;  ///< path as given
    migration::Comparison comparison;
};

struct LabelsAnswer {
    std::string document;
    migration::Labels labels;
    std::vector<std::string> left_out;  ///< keys that these documents cannot tell; sorted; with a
                                        ///< `/` at the end: all that begin so
    std::string map;                    ///< cpu_map that the supported features needed; empty: none
    bool assumed = false;  ///< a bare `<cpu>`: models and support are assumed (design §5)
};

/// `stuck`: what waits, in the order of namespaces and names.
struct StuckListing {
    std::vector<migration::StuckAnswer> stuck;
    WallTime at;  ///< moment of judgement
};

/// One line of `debug watch`.
struct WatchLine {
    std::string_view event;  ///< add, update, delete, synced
    std::string kind;        ///< "nodes", "virtualmachines.kubevirt.io"
    std::string space;       ///< namespace
    std::string name;
    std::string uid;
    std::string version;
    std::string_view found_by;  ///< watch, or the list that found it; empty for synced
    std::size_t objects = 0;    ///< that are known now
};

/// Exit codes of the process, a contract of scripts (docs/scoutctl.md).
namespace exit_code {
inline constexpr int can = 0;
inline constexpr int cannot = 1;
inline constexpr int error = 2;
inline constexpr int unknown = 3;
}  // namespace exit_code

[[nodiscard]] int exit_code_of(migration::Verdict verdict) noexcept;

/// Can if any node can, cannot if every node cannot, else unknown; also where no node was asked.
[[nodiscard]] migration::Verdict overall(const migration::Placement& placement) noexcept;

/// "pass", "fail", "unknown": how the stock gate's verdict is written.
[[nodiscard]] std::string_view gate_text(migration::Verdict gate) noexcept;

/// "yes", "no", "unknown"; "absent" where the document does not say.
[[nodiscard]] std::string_view usable_text(const std::optional<migration::Usable>& usable) noexcept;

/// The answer for a document that could not be used.
[[nodiscard]] migration::Comparison unusable_document(const std::string& path,
                                                      const std::string& why);

}  // namespace scout::cli
