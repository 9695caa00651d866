// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libvirt_glue/guest_event.h"
#include "migration/profile.h"

namespace scout::agent {

/// What is reported of a node, its guests left out.
struct HostPart {
    std::shared_ptr<const migration::Profile> profile;  ///< none: nothing could be read yet
    std::string profile_digest;                         ///< of `profile`, or empty
    migration::HostFacts facts;
    std::string source;     ///< "embedded", "system", "libvirt", "labeller"
    std::string yardstick;  ///< one sentence: which libvirt, which documents
    std::string probe_error;
    std::string guests_error;  ///< set while the guests are not known
    std::vector<std::string> notices;

    /// Equal as a report: the profile counts by its digest.
    [[nodiscard]] bool same_report(const HostPart& other) const;
};

/// A guest that is gone, and how that was found.
struct RemovedGuest {
    std::string uuid;
    hypervisor::FoundBy found_by = hypervisor::FoundBy::resync;
    WallTime since{};  ///< when it was seen; the epoch: not known
};

/// What is known of this node now. Every change of the host or of a guest gets a new revision, so
/// that a reporter remembers numbers, not copies. Loop thread.
class Snapshot {
public:
    struct Guest {
        hypervisor::GuestState state;
        std::uint64_t revision = 0;
    };
    using Guests = std::map<std::string, Guest, std::less<>>;  ///< by UUID

    /// True if anything changed.
    bool set_host(HostPart host);
    /// Those that are not among them are gone, found by resync. Counts what remove() changed since
    /// the last call as a change.
    bool set_guests(std::vector<hypervisor::GuestState> guests);
    /// A guest is gone, and the hypervisor told how it found that.
    void remove(RemovedGuest gone);

    /// False until the first probe ended: a report would say less than the one before a restart.
    [[nodiscard]] bool complete() const noexcept { return complete_; }
    void set_complete() noexcept { complete_ = true; }

    [[nodiscard]] const HostPart& host() const noexcept { return host_; }
    [[nodiscard]] std::uint64_t host_revision() const noexcept { return host_revision_; }
    [[nodiscard]] const Guests& guests() const noexcept { return guests_; }
    /// How a guest that is not among them left. Kept for the last `removals_limit` ones; of those
    /// before only that it is gone.
    [[nodiscard]] RemovedGuest removal_of(std::string_view uuid) const;
    /// As many as an aggregator takes guests of one node.
    static constexpr std::size_t removals_limit = 4096;

private:
    void note(RemovedGuest gone);

    HostPart host_;
    std::uint64_t host_revision_ = 1;
    std::uint64_t last_revision_ = 1;
    Guests guests_;
    std::deque<RemovedGuest> removals_;  ///< the latest last
    bool removed_ = false;               ///< since the last set_guests()
    bool complete_ = false;
};

}  // namespace scout::agent
