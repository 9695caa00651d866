// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "migration/eviction_thresholds.h"
#include "migration/node_shutdown.h"

/// What a kubelet was told about evictions and shutdowns, by its own files: the one of `--config`
/// and those of the folder `--config-dir` (Kubernetes 1.28 and later). Flags of its command line
/// win over both and are not seen; a file that changed is in force once the kubelet was restarted.
namespace scout::pressure {

/// Largest file: 256 KiB. Real ones are under 4 KiB.
inline constexpr std::size_t kubelet_file_limit = std::size_t{256} << 10U;
/// Most drop-in files.
inline constexpr std::size_t drop_ins_limit = 100;

/// What we use of a KubeletConfiguration; without any file the kubelet's defaults.
struct KubeletConfig {
    migration::KubeletEviction eviction;
    migration::NodeShutdown shutdown;
    std::string cgroup_root;  ///< cgroupRoot; empty or "/": the hierarchy's root

    friend bool operator==(const KubeletConfig&, const KubeletConfig&) = default;
};

struct KubeletFile {
    std::string name;  ///< for errors
    std::string text;

    friend bool operator==(const KubeletFile&, const KubeletFile&) = default;
};

struct KubeletFiles {
    std::vector<KubeletFile> main;      ///< none or one
    std::vector<KubeletFile> drop_ins;  ///< in the order in which they are merged

    friend bool operator==(const KubeletFiles&, const KubeletFiles&) = default;
};

/// As the kubelet reads them. A drop-in is merged into what is before it by RFC 7396: maps key by
/// key, all else as a whole, null takes a key away; the default hard thresholds are set before
/// that. Pure. Errors: invalid, with the file and the field: not YAML or JSON, not a
/// KubeletConfiguration, a value that the kubelet would not start with.
[[nodiscard]] Result<KubeletConfig> parse_kubelet_config(const KubeletFiles& files);

struct KubeletConfigPlaces {
    std::filesystem::path file;    ///< empty: none
    bool file_must_be = true;      ///< else it may be absent
    std::filesystem::path folder;  ///< of drop-ins; empty: none
};

/// Blocking. Errors: not_found, invalid (no file or folder, too large, too many), unavailable.
[[nodiscard]] Result<KubeletFiles> read_kubelet_files(const KubeletConfigPlaces& places);

}  // namespace scout::pressure
