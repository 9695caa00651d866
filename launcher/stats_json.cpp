// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/json.h"
#include "launcher/domain_json.h"
#include "launcher/read_document.h"

namespace scout::launcher {
namespace {

using kube::Field;
using kube::Nested;

/// One counter of libvirt: `X`, and `XSet` that tells whether it is there.
struct Counter {
    bool set = false;
    std::int64_t value = 0;

    [[nodiscard]] std::optional<std::uint64_t> told() const noexcept {
        return set && value >= 0 ? std::optional{static_cast<std::uint64_t>(value)} : std::nullopt;
    }
};

/// One image of a disk. Those of one disk follow each other, the one that is written to first.
struct Block {
    std::string disk;
    std::string path;
    Counter physical;  ///< what it takes of its host
};

[[nodiscard]] Status read_json(kube::JsonValue value, Block& target) {
    return kube::read_members(value, Field{"Name", target.disk}, Field{"Path", target.path},
                              Field{"PhysicalSet", target.physical.set},
                              Field{"Physical", target.physical.value});
}

/// Where KubeVirt keeps them; its launcher counts the size of all files below the first one.
constexpr std::string_view ephemeral_folder = "/var/run/kubevirt-ephemeral-disks/";
constexpr std::string_view empty_disk_folder = "/var/run/libvirt/empty-disks/";

PodDisks pod_disks(const std::vector<Block>& blocks) {
    constexpr std::uint64_t most = std::uint64_t{1} << 50U;
    PodDisks out;
    std::string_view before;
    for (const auto& block : blocks) {
        const bool is_backing =
            !block.disk.empty() && block.disk == std::exchange(before, block.disk);
        const bool counts = block.path.starts_with(ephemeral_folder);
        if (!is_backing && (counts || block.path.starts_with(empty_disk_folder))) {
            const auto bytes = std::min(block.physical.told().value_or(0), most);
            out.bytes += bytes;
            out.counted += counts ? bytes : 0;
        }
    }
    return out;
}

struct Counters {
    std::vector<Block> blocks;
    Counter total, rss, unused, available, data_total, data_processed, data_remaining, memory_bps,
        written, dirty_rate;
};

Status read_stats(kube::JsonObject& object, DomainStats& stats, Counters& of) {
    const Nested memory{"Memory",
                        Field{"TotalSet", of.total.set},
                        Field{"Total", of.total.value},
                        Field{"RSSSet", of.rss.set},
                        Field{"RSS", of.rss.value},
                        Field{"UnusedSet", of.unused.set},
                        Field{"Unused", of.unused.value},
                        Field{"AvailableSet", of.available.set},
                        Field{"Available", of.available.value}};
    const Nested job{"MigrateDomainJobInfo",
                     Field{"DataTotalSet", of.data_total.set},
                     Field{"DataTotal", of.data_total.value},
                     Field{"DataProcessedSet", of.data_processed.set},
                     Field{"DataProcessed", of.data_processed.value},
                     Field{"DataRemainingSet", of.data_remaining.set},
                     Field{"DataRemaining", of.data_remaining.value},
                     Field{"MemoryBpsSet", of.memory_bps.set},
                     Field{"MemoryBps", of.memory_bps.value},
                     Field{"MemDirtyRateSet", of.written.set},
                     Field{"MemDirtyRate", of.written.value}};
    Few<Block> blocks{of.blocks};
    return object.read(Field{"Name", stats.name}, Field{"UUID", stats.uuid}, memory, job,
                       Field{"Block", blocks},
                       Nested{"DirtyRate", Field{"MegabytesPerSecondSet", of.dirty_rate.set},
                              Field{"MegabytesPerSecond", of.dirty_rate.value}});
}

}  // namespace

Result<std::optional<DomainStats>> parse_domain_stats(std::string json) {
    if (json.empty()) {
        return std::nullopt;
    }
    DomainStats stats;
    Counters counters;
    auto done = read_document(json, [&stats, &counters](kube::JsonObject& object) {
        return read_stats(object, stats, counters);
    });
    if (!done) {
        return fail(std::move(done.error()).within("domain stats"));
    }
    stats.total_kib = counters.total.told();
    stats.rss_kib = counters.rss.told();
    stats.unused_kib = counters.unused.told();
    stats.available_kib = counters.available.told();
    stats.pod_disks = pod_disks(counters.blocks);
    stats.job = {.data_total = counters.data_total.told(),
                 .data_processed = counters.data_processed.told(),
                 .data_remaining = counters.data_remaining.told(),
                 .memory_bps = counters.memory_bps.told(),
                 .dirty_rate = counters.written.told()};
    stats.dirty_mib_s = counters.dirty_rate.told();
    return stats;
}

}  // namespace scout::launcher
