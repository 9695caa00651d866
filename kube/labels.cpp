// SPDX-License-Identifier: Apache-2.0
#include "kube/labels.h"

#include <algorithm>

namespace scout::kube {
namespace {

bool lower(const Labels::Entry& a, const Labels::Entry& b) {
    return a.first.view() < b.first.view();
}

}  // namespace

Labels::Labels(std::vector<Entry> entries) : entries_(std::move(entries)) {
    sort();
}

Labels::Labels(std::initializer_list<std::pair<std::string_view, std::string_view>> entries) {
    entries_.reserve(entries.size());
    for (const auto& [key, value] : entries) {
        entries_.emplace_back(SharedText{key}, SharedText{value});
    }
    sort();
}

std::optional<std::string_view> Labels::find(std::string_view key) const noexcept {
    const auto found = std::lower_bound(
        entries_.begin(), entries_.end(), key,
        [](const Entry& entry, std::string_view wanted) { return entry.first.view() < wanted; });
    if (found == entries_.end() || !(found->first == key)) {
        return std::nullopt;
    }
    return found->second.view();
}

void Labels::sort() {
    // API servers write maps sorted: usually there is nothing to do.
    if (!std::is_sorted(entries_.begin(), entries_.end(), lower)) {
        std::stable_sort(entries_.begin(), entries_.end(), lower);
    }
    std::size_t kept = 0;
    for (auto& entry : entries_) {
        const bool again = kept > 0 && entries_[kept - 1].first == entry.first;
        auto& place = entries_[again ? kept - 1 : kept++];
        if (&place != &entry) {
            place = std::move(entry);
        }
    }
    entries_.resize(kept);
    entries_.shrink_to_fit();
}

}  // namespace scout::kube
