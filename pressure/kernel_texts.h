// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/result.h"

/// The kernel's small text files about memory, waiting and tasks (its documentation: proc.rst,
/// psi.rst, cgroup-v2.rst, cgroup-v1/memory.rst). Pure, but for the last; any thread. Errors:
/// invalid, with what was expected and found.
///
/// `pressure/` is a library of its own, beside `launcher/`: it reads what a kernel and a kubelet
/// write, knows no loop and no network, and links neither gRPC nor a hypervisor, so that its tests
/// and its fuzzer do not either. When to read, and what to make of it, is the agent's part and
/// `migration/`'s.
namespace scout::pressure {

/// Largest file of the kernel that is read. `memory.stat` is the longest, with about 4 KiB.
inline constexpr std::size_t kernel_file_limit = std::size_t{64} << 10U;

/// A file with one number.
[[nodiscard]] Result<std::uint64_t> parse_number(std::string_view text);

/// A file with a limit, none for "max" (cgroup v2) and for what no machine has (v1).
[[nodiscard]] Result<std::optional<std::uint64_t>> parse_limit(std::string_view text);

/// The number behind a key, of lines "key number": `memory.stat`.
[[nodiscard]] Result<std::uint64_t> parse_stat(std::string_view text, std::string_view key);

/// `/proc/meminfo`, in bytes.
struct MemInfo {
    std::uint64_t total = 0;
    std::uint64_t swap_total = 0;
    std::uint64_t swap_free = 0;

    friend bool operator==(const MemInfo&, const MemInfo&) = default;
};
[[nodiscard]] Result<MemInfo> parse_meminfo(std::string_view text);

/// Pressure stall information of one resource: the share of the last ten seconds, 0 to 1, in which
/// some tasks, or all of them, waited for it.
struct Stall {
    double some = 0;
    double full = 0;

    friend bool operator==(const Stall&, const Stall&) = default;
};
[[nodiscard]] Result<Stall> parse_stall(std::string_view text);

/// How many tasks there are on the whole machine: the fourth field of `/proc/loadavg`, as a
/// kubelet counts them.
[[nodiscard]] Result<std::uint64_t> parse_task_count(std::string_view loadavg);

/// One of these files, by the function that reads its text. Blocking. Errors: not_found,
/// unavailable, invalid, each with the path.
template <class Parse>
[[nodiscard]] auto read_kernel_file(const std::filesystem::path& path, Parse parse)
    -> decltype(parse(std::string_view{})) {
    const auto text = read_file(path, kernel_file_limit);
    if (!text) {
        return fail(text.error());
    }
    auto value = parse(*text);
    if (!value) {
        return fail(std::move(value.error()).within(path.string()));
    }
    return value;
}

}  // namespace scout::pressure
