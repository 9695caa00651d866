// SPDX-License-Identifier: Apache-2.0
#include "pressure/pod_cgroups.h"

#include <algorithm>
#include <utility>

#include "pressure/pod_uid.h"

namespace scout::pressure {
namespace {

std::vector<std::string> names_in(std::string_view root) {
    std::vector<std::string> names;
    while (!root.empty()) {
        const auto end = std::min(root.find('/'), root.size());
        if (const auto name = root.substr(0, end); !name.empty() && name != "." && name != "..") {
            names.emplace_back(name);
        }
        root.remove_prefix(std::min(end + 1, root.size()));
    }
    return names;
}

std::filesystem::path place_of(std::vector<std::string> names, CgroupDriver driver) {
    std::filesystem::path path;
    std::string unit;
    for (auto& name : names) {
        if (driver == CgroupDriver::cgroupfs) {
            path /= name;
            continue;
        }
        // systemd parts the levels of a slice's name by dashes, so that none may be in a level.
        std::replace(name.begin(), name.end(), '-', '_');
        unit += (unit.empty() ? "" : "-") + name;
        path /= unit + ".slice";
    }
    return path;
}

/// What may not be there: a controller that is off, a kernel that does not count it.
template <class Parse>
auto read_if_there(const std::filesystem::path& file, Parse parse) {
    const auto value = read_kernel_file(file, parse);
    return value ? std::optional{*value} : std::nullopt;
}

}  // namespace

std::string_view to_string(QosClass qos) noexcept {
    switch (qos) {
        case QosClass::burstable:
            return "Burstable";
        case QosClass::guaranteed:
            return "Guaranteed";
        case QosClass::best_effort:
            return "BestEffort";
    }
    return "";
}

std::optional<std::uint64_t> PodUsage::memory_request() const noexcept {
    switch (qos) {
        case QosClass::burstable:
            return std::nullopt;
        case QosClass::guaranteed:
            return limit;
        case QosClass::best_effort:
            return 0;
    }
    return std::nullopt;
}

std::filesystem::path pods_cgroup(std::string_view root, CgroupDriver driver) {
    auto names = names_in(root);
    names.emplace_back("kubepods");
    return place_of(std::move(names), driver);
}

std::filesystem::path pod_cgroup(std::string_view root, CgroupDriver driver, QosClass qos,
                                 std::string_view pod_uid) {
    auto names = names_in(root);
    names.emplace_back("kubepods");
    if (qos != QosClass::guaranteed) {
        names.emplace_back(qos == QosClass::burstable ? "burstable" : "besteffort");
    }
    names.push_back("pod" + std::string{pod_uid});
    return place_of(std::move(names), driver);
}

PodCgroups::PodCgroups(std::filesystem::path cgroups, std::string root)
    : cgroups_(std::move(cgroups)), root_(std::move(root)) {}

Result<PodUsage> PodCgroups::read(std::string_view pod_uid) const {
    if (auto checked = check_pod_uid(pod_uid); !checked) {
        return fail(std::move(checked.error()));
    }
    const auto version = cgroup_version(cgroups_);
    if (!version) {
        return fail(version.error());
    }
    for (const auto driver : {CgroupDriver::systemd, CgroupDriver::cgroupfs}) {
        for (const auto qos : {QosClass::burstable, QosClass::guaranteed, QosClass::best_effort}) {
            const auto place = pod_cgroup(root_, driver, qos, pod_uid);
            auto usage = *version == CgroupVersion::v2 ? read_v2(place, qos) : read_v1(place, qos);
            if (usage || usage.error().code != Errc::not_found) {
                return usage;
            }
        }
    }
    return fail(Errc::not_found,
                "pod " + std::string{pod_uid} + ": it has no cgroup below " + cgroups_.string());
}

Result<PodUsage> PodCgroups::read_v2(const std::filesystem::path& place, QosClass qos) const {
    const auto folder = cgroups_ / place;
    const auto memory = read_kernel_file(folder / "memory.current", parse_number);
    if (!memory) {
        return fail(memory.error());
    }
    const auto used = working_set(folder, CgroupVersion::v2);
    if (!used) {
        return fail(used.error());
    }
    const auto limit = read_kernel_file(folder / "memory.max", parse_limit);
    if (!limit) {
        return fail(limit.error());
    }
    return PodUsage{.qos = qos,
                    .working_set = *used,
                    .memory = *memory,
                    .limit = *limit,
                    .swap = read_if_there(folder / "memory.swap.current", parse_number),
                    .tasks = read_if_there(folder / "pids.current", parse_number),
                    .memory_stall = read_if_there(folder / "memory.pressure", parse_stall),
                    .io_stall = read_if_there(folder / "io.pressure", parse_stall)};
}

Result<PodUsage> PodCgroups::read_v1(const std::filesystem::path& place, QosClass qos) const {
    const auto folder = cgroups_ / "memory" / place;
    const auto memory = read_kernel_file(folder / "memory.usage_in_bytes", parse_number);
    if (!memory) {
        return fail(memory.error());
    }
    const auto used = working_set(folder, CgroupVersion::v1);
    if (!used) {
        return fail(used.error());
    }
    const auto limit = read_kernel_file(folder / "memory.limit_in_bytes", parse_limit);
    if (!limit) {
        return fail(limit.error());
    }
    // Of both together; not there without swap accounting.
    const auto with_swap = read_if_there(folder / "memory.memsw.usage_in_bytes", parse_number);
    return PodUsage{
        .qos = qos,
        .working_set = *used,
        .memory = *memory,
        .limit = *limit,
        .swap =
            with_swap ? std::optional{*with_swap - std::min(*with_swap, *memory)} : std::nullopt,
        .tasks = read_if_there(cgroups_ / "pids" / place / "pids.current", parse_number),
        .memory_stall = {},
        .io_stall = {}};
}

}  // namespace scout::pressure
