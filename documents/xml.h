// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <pugixml.hpp>

#include "base/result.h"

/// Bounded XML reading, private to this library.
namespace scout::documents {

inline constexpr int deepest_element = 64;
inline constexpr std::size_t most_attributes = 64;  ///< of one element

/// Parses one document. Errc::invalid for: over 4 MiB, not UTF-8 or declared as
/// something else, not well-formed (with the place), a reference to what is no character, a
/// document type (entities are never expanded), elements nested deeper than the limit, more than
/// one root, text beside it, an attribute given twice or too many of them. The last three and the
/// references are for us to look at: pugixml lets them pass.
[[nodiscard]] Status load(pugi::xml_document& document, std::string_view xml);

/// Text of an element without surrounding white space and comments; empty if there is none.
[[nodiscard]] std::string text_of(const pugi::xml_node& node);

/// "<name>" of an element, for messages.
[[nodiscard]] std::string describe(const pugi::xml_node& element);

}  // namespace scout::documents
