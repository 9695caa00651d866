// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace scout::cli {

inline constexpr const char* default_aggregator = "unix:/run/virt-scout/aggregator.sock";
/// In the place of an aggregator's address: the one of the cluster, reached through its API server
/// with nothing but a kubeconfig (docs/scoutctl.md).
inline constexpr const char* cluster_aggregator = "kube:";
inline constexpr std::chrono::milliseconds default_deadline{10'000};

/// What the config file and the flags have in common; every key is also a flag and the flag wins.
/// Unset means: not said here.
struct Settings {
    std::optional<std::string> aggregator;   ///< `aggregator-address`: unix:/path, host:port, kube:
    std::optional<std::string> cpu_map;      ///< `cpu-map`: a cpu_map folder
    std::optional<std::string> tls_ca;       ///< `tls-ca`: PEM file
    std::optional<std::string> tls_cert;     ///< `tls-cert`: PEM file
    std::optional<std::string> tls_key;      ///< `tls-key`: PEM file
    std::optional<std::string> server_name;  ///< `tls-server-name`
    std::optional<bool> plaintext;           ///< `plaintext`: for loopback addresses
    std::optional<std::string> deadline;     ///< `deadline`: "500ms", "10s", "2m"
    std::optional<std::string> output;       ///< `output`: table, wide, json or yaml

    friend bool operator==(const Settings&, const Settings&) = default;
};

/// Settings of a YAML text; the error lists every fault: unknown and doubled keys, values of a
/// wrong kind.
[[nodiscard]] Result<Settings> parse_settings(std::string_view yaml);

/// `file` if it is given (then it must exist), else `virt-scout/config.yaml` under
/// XDG_CONFIG_HOME or ~/.config, if it is there.
[[nodiscard]] Result<Settings> read_settings(const std::optional<std::string>& file);

/// Flags over file.
[[nodiscard]] Settings merge(Settings flags, Settings file);

/// A duration of 1 ms to 1 h (base/duration.h).
[[nodiscard]] Result<std::chrono::milliseconds> parse_deadline(std::string_view text);

enum class Format : std::uint8_t { table, wide, json, yaml };
[[nodiscard]] Result<Format> parse_format(std::string_view text);

}  // namespace scout::cli
