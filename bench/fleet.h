// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "migration/matrix.h"

namespace scout::bench {

/// Labels of one invented node: 148 CPU features, 50 known models and what else a labeller writes,
/// with names as long as real ones, and unrelated labels between them.
struct Node {
    std::vector<std::pair<std::string, std::string>> labels;  ///< sorted, as an API server sends

    [[nodiscard]] std::vector<migration::LabelView> views() const {
        return {labels.begin(), labels.end()};
    }
};

/// A fleet of nodes in so many classes that differ in a few features each.
[[nodiscard]] std::vector<Node> make_fleet(std::size_t nodes, std::size_t classes);

/// A cpu_map that knows the host models of the fleet, 100 features each.
[[nodiscard]] migration::CpuMap make_map();

}  // namespace scout::bench
