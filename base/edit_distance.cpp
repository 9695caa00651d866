// SPDX-License-Identifier: Apache-2.0
#include "base/edit_distance.h"

#include <algorithm>

namespace scout {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({above + 1, row[j - 1] + 1, replaced});
            diagonal = above;
        }
    }
    return row[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
    constexpr std::size_t most_edits = 2;
    constexpr std::size_t longest_word = 64;
    std::string best;
    std::size_t least = most_edits + 1;
    if (word.size() > longest_word) {
        return best;
    }
    for (const auto& name : known) {
        const auto found = edit_distance(word, name);
        if (found < least && found < name.size()) {
            least = found;
            best = name;
        }
    }
    return best;
}

}  // namespace scout
