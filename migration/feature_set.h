// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Sets of names. Pure; any thread; nothing here fails. Linear in both sizes.
namespace scout::migration {

/// Sorted, without repeats; whoever fills one by hand keeps it so. CPU feature names as libvirt
/// writes them ("sse4.1", "vmx-ept").
using FeatureSet = std::vector<std::string>;

/// Sorts and removes repeats.
[[nodiscard]] FeatureSet make_feature_set(std::vector<std::string> names);

[[nodiscard]] bool contains(const FeatureSet& set, std::string_view name);
[[nodiscard]] FeatureSet unite(const FeatureSet& a, const FeatureSet& b);
[[nodiscard]] FeatureSet subtract(const FeatureSet& a, const FeatureSet& b);
[[nodiscard]] FeatureSet intersect(const FeatureSet& a, const FeatureSet& b);

/// Sub-features of nested virtualisation, "vmx-…". They count only where a document or a label
/// lists them, never from the expansion of a model (design §5).
[[nodiscard]] bool is_vmx_detail(std::string_view name) noexcept;
[[nodiscard]] bool lists_vmx_details(const FeatureSet& set) noexcept;
[[nodiscard]] FeatureSet without_vmx_details(const FeatureSet& set);

/// "a, b, c" for messages.
[[nodiscard]] std::string join(const std::vector<std::string>& names);

}  // namespace scout::migration
