// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

// Values of manifests (cluster/manifests.h), for who judges one kind of them.

namespace scout::cluster {

inline constexpr std::size_t manifest_shown_bytes = 80;

/// A value as it stands there, shortened.
[[nodiscard]] std::string shown(const boost::json::value& value);

/// "a map", "a list", "nothing", or the value: what was found in the place of something else.
[[nodiscard]] std::string found(const boost::json::value& value);

/// What is wrong with a value that stands there in the place of a text.
[[nodiscard]] std::string text_fault(const boost::json::value& value, const std::string& path);

/// Null if it is no map, or has no such member.
[[nodiscard]] const boost::json::value* member(const boost::json::value& value,
                                               std::string_view name);

/// Empty if it is no text; the value may be null.
[[nodiscard]] std::string text_of(const boost::json::value* value);

}  // namespace scout::cluster
