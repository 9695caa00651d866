// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace scout {

/// Levenshtein: insertions, deletions and replacements of one byte that make one word the other,
/// for "did you mean". Time and memory grow with both lengths: bound what comes from outside first.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known name that is nearest to the word, for hints: at most two edits away, and fewer than it
/// has letters; the first of several. None is so near, or the word has over 64 bytes (no key,
/// command or option has): empty.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace scout
