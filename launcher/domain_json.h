// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "migration/guest.h"

/// What KubeVirt's launchers answer, from text to plain structs (dossier §1.6, §1.7). The keys are
/// Go's field names in their exact case; others are passed over, null is as good as absent. Pure;
/// any thread. The text may be anything: at most 4 MiB of it are read.
namespace scout::launcher {

/// `Spec.Metadata.KubeVirt.Migration`: the launcher's own migration, on the source alone.
struct MigrationMetadata {
    std::string uid;  ///< of the VirtualMachineInstanceMigration
    std::optional<WallTime> start;
    std::optional<WallTime> end;
    bool failed = false;
    std::string mode;  ///< "PreCopy", "PostCopy", "Paused"; empty: not told

    friend bool operator==(const MigrationMetadata&, const MigrationMetadata&) = default;
};

/// The domain of one launcher.
struct Domain {
    std::string name;     ///< of the VMI
    std::string space;    ///< its namespace
    std::string vmi_uid;  ///< `Spec.Metadata.KubeVirt.UID`; `ObjectMeta.uid` is empty in answers
    std::string uuid;     ///< of the domain, lower case
    std::string status;   ///< as KubeVirt calls it: "Running", "ShuttingDown", …; empty: unset
    std::string reason;   ///< of the status: "Migrated", "StartingUp", …
    /// SIGTERM came: `GracePeriod.MarkedForGracefulShutdown`. Never taken back (dossier §3.1).
    bool marked = false;
    std::optional<std::chrono::seconds> grace;  ///< `DeletionGracePeriodSeconds`
    /// When the guest was first asked to shut down (ACPI): `GracePeriod.DeletionTimestamp`.
    std::optional<WallTime> first_shutdown_request;
    std::optional<MigrationMetadata> migration;
    std::uint64_t memory_kib = 0;  ///< KiB
    bool huge_pages = false;       ///< its memory is in these, which no RSS counts
    std::optional<migration::GuestCpu> cpu;
    std::string cpu_error;  ///< why there is no `cpu`

    friend bool operator==(const Domain&, const Domain&) = default;
};

/// The answer of GetDomain; nothing if the text is empty, for then no domain is defined. Errors:
/// invalid, with the path of what is wrong. A CPU or memory that libvirt would not have told is in
/// `cpu_error` alone: the mark must be seen nevertheless.
[[nodiscard]] Result<std::optional<Domain>> parse_domain(std::string json);

/// The state in libvirt's word, as hypervisor::GuestState has it; "nostate" for a status that
/// KubeVirt does not have.
[[nodiscard]] std::string_view state_word(const Domain& domain) noexcept;

/// As virt-handler judges: the status is neither Shutoff nor Crashed nor unset (dossier §1.6).
[[nodiscard]] bool is_alive(const Domain& domain) noexcept;

/// As virt-handler judges by the domain alone (dossier §3.3): the launcher began a migration and
/// did not end it, or the domain is paused by one or at its start.
[[nodiscard]] bool migration_in_progress(const Domain& domain) noexcept;

/// It waits for its memory here, or for its first instruction: the guest runs elsewhere, or
/// nowhere.
[[nodiscard]] bool is_not_yet_here(const Domain& domain) noexcept;

/// The guest runs on another node by now.
[[nodiscard]] bool has_moved_away(const Domain& domain) noexcept;

/// Progress of an outgoing migration, in libvirt's counts.
struct JobInfo {
    std::optional<std::uint64_t> data_total;      ///< bytes
    std::optional<std::uint64_t> data_processed;  ///< bytes
    std::optional<std::uint64_t> data_remaining;  ///< bytes
    std::optional<std::uint64_t> memory_bps;      ///< bytes/s that memory is copied with
    /// Bytes/s that the guest writes to: KubeVirt has multiplied libvirt's pages (statsconv).
    std::optional<std::uint64_t> dirty_rate;

    friend bool operator==(const JobInfo&, const JobInfo&) = default;
};

/// Disks in its pod: the files of container, ephemeral and empty disks, of which a migration copies
/// what the guest wrote.
struct PodDisks {
    std::uint64_t bytes = 0;    ///< that are in use
    std::uint64_t counted = 0;  ///< of these in the launcher's completion limit: no empty disks

    friend bool operator==(const PodDisks&, const PodDisks&) = default;
};

/// The answer of GetDomainStats, what we use of it. Memory in KiB.
struct DomainStats {
    std::string name;  ///< of the domain: "<namespace>_<name>"
    std::string uuid;
    std::optional<std::uint64_t> total_kib;
    std::optional<std::uint64_t> rss_kib;        ///< of the QEMU process
    std::optional<std::uint64_t> unused_kib;     ///< as the guest tells
    std::optional<std::uint64_t> available_kib;  ///< as the guest tells
    PodDisks pod_disks;
    JobInfo job;                               ///< empty: no migration goes on
    std::optional<std::uint64_t> dirty_mib_s;  ///< MiB/s, the last one that was measured

    friend bool operator==(const DomainStats&, const DomainStats&) = default;
};

/// Nothing if the text is empty. Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<std::optional<DomainStats>> parse_domain_stats(std::string json);

}  // namespace scout::launcher
