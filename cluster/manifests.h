// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

namespace scout::cluster {

/// What people wrote for `kubectl apply -f`, before any server has seen it: trees, so that what is
/// of the wrong type can be told. Each has the line that it begins at, from 1.
struct Manifests {
    std::vector<std::pair<std::size_t, boost::json::value>> documents;
    std::vector<std::pair<std::size_t, std::string>> faults;  ///< what cannot be read, and why
};

/// YAML as kubectl reads it, or JSON values one behind the other; at most 32 levels deep. The line
/// of a fault of YAML is in its text, and 0 here.
[[nodiscard]] Manifests read_manifests(std::string_view text);

}  // namespace scout::cluster
