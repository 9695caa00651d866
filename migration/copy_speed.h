// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace scout::migration {

/// How fast a migration that runs gets on, by what QEMU tells of it now and then: bytes per second,
/// the most that was seen. Local disks that are copied along count. Pure; one thread; nothing here
/// fails.
///
/// The speed of copying alone would say too little. Pages that were never touched count as
/// remaining and cost next to nothing: over these what remains falls, and the link is idle. What a
/// launcher tells may be 3 s old, so that a fall seems up to twice as fast, or as slow, as it was.
class CopySpeed {
public:
    /// What it still has to copy, in bytes, and how fast it copies; no `remaining`: none runs.
    void saw(std::optional<std::uint64_t> remaining, std::optional<std::uint64_t> copied_a_second,
             SteadyTime now);
    /// None: it was not seen to go on for as long as a slow start may last.
    [[nodiscard]] std::optional<std::uint64_t> fastest() const noexcept;

private:
    struct Seen {
        std::uint64_t remaining = 0;
        SteadyTime at{};
    };
    std::optional<Seen> last_;
    SteadyTime since_{};
    std::uint64_t fastest_ = 0;
};

/// How much the guest of a migration that runs writes in a second, by what libvirt tells of it now
/// and then. What it writes in a moment says little of the next, and a migration must not be given
/// up for one burst: so of three looks the least. Pure; one thread; nothing here fails.
class WriteRate {
public:
    /// Bytes per second; none: not told.
    void saw(std::optional<std::uint64_t> rate);
    /// None: it was not told three times.
    [[nodiscard]] std::optional<std::uint64_t> least() const noexcept;

private:
    static constexpr std::size_t looks = 3;
    std::array<std::uint64_t, looks> last_{};
    std::size_t count_ = 0;
};

}  // namespace scout::migration
