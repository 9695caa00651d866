// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// What the API server takes as a label, and as a name. Pure; any thread; nothing here fails.
namespace scout::migration {

/// "NAME" or "PREFIX/NAME": the name as a value that is not empty, the prefix a DNS subdomain of at
/// most 253 bytes.
[[nodiscard]] bool is_label_key(std::string_view text) noexcept;
inline constexpr std::string_view label_key_rule =
    "a label's name: at most 63 letters, digits, '-', '_' and '.', the first and last a letter or "
    "digit, perhaps behind a DNS name and '/'";

/// Labels of lower-case letters, digits and '-' with '.' between, at most 253 bytes in all: names
/// of nodes, and of most objects.
[[nodiscard]] bool is_dns_subdomain(std::string_view text) noexcept;
inline constexpr std::string_view dns_subdomain_rule =
    "a lower-case DNS name of at most 253 letters, digits, '-' and '.'";

/// Empty, or at most 63 letters, digits, '-', '_' and '.', of which the first and the last are
/// letters or digits.
[[nodiscard]] bool is_label_value(std::string_view text) noexcept;
inline constexpr std::string_view label_value_rule =
    "a label's value: at most 63 letters, digits, '-', '_' and '.', the first and last a letter or "
    "digit";

}  // namespace scout::migration
