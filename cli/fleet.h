// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/answers.h"
#include "cli/settings.h"
#include "cli/subject.h"

namespace scout::cli {

/// What `where` asks about: a subject that the aggregator knows, or a guest that the caller
/// describes from a file of its own.
struct FleetSubject {
    Subject subject;
    std::string text;  ///< as the user wrote it
    std::optional<migration::GuestCpu> described;
};

/// What answers questions about a fleet: an aggregator, or a dump in its place. Every call of an
/// aggregator ends within the deadline; unavailable says how to reach another. One thread.
class Fleet {
public:
    /// Takes one event; false ends the watching.
    using GuestSink = std::function<bool(const GuestEvent&)>;

    Fleet() = default;
    virtual ~Fleet() = default;
    Fleet(const Fleet&) = delete;
    Fleet& operator=(const Fleet&) = delete;
    Fleet(Fleet&&) = delete;
    Fleet& operator=(Fleet&&) = delete;

    [[nodiscard]] virtual Result<NodesAnswer> nodes() = 0;
    /// `map` is empty in what the aggregator tells of one node.
    [[nodiscard]] virtual Result<NodeDetail> node(const std::string& name) = 0;
    /// Guests of one node, or of all for an empty name.
    [[nodiscard]] virtual Result<GuestsAnswer> guests(const std::string& node) = 0;
    /// Guests now as `added`, then every change until the connection ends, which is an error.
    [[nodiscard]] virtual Status watch_guests(const std::string& node, const GuestSink& sink) = 0;
    /// All nodes for an empty target.
    [[nodiscard]] virtual Result<migration::Placement> where(const FleetSubject& subject,
                                                             const std::string& target) = 0;
    [[nodiscard]] virtual Result<AnyMatrix> matrix() = 0;
    /// All nodes for an empty list.
    [[nodiscard]] virtual Result<migration::Baseline> baseline(
        const std::vector<std::string>& nodes) = 0;
    [[nodiscard]] virtual Result<migration::UpgradeImpact> upgrade_impact(
        const std::string& node) = 0;
};

/// Opens the connection that the settings describe. Errors: what wire::parse_endpoint(),
/// check_security() and open_channel() refuse; nothing is sent yet.
[[nodiscard]] Result<std::unique_ptr<Fleet>> open_fleet(const Settings& settings);

}  // namespace scout::cli
