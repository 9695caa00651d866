// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "libvirt_glue/guest_event.h"

namespace scout::hypervisor {

/// What a lifecycle event of libvirt says happened. The words are libvirt's.
enum class Lifecycle : std::uint8_t {
    defined,  ///< new, changed, or under a new name
    undefined,
    started,
    suspended,
    resumed,
    stopped,
    shutdown,  ///< the guest finished shutting down; `stopped` follows
    pm_suspended,
    crashed,
};

/// A guest's event as it comes in, before it is compared with what is known.
struct IncomingEvent {
    std::string uuid;
    std::string name;
    std::string detail;
    Lifecycle lifecycle = Lifecycle::defined;
};

/// The guests of one host and how they came to be known. Pure: time is passed in, nothing is
/// called; each member answers the events that follow, in order.
///
/// Rules: keyed by UUID; a name that comes back with another UUID removes the old guest first.
/// lost() makes every state unknown since then and removes nothing. Only a full list, a guest that
/// libvirt does not find when asked, or an event removes. Events that come in while nothing is
/// known (before the first resync, or between lost() and resynced()) change nothing: the list that
/// must follow has them.
///
/// Reading takes time, events come in meanwhile, and an answer may be older than an event. So the
/// reader calls begin_reading() first; answers about guests touched since are set aside and named
/// by take_stale(): read those again.
class GuestInventory {
public:
    /// The connection is gone: "unknown since at" for every guest.
    [[nodiscard]] std::vector<GuestEvent> lost(WallTime at);

    /// A read of the full list or of single guests begins.
    void begin_reading();

    /// The full list. First call: all are added. Later: the differences. A guest whose state was
    /// unknown gets a state_changed, for its watchers were told "unknown".
    [[nodiscard]] std::vector<GuestEvent> resynced(std::vector<GuestState> all, WallTime at);

    /// One guest was read again after an event.
    [[nodiscard]] std::vector<GuestEvent> read_again(GuestState guest, WallTime at);

    /// libvirt does not know this guest any more.
    [[nodiscard]] std::vector<GuestEvent> not_found(const std::string& uuid, WallTime at);

    /// A lifecycle event.
    [[nodiscard]] std::vector<GuestEvent> apply(const IncomingEvent& event, WallTime at);

    /// A one-off event (reboot, job, device, agent, iteration), completed with name and state.
    [[nodiscard]] std::vector<GuestEvent> complete(GuestEvent event, WallTime at);

    /// Guests to read (again), at most `limit`; forgets them.
    [[nodiscard]] std::vector<std::string> take_stale(std::size_t limit);

    [[nodiscard]] bool known() const noexcept { return known_; }
    [[nodiscard]] bool has_stale() const noexcept { return !stale_.empty(); }
    [[nodiscard]] std::vector<GuestState> guests() const;
    [[nodiscard]] std::size_t size() const noexcept { return guests_.size(); }

private:
    using Events = std::vector<GuestEvent>;
    using Guests = std::map<std::string, GuestState>;

    void touch(const std::string& uuid);
    void apply_to_new(const IncomingEvent& event, WallTime at, Events& out);
    void add(GuestState guest, WallTime at, FoundBy found_by, Events& out);
    Guests::iterator remove(Guests::iterator guest, WallTime at, FoundBy found_by, Events& out);
    void remove_namesakes(const GuestState& guest, WallTime at, FoundBy found_by, Events& out);
    void merge(GuestState& known, GuestState read, WallTime at, FoundBy found_by, Events& out);
    void set_state(GuestState& guest, std::string state, WallTime at, FoundBy found_by,
                   const std::string& detail, Events& out);
    void merge_or_add(GuestState read, WallTime at, FoundBy found_by, Events& out);

    Guests guests_;
    std::set<std::string> touched_;  ///< by events since begin_reading()
    std::set<std::string> stale_;    ///< to be read again
    bool known_ = false;             ///< a full list was read since start or lost()
    bool reading_ = false;
};

}  // namespace scout::hypervisor
