// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/objects.h"

namespace scout::cluster {

/// Something in a dump that could not be used.
struct LeftOut {
    std::string place;  ///< "nodes.yaml: document 2, item 7"
    std::string reason;
};

/// What files say of a cluster, as `kubectl get -o yaml|json`, a must-gather or an export left
/// them.
struct Dump {
    Objects objects;
    std::vector<LeftOut> left_out;
    std::size_t files = 0;  ///< that were read
    /// The latest moment that its nodes speak of (heartbeats, taints, conditions): it was taken
    /// then or soon after.
    WallTime moment;
    std::size_t other_kinds = 0;  ///< objects of kinds that nothing here asks about
};

struct DumpLimits {
    std::size_t file_bytes = std::size_t{512} << 20U;  ///< of one file, unpacked
    std::size_t files = 100'000;
    std::size_t left_out = 1000;  ///< that are kept; the rest is counted in the last one
};

/// Called before each file is read: its number from 1, and how many there are.
using DumpProgress = std::function<void(std::size_t file, std::size_t files)>;

/// Files, and what is in folders at any depth: .yaml, .yml, .json, each perhaps with .gz; a file
/// that is named itself may be called anything. Lists and streams of documents are taken apart. An
/// object that is there more than once counts once, as its highest resourceVersion has it. What
/// cannot be used is listed and the rest goes on. Blocking. Errors: not_found and invalid for a
/// path that is named; over the limits.
[[nodiscard]] Result<Dump> read_dump(const std::vector<std::filesystem::path>& paths,
                                     const DumpProgress& progress = {},
                                     const DumpLimits& limits = {});

}  // namespace scout::cluster
