// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

namespace scout::cli {

/// Two spaces a level, lists of plain values on one line, a newline at the end.
[[nodiscard]] std::string to_json_text(const boost::json::value& value);

/// One line without its newline, for streams of objects.
[[nodiscard]] std::string to_json_line(const boost::json::value& value);

/// The same value as block-style YAML. Strings that YAML would read as something else ("true",
/// "1.5", "") are quoted.
[[nodiscard]] std::string to_yaml_text(const boost::json::value& value);

}  // namespace scout::cli
