// SPDX-License-Identifier: Apache-2.0
#include "aggregator/leader_call.h"

#include <algorithm>

namespace scout::aggregator {

Result<kube::CallOptions> leader_call(std::chrono::milliseconds may_write_for,
                                      std::chrono::milliseconds most) {
    if (may_write_for <= std::chrono::milliseconds{0}) {
        return fail(Errc::unavailable, "leadership is lost");
    }
    kube::CallOptions options;
    options.limit = std::min(may_write_for, most);
    return options;
}

}  // namespace scout::aggregator
