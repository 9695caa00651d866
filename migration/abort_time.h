// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/clock.h"

/// How long a migration that runs goes on after it was told to end (design §6). All that time
/// virt-handler asks nobody and sends no ACPI (dossier §3.3), so what was not planned for it is the
/// guest's. Pure: time is passed in. Any thread, one at a time; nothing here fails.
namespace scout::migration {

struct AbortSubject {
    std::uint64_t memory = 0;  ///< bytes that the guest has
    bool emulated = false;     ///< it runs without KVM: domain type qemu
    /// The slowest abort that was seen on its node lately (AbortTimes); 0: none was.
    std::chrono::milliseconds seen{0};
};

/// Deletion of the migration, the launcher's order to libvirt, QEMU's and libvirt's cleaning up.
inline constexpr std::chrono::milliseconds quick_abort{3'000};
/// QEMU's own threads wait for one lock with those that translate the guest's code.
inline constexpr std::chrono::milliseconds emulated_abort{12'000};
/// Then the launcher itself takes its abort for failed (KubeVirt's asyncMigrationAbort()).
inline constexpr std::chrono::milliseconds longest_abort{30'000};

/// From the order on until the launcher's domain has no migration any more. More for what needs
/// longer: no KVM, and memory whose writes are not logged any more (20 ms for each GiB beyond 64).
/// A quarter more than was seen, since the next one may be slower. From quick_abort to
/// longest_abort.
[[nodiscard]] std::chrono::milliseconds abort_time(const AbortSubject& subject) noexcept;

/// The aborts that were seen on one node. The last eight of an hour count: what made them slow may
/// be over, and a node that plans too much moves nothing.
class AbortTimes {
public:
    void add(std::chrono::milliseconds took, SteadyTime now);
    /// 0: none was seen.
    [[nodiscard]] std::chrono::milliseconds slowest(SteadyTime now) const noexcept;

    static constexpr std::size_t most = 8;
    static constexpr std::chrono::hours counts_for{1};

private:
    struct Seen {
        SteadyTime at;
        std::chrono::milliseconds took;
    };
    std::deque<Seen> seen_;
};

}  // namespace scout::migration
