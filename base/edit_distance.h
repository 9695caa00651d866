// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace scout {

/// Levenshtein: insertions, deletions and replacements of one byte that make one word the other,
/// for "did you mean". Time and memory grow with both lengths: bound what comes from outside first.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace scout
