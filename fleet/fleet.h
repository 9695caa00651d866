// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/cause_story.h"
#include "fleet/answers.h"
#include "migration/baseline.h"
#include "migration/comparison.h"
#include "migration/upgrade_impact.h"

namespace scout::fleet {

enum class SubjectKind : std::uint8_t {
    guest,       ///< `NAME`, a UUID, `guest/NAME` or `guest/NAME@NODE`
    host_model,  ///< `host-model@NODE`: the host-model guest that would start there now
    file,        ///< `file:PATH`: a document of the caller
};

/// What `where` and `why-not` speak of.
struct Subject {
    SubjectKind kind = SubjectKind::guest;
    std::string name;  ///< of the guest (or its UUID), or the path of the file
    std::string node;  ///< of the host-model, or the only node on which the guest is looked for

    friend bool operator==(const Subject&, const Subject&) = default;
};

/// What `where` asks about: a subject that the aggregator knows, or a guest that the caller
/// describes from a file of its own.
struct FleetSubject {
    Subject subject;
    std::string text;  ///< as the user wrote it
    std::optional<migration::GuestCpu> described;
};

/// Whose protection is asked about; both empty: that of all.
struct ProtectionQuestion {
    std::vector<std::string> vms;  ///< "NAMESPACE/NAME", or a name that only one has
    std::string node;              ///< only VMs of this one
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
    /// What became of a VM, or of one of its launchers, after it is gone too. Only the aggregator
    /// of a cluster keeps that: of all others invalid.
    [[nodiscard]] virtual Result<cluster::CauseStory> why(const std::string& name);
    [[nodiscard]] virtual Result<ProtectionListing> protection(
        const ProtectionQuestion& question) = 0;
    /// All nodes for an empty list.
    [[nodiscard]] virtual Result<PressureListing> pressure(
        const std::vector<std::string>& nodes) = 0;
};

}  // namespace scout::fleet
