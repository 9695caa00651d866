// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/duration.h"
#include "base/files.h"
#include "cli/text.h"

namespace scout::cli {
namespace {

constexpr std::size_t settings_limit = 65536;
constexpr std::chrono::milliseconds shortest_deadline{1};
constexpr std::chrono::milliseconds longest_deadline{3'600'000};

struct TextKey {
    std::string_view name;
    std::optional<std::string> Settings::* member;
};

constexpr std::array<TextKey, 8> text_keys{{
    {"aggregator-address", &Settings::aggregator},
    {"cpu-map", &Settings::cpu_map},
    {"tls-ca", &Settings::tls_ca},
    {"tls-cert", &Settings::tls_cert},
    {"tls-key", &Settings::tls_key},
    {"tls-server-name", &Settings::server_name},
    {"deadline", &Settings::deadline},
    {"output", &Settings::output},
}};

std::string known_keys() {
    std::string names;
    for (const auto& key : text_keys) {
        names += std::string(key.name) + ", ";
    }
    return names + "plaintext";
}

using Faults = std::vector<std::string>;

std::string at_line(const YAML::Node& node) {
    return "line " + std::to_string(node.Mark().line + 1) + ": ";
}

void take_plaintext(const YAML::Node& value, Settings& settings, Faults& faults) {
    const bool scalar = value.IsScalar();
    if (!scalar || (value.Scalar() != "true" && value.Scalar() != "false")) {
        faults.push_back(at_line(value) + "plaintext: expected true or false");
        return;
    }
    settings.plaintext = value.Scalar() == "true";
}

void take_entry(const std::string& key, const YAML::Node& value, Settings& settings,
                Faults& faults) {
    if (key == "plaintext") {
        take_plaintext(value, settings, faults);
        return;
    }
    const auto* known = std::find_if(text_keys.begin(), text_keys.end(),
                                     [&key](const TextKey& each) { return each.name == key; });
    if (known == text_keys.end()) {
        faults.push_back(at_line(value) + "unknown key '" + shown(key) + "'; known are " +
                         known_keys());
        return;
    }
    if (!value.IsScalar() || value.Scalar().empty()) {
        faults.push_back(at_line(value) + key + ": expected a text");
        return;
    }
    settings.*(known->member) = value.Scalar();
}

/// Values that flags check too, so that a fault names the key.
void check_values(const Settings& settings, Faults& faults) {
    if (settings.deadline) {
        if (const auto deadline = parse_deadline(*settings.deadline); !deadline) {
            faults.push_back(deadline.error().message);
        }
    }
    if (settings.output) {
        if (const auto format = parse_format(*settings.output); !format) {
            faults.push_back(format.error().message);
        }
    }
}

Result<Settings> take_map(const YAML::Node& root) {
    Settings settings;
    if (root.IsNull()) {
        return settings;
    }
    if (!root.IsMap()) {
        return fail(Errc::invalid, "expected a map of keys to values");
    }
    Faults faults;
    std::set<std::string> seen;
    for (const auto& entry : root) {
        const auto key = entry.first.IsScalar() ? entry.first.Scalar() : std::string("?");
        if (!seen.insert(key).second) {
            faults.push_back(at_line(entry.first) + "key '" + shown(key) + "' is there twice");
            continue;
        }
        take_entry(key, entry.second, settings, faults);
    }
    check_values(settings, faults);
    if (faults.empty()) {
        return settings;
    }
    std::string all;
    for (const auto& fault : faults) {
        all += (all.empty() ? "" : "; ") + fault;
    }
    return fail(Errc::invalid, std::move(all));
}

std::filesystem::path default_file() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread yet
        return std::filesystem::path(value == nullptr ? "" : value);
    };
    auto folder = variable("XDG_CONFIG_HOME");
    if (!folder.is_absolute()) {
        const auto home = variable("HOME");
        folder = home.is_absolute() ? home / ".config" : std::filesystem::path{};
    }
    return folder.empty() ? folder : folder / "virt-scout" / "config.yaml";
}

}  // namespace

Result<Settings> parse_settings(std::string_view yaml) {
    try {
        return take_map(YAML::Load(std::string(yaml)));
    } catch (const YAML::Exception& error) {
        return fail(Errc::invalid,
                    "line " + std::to_string(error.mark.line + 1) + ": not YAML: " + error.msg);
    }
}

Result<Settings> read_settings(const std::optional<std::string>& file) {
    const auto path = file ? std::filesystem::path(*file) : default_file();
    if (path.empty()) {
        return Settings{};
    }
    std::error_code ignored;
    if (!file &&
        std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found) {
        return Settings{};
    }
    auto text = read_file(path, settings_limit);
    if (!text) {
        if (!file) {
            text.error().message += "; mend it, or name another with --config";
        }
        return fail(std::move(text.error()).within("config"));
    }
    auto settings = parse_settings(*text);
    if (!settings) {
        return fail(std::move(settings.error()).within("config " + path.string()));
    }
    return settings;
}

Settings merge(Settings flags, Settings file) {
    for (const auto& key : text_keys) {
        if (!(flags.*(key.member))) {
            flags.*(key.member) = std::move(file.*(key.member));
        }
    }
    if (!flags.plaintext) {
        flags.plaintext = file.plaintext;
    }
    return flags;
}

Result<std::chrono::milliseconds> parse_deadline(std::string_view text) {
    const auto time = parse_duration(text);
    if (!time || *time < shortest_deadline || *time > longest_deadline) {
        return fail(Errc::invalid, "deadline: expected " + format_duration(shortest_deadline) +
                                       " to " + format_duration(longest_deadline) +
                                       " with a unit, as in 500ms, 10s or 2m; found '" +
                                       shown(text) + "'");
    }
    return *time;
}

Result<Format> parse_format(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, Format>, 4> formats{{
        {"table", Format::table},
        {"wide", Format::wide},
        {"json", Format::json},
        {"yaml", Format::yaml},
    }};
    for (const auto& [name, format] : formats) {
        if (name == text) {
            return format;
        }
    }
    return fail(Errc::invalid,
                "output: expected table, wide, json or yaml; found '" + shown(text) + "'");
}

}  // namespace scout::cli
