// SPDX-License-Identifier: Apache-2.0
#include "kube/resource_version.h"

#include <algorithm>

namespace scout::kube {
namespace {

bool is_decimal(std::string_view text) {
    return !text.empty() && (text.front() != '0' || text.size() == 1) &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

VersionOrder compare_versions(std::string_view a, std::string_view b) noexcept {
    if (!a.empty() && a == b) {
        return VersionOrder::equal;
    }
    if (!is_decimal(a) || !is_decimal(b)) {
        return VersionOrder::unknown;
    }
    // Of any length: numbers without leading zeros are ordered by length, then by digits.
    const bool older = a.size() != b.size() ? a.size() < b.size() : a < b;
    return older ? VersionOrder::older : VersionOrder::newer;
}

}  // namespace scout::kube
