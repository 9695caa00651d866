// SPDX-License-Identifier: Apache-2.0
#include "pressure/pod_uid.h"

#include <algorithm>

#include "base/logging.h"

namespace scout::pressure {

Status check_pod_uid(std::string_view uid) {
    constexpr std::size_t longest = 128;
    constexpr std::size_t shown = 60;
    const bool good =
        !uid.empty() && uid.size() <= longest && std::all_of(uid.begin(), uid.end(), [](char c) {
            return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   c == '-';
        });
    return good ? Status{}
                : fail(Errc::invalid, "expected the UID of a pod, found '" +
                                          log_value(uid.substr(0, shown)) + "'");
}

}  // namespace scout::pressure
