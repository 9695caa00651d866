// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace scout::kube {

/// How two resource versions of one kind stand to each other. Kubernetes promises since 1.35 that
/// decimal ones of one kind are ordered as numbers; others can be told equal from unequal only.
enum class VersionOrder : std::uint8_t { equal, older, newer, unknown };

/// `a` against `b`: older means that a was given before b. An empty one is unknown.
[[nodiscard]] VersionOrder compare_versions(std::string_view a, std::string_view b) noexcept;

}  // namespace scout::kube
