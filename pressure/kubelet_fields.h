// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "migration/eviction_thresholds.h"
#include "migration/node_shutdown.h"
#include "pressure/kubelet_config.h"

namespace scout::pressure {

/// The fields of a KubeletConfiguration that are read, as texts; none: not there.
struct KubeletFields {
    migration::KubeletEvictionFields eviction;
    std::string shutdown_total;
    std::string shutdown_critical;
    std::vector<migration::ShutdownPriority> shutdown_by_priority;
    std::string cgroup_root;
};

/// Takes over what a file says. Errors: invalid, with the file and the field.
[[nodiscard]] Status apply_kubelet_file(const KubeletFile& file, KubeletFields& fields);

}  // namespace scout::pressure
