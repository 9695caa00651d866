// SPDX-License-Identifier: Apache-2.0
#include "migration/feature_set.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace scout::migration {

FeatureSet make_feature_set(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

bool contains(const FeatureSet& set, std::string_view name) {
    return std::binary_search(set.begin(), set.end(), name, std::less<>{});
}

FeatureSet unite(const FeatureSet& a, const FeatureSet& b) {
    FeatureSet out;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
    return out;
}

FeatureSet subtract(const FeatureSet& a, const FeatureSet& b) {
    FeatureSet out;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
    return out;
}

FeatureSet intersect(const FeatureSet& a, const FeatureSet& b) {
    FeatureSet out;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
    return out;
}

bool is_vmx_detail(std::string_view name) noexcept {
    return name.starts_with("vmx-");
}

bool lists_vmx_details(const FeatureSet& set) noexcept {
    return std::any_of(set.begin(), set.end(),
                       [](const auto& name) { return is_vmx_detail(name); });
}

FeatureSet without_vmx_details(const FeatureSet& set) {
    FeatureSet out;
    std::copy_if(set.begin(), set.end(), std::back_inserter(out),
                 [](const auto& name) { return !is_vmx_detail(name); });
    return out;
}

std::string join(const std::vector<std::string>& names) {
    std::string out;
    for (const auto& name : names) {
        out += out.empty() ? "" : ", ";
        out += name;
    }
    return out;
}

}  // namespace scout::migration
