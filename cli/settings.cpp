// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/files.h"
#include "cli/text.h"

namespace scout::cli {
namespace {

constexpr std::size_t settings_limit = 65536;

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
        faults.push_back(at_line(value) + "unknown key '" + printable(key) + "'; known are " +
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
        if (const auto deadline = parse_duration(*settings.deadline); !deadline) {
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
            faults.push_back(at_line(entry.first) + "key '" + printable(key) + "' is there twice");
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
        return fail(Errc::invalid, error.what());
    }
}

Result<Settings> read_settings(const std::optional<std::string>& file) {
    const auto path = file ? std::filesystem::path(*file) : default_file();
    if (path.empty()) {
        return Settings{};
    }
    auto text = read_file(path, settings_limit);
    if (!text) {
        if (!file && text.error().code == Errc::not_found) {
            return Settings{};
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

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
    constexpr std::int64_t longest = 3'600'000;
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    const std::int64_t factor =
        unit == "ms" ? 1 : (unit == "s" ? 1000 : (unit == "m" ? 60'000 : 0));
    if (error != std::errc{} || factor == 0 || count < 1 || count > longest / factor) {
        return fail(Errc::invalid,
                    "deadline: expected 1ms to 60m, as in 500ms, 10s or 2m; found '" +
                        printable(text.substr(0, 64)) + "'");
    }
    return std::chrono::milliseconds{count * factor};
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
    return fail(Errc::invalid, "output: expected table, wide, json or yaml; found '" +
                                   printable(text.substr(0, 64)) + "'");
}

}  // namespace scout::cli
