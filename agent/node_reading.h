// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "libvirt_glue/hypervisor.h"
#include "migration/profile.h"

namespace scout::agent {

/// Files of the host and of the state folder are small: a call that takes longer sits on a dead
/// mount.
inline constexpr std::chrono::seconds file_limit{5};

/// What one source says of this node.
struct NodeReading {
    std::shared_ptr<const migration::Profile> profile;
    std::string digest;
    migration::HostFacts facts;
    std::string source;
    std::string yardstick;
    std::vector<std::string> changes;   ///< of this host since the probe before
    std::vector<std::string> warnings;  ///< for the log
};

/// "embedded", "system" or "libvirt": how reports call a libvirt URI.
[[nodiscard]] std::string source_of(const std::string& uri);

/// The hypervisor's own answer, with the host's facts, compared with the answer before. Blocking
/// (files below `root` and in the state folder). Errors: invalid, naming the document.
[[nodiscard]] Result<NodeReading> read_probe(const hypervisor::HostDocuments& documents,
                                             const std::filesystem::path& root,
                                             const std::filesystem::path& state_dir);

/// KubeVirt's labeller files, nothing if there are none (design §3: where they are, they are the
/// yardstick). Blocking. Errors: invalid, unavailable, naming the file.
[[nodiscard]] Result<std::optional<NodeReading>> read_labeller(
    const std::filesystem::path& labeller_dir, const std::filesystem::path& root);

}  // namespace scout::agent
