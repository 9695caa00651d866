// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <boost/json/fwd.hpp>

namespace scout::cli {

/// Two spaces a level, lists of plain values on one line, a newline at the end.
[[nodiscard]] std::string to_json_text(const boost::json::value& value);

/// The same of a part that lies so many levels deep, without the newline.
[[nodiscard]] std::string to_nested_json_text(const boost::json::value& value, std::size_t level);

/// One line without its newline, for streams of objects.
[[nodiscard]] std::string to_json_line(const boost::json::value& value);

/// The same value as block-style YAML. Strings that YAML would read as something else ("true",
/// "1.5", "") are quoted.
[[nodiscard]] std::string to_yaml_text(const boost::json::value& value);

}  // namespace scout::cli
