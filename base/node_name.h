// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace scout {

/// Bytes of the longest node name, as Kubernetes has it.
inline constexpr std::size_t node_name_limit = 253;

/// What is_node_name() takes, for messages.
inline constexpr std::string_view node_name_rule =
    "a name of 1 to 253 letters, digits, '.', '-', '_' and '+' that begins with a letter or digit";

/// The one rule for node names, of agents, documents and questions: Kubernetes' names, and what
/// files that captured documents lie in are usually called.
[[nodiscard]] bool is_node_name(std::string_view text) noexcept;

}  // namespace scout
