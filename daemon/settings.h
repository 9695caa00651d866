// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration.h"
#include "base/logging.h"
#include "base/result.h"

/// Settings of a daemon: one list serves the YAML file and the command line.
///
/// A daemon keeps a plain struct with defaults and binds each member to a key:
///     SettingList list{text_setting("node-name", "name of this node", config.node_name), …};
/// read_config_text() and configure() (daemon/command_line.h) then fill the struct. The struct must
/// outlive the list. Main thread, before the loop starts.
namespace scout::daemon {

/// Largest config file: 256 KiB. A real one is under 4 KiB.
inline constexpr std::size_t config_limit = std::size_t{256} << 10U;

/// One thing that is wrong with the configuration. All are told at once.
struct Fault {
    std::string key;          ///< empty: the file as a whole
    std::string text;         ///< expected, found, what to do
    bool whole_file = false;  ///< nothing could be taken from the file; the only fault then
};
using Faults = std::vector<Fault>;

enum class SettingKind : std::uint8_t { single, list, toggle };

struct Setting {
    std::string key;         ///< in the file; the flag is "--" + key
    std::string value_name;  ///< how --help calls the value
    std::string help;
    std::string shown_default;
    SettingKind kind = SettingKind::single;
    /// Reads the text (one entry; any number for a list) into the member. Errc::invalid says what
    /// was expected and found, and the member keeps its value.
    std::function<Status(const std::vector<std::string>&)> read;
};
using SettingList = std::vector<Setting>;

struct DurationRange {
    std::chrono::milliseconds least;
    std::chrono::milliseconds most;
};

[[nodiscard]] Setting text_setting(std::string key, std::string help, std::string& value);
[[nodiscard]] Setting path_setting(std::string key, std::string help, std::filesystem::path& value);
[[nodiscard]] Setting choice_setting(std::string key, std::string help, std::string& value,
                                     std::vector<std::string> choices);
[[nodiscard]] Setting bool_setting(std::string key, std::string help, bool& value);
/// In the form of parse_duration().
[[nodiscard]] Setting duration_setting(std::string key, std::string help,
                                       std::chrono::milliseconds& value, DurationRange range);
/// A YAML list or one scalar in the file; the flag may be repeated.
[[nodiscard]] Setting list_setting(std::string key, std::string help,
                                   std::vector<std::string>& value);

/// `log-level` and `log-format`.
void add_log_settings(SettingList& list, LogConfig& config);

/// Where each key was last set: "/etc/virt-scout/agent.yaml:4" or "--node-name".
using Origins = std::map<std::string, std::string, std::less<>>;

/// Reads a config text into the members and lists every fault with its line: not YAML, not one flat
/// mapping, unknown key (with the known one that it is near to), key given twice, wrong value.
[[nodiscard]] Faults read_config_text(std::string_view text, std::string_view file_name,
                                      const SettingList& list, Origins& origins);

/// The known key that is near to the given one (base/edit_distance.h); empty: none is.
[[nodiscard]] std::string nearest_key(std::string_view key, const SettingList& list);

using scout::format_duration;

}  // namespace scout::daemon
