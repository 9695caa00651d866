// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <pugixml.hpp>

#include "base/result.h"
#include "migration/feature_set.h"

/// Bounded XML reading, private to this library.
namespace scout::documents {

inline constexpr int deepest_element = 64;

/// Parses one document. Errc::invalid for: over 4 MiB, not UTF-8, not well-formed (with the place),
/// a document type (entities are never expanded), nesting over 64, more than one root.
[[nodiscard]] Status load(pugi::xml_document& document, std::string_view xml);

/// Text of an element without surrounding white space; empty if there is none.
[[nodiscard]] std::string text_of(const pugi::xml_node& node);

/// Names of the `<feature>` children whose policy is one of the two given.
[[nodiscard]] migration::FeatureSet features_with(const pugi::xml_node& cpu,
                                                  std::string_view policy,
                                                  std::string_view or_policy);

/// A whole non-negative decimal number; nothing for anything else.
[[nodiscard]] std::optional<std::uint64_t> number(std::string_view text);

}  // namespace scout::documents
