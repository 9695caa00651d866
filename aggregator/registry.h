// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/node.h"
#include "aggregator/shared_values.h"
#include "base/result.h"

namespace scout::aggregator {

struct RegistryOptions {
    std::chrono::milliseconds stale_after = std::chrono::seconds{35};
    std::chrono::milliseconds gone_after = std::chrono::hours{24};
    std::chrono::milliseconds forget_after = std::chrono::hours{7 * 24};
    std::size_t nodes_limit = 100'000;
    std::size_t guests_limit = 4096;  ///< of one node; what is beyond is left out, and told
};

enum class ChangeKind : std::uint8_t {
    node_added,
    node_changed,  ///< profile, facts, notices or freshness; not its guests
    node_removed,
    guest_added,
    guest_changed,
    guest_removed,
};

/// Told as it happens; references are good for the call only. A removed node or guest is told
/// while it is still there; `found_by` and `since_unix_ms` of a removed guest are of its removal,
/// its state is the last one known.
struct Change {
    ChangeKind kind;
    const Node& node;
    const Guest* guest = nullptr;  ///< set for guest_*
};

struct Introduction {
    std::string node;
    std::string host_identity;
    std::string agent_version;
};

/// Whose facts the fleet consists of, and how old they are.
///
/// Pure but for its state: ages come from a parameter, always of the steady clock, so that jumps of
/// the wall clock do not matter; that one only dates guests found to be gone. One thread. Node
/// addresses are stable while the node lives.
class Registry {
public:
    using Observer = std::function<void(const Change&)>;

    /// The clock outlives this.
    Registry(RegistryOptions options, const Clock& clock);

    /// Called for every change, in the order in which they were added. Must not change the
    /// registry.
    void observe(Observer observer) { observers_.push_back(std::move(observer)); }

    /// Called with a node whose agent has just told the host part, changed or not, and again when
    /// its profile came after it: what is remembered of a node does not do. Must not change the
    /// registry.
    void observe_reports(std::function<void(const Node&)> observer) {
        report_observers_.push_back(std::move(observer));
    }

    /// An agent says who it is. Errc::refused, with both named, while another host of this name is
    /// fresh, or if the name is that of a document; Errc::unavailable if the registry is full. A
    /// host that takes over the name of one that is not fresh starts empty.
    [[nodiscard]] Status introduce(const Introduction& introduction, SteadyTime now);

    /// Heard of: fresh from now on. Unknown nodes are passed over.
    void touch(std::string_view node, SteadyTime now);

    /// Takes the host part of a report. If the profile's body is not known the node has none until
    /// deliver(): false is answered then. Errc::not_found for unknown nodes.
    [[nodiscard]] Result<bool> report_host(std::string_view node, HostReport report);

    /// The body of a profile, which the caller has checked against its digest: every node that
    /// reported this digest has it from now on.
    void deliver(const std::string& digest, migration::Profile profile);

    /// Guests that are new or changed, and those that are gone (since now, where nobody knows since
    /// when). Errc::not_found for unknown nodes.
    [[nodiscard]] Status change_guests(std::string_view node, std::vector<Guest> changed,
                                       const std::vector<RemovedGuest>& removed);

    /// Replaces what was known of its pressure. Errc::not_found for unknown nodes.
    [[nodiscard]] Status report_pressure(std::string_view node, migration::PressureReport report,
                                         SteadyTime now);
    /// Called with the node and what was known of it before, which may be null. Must not change the
    /// registry.
    using PressureObserver =
        std::function<void(const Node&, const migration::PressureReport* before)>;
    void observe_pressure(PressureObserver observer) {
        pressure_observers_.push_back(std::move(observer));
    }

    /// A node out of a document. Errc::refused if the name is taken, Errc::invalid if it is none.
    struct Document {
        std::string name;
        std::string path;
        HostReport host;
        const migration::Profile* profile = nullptr;  ///< null: host.probe_error says why
    };
    [[nodiscard]] Status add_document(const Document& document, SteadyTime now);

    /// A node out of a snapshot, with its age. Passed over if the name is known already.
    void restore(Node node, SteadyTime now);

    /// Moves freshness on; forgets nodes by age. Call about once a second.
    void tick(SteadyTime now);

    [[nodiscard]] const Node* find(std::string_view node) const;
    [[nodiscard]] const std::map<std::string, Node, std::less<>>& nodes() const noexcept {
        return nodes_;
    }
    [[nodiscard]] const RegistryOptions& options() const noexcept { return options_; }
    [[nodiscard]] std::size_t guests() const noexcept { return guests_; }
    [[nodiscard]] std::size_t profiles() const { return profiles_.size(); }

    /// Equal values are kept once; for what fills guests and nodes.
    [[nodiscard]] SharedCpu share(migration::GuestCpu cpu);
    [[nodiscard]] SharedProfile share(std::string digest, migration::Profile profile);

private:
    void tell(ChangeKind kind, const Node& node, const Guest* guest = nullptr) const;
    void tell_report(const Node& node) const;
    [[nodiscard]] Freshness judge(const Node& node, SteadyTime now) const;
    [[nodiscard]] Status make_room(const Introduction& introduction, SteadyTime now);
    [[nodiscard]] Node* known(std::string_view node);
    void set_freshness(Node& node, Freshness freshness);
    [[nodiscard]] static bool set_profile(Node& node, SharedProfile profile);
    static void remember_profile(Node& node);
    void put_guest(Node& node, Guest guest);
    void drop_guest(Node& node, const RemovedGuest& removed);
    void tell_removed(const Node& node, Guest& guest, const RemovedGuest& removed) const;
    void forget(std::map<std::string, Node, std::less<>>::iterator node);

    RegistryOptions options_;
    const Clock& clock_;
    std::vector<Observer> observers_;
    std::vector<std::function<void(const Node&)>> report_observers_;
    std::vector<PressureObserver> pressure_observers_;
    std::map<std::string, Node, std::less<>> nodes_;
    SharedValues<StoredProfile> profiles_;
    SharedValues<migration::GuestCpu> cpus_;
    std::size_t guests_ = 0;
};

}  // namespace scout::aggregator
