// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace scout::agent {

/// When launchers were seen to be told to stop, by pod UID. A launcher does not tell since when it
/// is marked, so an agent that is started again would think that all of the time is left. On the
/// steady clock, which goes on over a restart of the agent, but not of the host.
using MarkTimes = std::map<std::string, SteadyTime, std::less<>>;

/// What an agent leaves to the next one.
struct KeptMarks {
    MarkTimes marks;
    /// When it was alive still, by its last note_alive(); none: not known.
    std::optional<SteadyTime> alive = std::nullopt;
};

inline constexpr std::size_t marks_limit = 1'000;
/// One for each boot of the host.
inline constexpr const char* boot_id_file = "/proc/sys/kernel/random/boot_id";

/// What an agent before kept on this boot; none if there was none. Times that lie ahead are left
/// out. Blocking. Errors: invalid (no such file of ours), those of reading a file.
[[nodiscard]] Result<KeptMarks> read_marks(const std::filesystem::path& file,
                                           const std::filesystem::path& boot_id, SteadyTime now);

/// Blocking. Errors: those of reading and writing a file.
[[nodiscard]] Status write_marks(const std::filesystem::path& file,
                                 const std::filesystem::path& boot_id, const MarkTimes& marks);

/// Of a file that was written: its time is now. Blocking, and nothing is waited for to reach the
/// disk. Errors: unavailable.
[[nodiscard]] Status note_alive(const std::filesystem::path& file);

}  // namespace scout::agent
