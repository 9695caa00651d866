// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cluster/levels.h"
#include "cluster/vm_protection.h"
#include "migration/class_rows.h"
#include "migration/cpu_truth.h"
#include "migration/guest.h"
#include "migration/label_check.h"
#include "migration/labels.h"
#include "migration/pressure_report.h"
#include "migration/profile.h"

/// What is told of a fleet, whoever tells it: files, the objects of a cluster or an aggregator fill
/// the same structs. Answers that `migration/` already has (Placement, Baseline, UpgradeImpact) are
/// used as they are.
namespace scout::fleet {

/// One file of `compare --all`.
struct DocumentState {
    std::string document;
    bool usable = false;
    std::string reason;  ///< why not usable; empty otherwise
};

/// What one hypervisor can run, with what follows from it.
struct ProfileAnswer {
    migration::Profile profile;
    migration::EffectiveSet supported;
    std::string not_comparable;  ///< why no migration facts may be drawn; empty: they may
};

/// `matrix`: nodes, and one character for each pair of their classes (migration/matrix_cell.h).
struct MatrixAnswer {
    struct Row {
        std::string node;
        std::uint32_t level = 0;                  ///< 0–100, truth layer
        std::uint32_t destinations = 0;           ///< truth layer
        std::optional<std::uint32_t> node_class;  ///< none: cannot be compared with any other
    };
    std::vector<Row> rows;
    std::vector<migration::ClassRow> classes;  ///< those of `rows`, sorted by number
    std::string map;                           ///< cpu_map in use; empty: none, or not told
    std::vector<DocumentState> left_out;       ///< files that could not be used
};

/// `matrix` of a cluster: each node's level and destinations, and what is refused.
struct LevelsAnswer {
    cluster::Levels levels;
    migration::Layer layer{};             ///< of levels and destinations
    std::string map;                      ///< cpu_map in use; empty: none
    std::vector<DocumentState> left_out;  ///< objects and files that could not be used
};

/// `labels --check`: what is wrong with the labels of each node.
struct LabelCheckAnswer {
    std::vector<migration::NodeFindings> nodes;
    std::string map;                      ///< cpu_map in use; empty: none
    std::vector<DocumentState> left_out;  ///< objects and files that could not be used
};

/// Hosts by themselves, or the nodes of a cluster.
using AnyMatrix = std::variant<MatrixAnswer, LevelsAnswer>;

/// One line of `nodes`.
struct NodeLine {
    std::string name;
    std::string freshness;  ///< fresh, stale, gone, unknown; empty: no agent is asked, and no age
    std::uint64_t age_ms = 0;
    std::string arch;
    std::string virt_type;
    std::string vendor;
    std::string host_model;
    std::string digest;
    std::string source;
    std::uint32_t guests = 0;
    bool comparable = false;
    std::string reason;
    std::optional<std::uint32_t> level;  ///< none: the node is not counted
    std::uint32_t destinations = 0;
    std::vector<std::string> notices;
    std::optional<bool> schedulable;  ///< takes VMs now; none: nobody tells
    std::string not_counted;          ///< why there is no level; empty otherwise
};

struct NodesAnswer {
    std::vector<NodeLine> nodes;
    std::string map;
};

struct GuestLine {
    std::string node;
    std::string uuid;
    std::string name;
    std::string state;
    std::int64_t since_unix_ms = 0;
    std::string found_by;  ///< event or resync
    std::uint64_t memory_kib = 0;
    migration::GuestCpu cpu;
    std::string cpu_error;  ///< why `cpu` says nothing; empty: it does, or has not been read yet
};

struct GuestsAnswer {
    std::vector<GuestLine> guests;
    std::vector<std::string> errors;  ///< nodes whose guests are not known, and why
};

/// One line of `guests --watch`.
struct GuestEvent {
    std::string_view event;  ///< added, changed, removed
    GuestLine guest;
};

struct NodeDetail {
    NodeLine line;
    std::optional<ProfileAnswer> profile;  ///< none: nothing could be probed
    migration::HostFacts facts;
    migration::Labels labels;
    std::string yardstick;
    std::vector<GuestLine> guests;
};

/// `protection`: which running VMs would be moved if their node told their launchers to stop.
struct ProtectionListing {
    std::vector<cluster::VmProtection> vms;
    std::vector<std::string> notes;  ///< what is not known, of all of them
};

/// What an agent told of its node's pressure, and how long ago.
struct ToldPressure {
    std::shared_ptr<const migration::PressureReport> report;  ///< never null
    std::string freshness;                                    ///< of the agent, as of a NodeLine
    std::uint64_t age_ms = 0;
};
/// By node.
using ToldPressures = std::map<std::string, ToldPressure, std::less<>>;

/// One node of `pressure`.
struct PressureNode {
    /// As the kubelet tells the API server.
    struct Condition {
        std::string type;
        std::string status;
        std::int64_t since_unix_ms = 0;  ///< 0: not told
    };

    std::string name;
    std::optional<ToldPressure> told;  ///< none: no agent told anything
    std::vector<Condition> conditions;
    std::vector<std::string> taints;  ///< "KEY:EFFECT"
};

struct PressureListing {
    std::vector<PressureNode> nodes;
    std::vector<std::string> notes;  ///< what is not known, of all of them
    bool hears_agents = true;        ///< false: they report to somebody else
};

[[nodiscard]] ProfileAnswer make_profile(migration::Profile profile, const migration::CpuMap* map);

}  // namespace scout::fleet
