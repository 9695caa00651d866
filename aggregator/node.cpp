// SPDX-License-Identifier: Apache-2.0
#include "aggregator/node.h"

#include <algorithm>

namespace scout::aggregator {

std::chrono::milliseconds age(const Node& node, SteadyTime now) {
    if (node.kind == NodeKind::document) {
        return std::chrono::milliseconds{0};
    }
    const auto passed = std::chrono::floor<std::chrono::milliseconds>(now - node.last_heard);
    return std::max(passed, std::chrono::milliseconds{0});
}

}  // namespace scout::aggregator
