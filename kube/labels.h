// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/shared_text.h"

namespace scout::kube {

/// A map of texts as Kubernetes has it for labels, annotations and node selectors: sorted by key,
/// 16 bytes an entry.
class Labels {
public:
    using Entry = std::pair<SharedText, SharedText>;

    Labels() = default;
    /// Of several entries with the same key the last one holds.
    explicit Labels(std::vector<Entry> entries);
    Labels(std::initializer_list<std::pair<std::string_view, std::string_view>> entries);

    [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const noexcept;
    [[nodiscard]] bool contains(std::string_view key) const noexcept {
        return find(key).has_value();
    }

    [[nodiscard]] auto begin() const noexcept { return entries_.begin(); }
    [[nodiscard]] auto end() const noexcept { return entries_.end(); }
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
    [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

    bool operator==(const Labels&) const = default;

private:
    void sort();

    std::vector<Entry> entries_;
};

}  // namespace scout::kube
