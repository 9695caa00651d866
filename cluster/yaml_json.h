// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace scout::cluster {

/// The documents of a YAML stream as JSON texts, each with its line, so that there is one reader of
/// objects. Scalars as kubectl prints them: plain true, false, null and JSON's numbers are those,
/// everything else is a text; an empty document is left out.
struct YamlDocument {
    std::size_t line = 0;  ///< of its first node, from 1
    std::string json;
};

/// Who wrote the text.
enum class YamlAuthor : std::uint8_t {
    printer,  ///< a program, as above
    person,   ///< as kubectl reads it, by YAML 1.1: a plain yes, on, 0x1F or 0777 is no text either
};

/// Errors: invalid with the line, for what is no YAML, for aliases (a small file could stand for
/// gigabytes), and for keys that are no scalars.
[[nodiscard]] Result<std::vector<YamlDocument>> yaml_to_json(
    std::string_view text, YamlAuthor author = YamlAuthor::printer);

}  // namespace scout::cluster
