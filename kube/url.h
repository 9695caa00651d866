// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scout::kube {

/// The parts of "scheme://user@host:port/path" as they stand there.
struct Url {
    std::string scheme;  ///< in lower case
    std::optional<std::string> user_info;
    std::string host;        ///< IPv6 without brackets
    std::uint16_t port = 0;  ///< 0: none is given
    std::string path;        ///< empty, or from its '/' on
};

/// Nothing for a text that is no such URL, also for one with a query or fragment. Hosts are
/// addresses and names of letters, digits, '.', '-' and '_'.
[[nodiscard]] std::optional<Url> parse_url(std::string_view text);

}  // namespace scout::kube
