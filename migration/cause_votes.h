// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "migration/cause.h"

/// What speaks for which cause. Pure; any thread; nothing here fails.
namespace scout::migration {

/// One thing that speaks for a cause.
struct Vote {
    Cause cause{};
    std::string resource;
    WallTime at;           ///< when it began; the epoch: not known
    std::string evidence;  ///< what says so
};

/// What the facts say, each thing in its turn. Told: by whoever did it. Hinted: it may have been
/// so. What follows from any end of a launcher counts only where nothing else does.
struct Testimony {
    std::vector<Vote> told;
    std::vector<Vote> hinted;
    std::vector<std::string> evidence;  ///< also what speaks for nothing
    bool guest_ended = false;           ///< it shut down: its VMI or its launcher says so
    /// Its VMI says otherwise, as of any other end of it or of its launcher, but that one ended
    /// well.
    bool guest_crashed = false;
    bool ended = false;  ///< the launcher does not run any more

    /// Once, however many say it.
    void say(std::string sentence);
};

/// That its VM runs elsewhere; empty: it does not.
[[nodiscard]] std::string left_text(const CauseFacts& facts);
/// Its VM runs elsewhere.
[[nodiscard]] bool has_left(const CauseFacts& facts) noexcept;
/// There is no Node object of its node any more: nobody is there who could tell that it ended.
[[nodiscard]] bool has_lost_node(const CauseFacts& facts) noexcept;

[[nodiscard]] Testimony hear(const CauseFacts& facts);

}  // namespace scout::migration
