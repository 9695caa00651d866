// SPDX-License-Identifier: Apache-2.0
#include "daemon/command_line.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/files.h"
#include "base/version.h"

namespace scout::daemon {
namespace {

constexpr std::size_t most_faults_told = 50;
constexpr const char* config_flag = "--config";

/// What the flags said, before any of it is read.
struct Flags {
    CLI::App app;
    std::string config_file;
    bool check_config = false;
    bool version = false;
    std::vector<std::vector<std::string>> values;  ///< beside the settings, in their order
};

void add_flag(Flags& flags, const Setting& setting, std::vector<std::string>& values) {
    const std::string name = "--" + setting.key;
    const std::string group = "Settings (each is also a key of the file)";
    if (setting.kind == SettingKind::toggle) {
        values.resize(1);
        flags.app.add_flag(name, values.front(), setting.help)->group(group);
        return;
    }
    auto* option = flags.app.add_option(name, values, setting.help)->expected(1)->group(group);
    option->allow_extra_args(false);
    option->multi_option_policy(setting.kind == SettingKind::list
                                    ? CLI::MultiOptionPolicy::TakeAll
                                    : CLI::MultiOptionPolicy::TakeLast);
    option->type_name(setting.value_name)->default_str(setting.shown_default);
}

void declare_flags(Flags& flags, const Program& program, const SettingList& settings) {
    flags.app.name(program.name);
    flags.app.description(program.summary);
    flags.app.footer("Examples:\n" + program.examples);
    flags.app.allow_extras();
    flags.app.get_formatter()->column_width(34);
    flags.app.add_option(config_flag, flags.config_file, "configuration file (YAML)")
        ->type_name("FILE")
        ->default_str(program.default_config.string());
    flags.app.add_flag("--check-config", flags.check_config,
                       "check the configuration and end: 0 good, 2 bad");
    flags.app.add_flag("--version", flags.version, "version and commit");
    flags.values.resize(settings.size());
    for (std::size_t i = 0; i < settings.size(); ++i) {
        add_flag(flags, settings[i], flags.values[i]);
    }
}

std::string flag_name(std::string_view argument) {
    while (!argument.empty() && argument.front() == '-') {
        argument.remove_prefix(1);
    }
    return std::string{argument.substr(0, argument.find('='))};
}

void add_unknown(const std::vector<std::string>& extras, const SettingList& settings,
                 Faults& faults) {
    for (const auto& extra : extras) {
        if (extra.size() > 1 && extra.front() == '-') {
            const auto near = nearest_key(flag_name(extra), settings);
            faults.push_back(
                {"", "unknown flag " + log_value(extra) +
                         (near.empty() ? "" : "; the nearest known one is --" + near)});
        } else {
            faults.push_back({"", "unexpected argument " + log_value(extra)});
        }
    }
}

void read_flags(const Flags& flags, const SettingList& settings, Origins& origins, Faults& faults) {
    add_unknown(flags.app.remaining(), settings, faults);
    for (std::size_t i = 0; i < settings.size(); ++i) {
        const auto& setting = settings[i];
        const std::string name = "--" + setting.key;
        if (flags.app.count(name) == 0) {
            continue;
        }
        if (auto done = setting.read(flags.values[i]); !done) {
            faults.push_back({setting.key, name + ": " + done.error().message});
        } else {
            origins[setting.key] = name;
        }
    }
}

/// False if nothing could be taken from the file: what is missing then is not the user's fault.
bool read_config_file(const Flags& flags, const Program& program, const SettingList& settings,
                      Origins& origins, Faults& faults) {
    const bool asked_for = flags.app.count(config_flag) > 0;
    if (asked_for && flags.config_file.empty()) {
        faults.push_back({"", std::string{config_flag} + ": expected a file, found an empty name"});
        return false;
    }
    const auto path = asked_for ? std::filesystem::path{flags.config_file} : program.default_config;
    const auto text = read_file(path, config_limit);
    if (!text) {
        if (!asked_for && text.error().code == Errc::not_found) {
            return true;
        }
        faults.push_back({"", text.error().message});
        return false;
    }
    auto found = read_config_text(*text, path.string(), settings, origins);
    const bool readable = found.empty() || !found.front().whole_file;
    std::move(found.begin(), found.end(), std::back_inserter(faults));
    return readable;
}

/// Faults of the whole, each with the place that set the key.
void add_validation(Faults found, const Origins& origins, Faults& faults) {
    const auto already = faults.size();
    for (auto& fault : found) {
        const auto told = std::any_of(
            faults.begin(), faults.begin() + static_cast<long>(already),
            [&fault](const Fault& known) { return !known.key.empty() && known.key == fault.key; });
        if (told) {
            continue;
        }
        const auto origin = origins.find(fault.key);
        std::string text = origin == origins.end() ? std::string{} : origin->second + ": ";
        if (!fault.key.empty() && text != "--" + fault.key + ": ") {
            text += fault.key + ": ";
        }
        faults.push_back({fault.key, text + fault.text});
    }
}

void tell(const Faults& faults, const Program& program, std::ostream& err) {
    const auto told = std::min(faults.size(), most_faults_told);
    for (std::size_t i = 0; i < told; ++i) {
        err << program.name << ": " << faults[i].text << '\n';
    }
    if (told < faults.size()) {
        err << program.name << ": and " << faults.size() - told << " more faults\n";
    }
    err << program.name << ": the configuration is wrong; nothing was started\n";
}

/// `--name=` means the empty value, but CLI11 takes the next word for the value: hands it the empty
/// one as a word of its own. A flag that takes no value has no empty one either.
std::vector<std::string> with_empty_values(const Flags& flags,
                                           const std::vector<std::string>& arguments,
                                           Faults& faults) {
    std::vector<std::string> words;
    for (const auto& argument : arguments) {
        const auto name = argument.substr(0, argument.find('='));
        const auto* option = argument.starts_with("--") && name.size() + 1 == argument.size()
                                 ? flags.app.get_option_no_throw(name)
                                 : nullptr;
        if (option == nullptr) {
            words.push_back(argument);
        } else if (option->get_items_expected_max() == 0) {
            faults.push_back({"", name + ": expected true or false behind '=', found nothing"});
        } else {
            words.push_back(name);
            words.emplace_back();
        }
    }
    return words;
}

/// Nothing if parsing went well, else the exit code.
std::optional<int> parse_flags(Flags& flags, std::vector<std::string> arguments,
                               const Program& program, std::ostream& out, std::ostream& err) {
    try {
        std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants a vector
        flags.app.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
        out << flags.app.help();
        return 0;
    } catch (const CLI::Error& error) {
        err << program.name << ": " << error.what() << "; see --help\n";
        return exit_bad_config;
    }
    if (flags.version) {
        out << program.name << ' ' << version << " (commit " << commit << ")\n";
        return 0;
    }
    return std::nullopt;
}

}  // namespace

std::optional<int> configure(const Program& program, const std::vector<std::string>& arguments,
                             const SettingList& settings, const std::function<Faults()>& validate,
                             std::ostream& out, std::ostream& err) {
    Flags flags;
    declare_flags(flags, program, settings);
    Faults faults;
    auto words = with_empty_values(flags, arguments, faults);
    if (const auto code = parse_flags(flags, std::move(words), program, out, err)) {
        return code;
    }
    Origins origins;
    const bool readable = read_config_file(flags, program, settings, origins, faults);
    read_flags(flags, settings, origins, faults);
    if (readable) {
        add_validation(validate(), origins, faults);
    }
    if (!faults.empty()) {
        tell(faults, program, err);
        return exit_bad_config;
    }
    if (flags.check_config) {
        out << program.name << ": the configuration is good\n";
        return 0;
    }
    return std::nullopt;
}

std::vector<std::string> arguments_of(int argc, const char* const* argv) {
    std::vector<std::string> arguments;
    for (int i = 1; i < argc; ++i) {
        arguments.emplace_back(argv[i]);
    }
    return arguments;
}

}  // namespace scout::daemon
