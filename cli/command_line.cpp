// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/edit_distance.h"
#include "cli/text.h"
#include "migration/feature_set.h"

namespace scout::cli {
namespace {

std::string in_quotes(std::string_view word) {
    return "'" + shown(word) + "'";
}

std::vector<std::string> command_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const auto* command : app.get_subcommands(nullptr)) {
        names.push_back(command->get_name());
    }
    return names;
}

void add_option_names(const CLI::App& app, std::vector<std::string>& names) {
    for (const auto* option : app.get_options()) {
        for (const auto& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
    }
}

std::string meant(std::string_view word, const std::vector<std::string>& known) {
    const auto near = nearest(word, known);
    return near.empty() ? std::string{} : "; did you mean '" + near + "'?";
}

std::string unknown_command(const CLI::App& app) {
    const auto rest = app.remaining();
    const auto word = std::find_if(rest.begin(), rest.end(),
                                   [](const std::string& each) { return !each.starts_with('-'); });
    const auto known = command_names(app);
    if (word == rest.end()) {
        return "expected a command: " + migration::join(known);
    }
    const auto near = meant(*word, known);
    return "unknown command " + in_quotes(*word) +
           (near.empty() ? "; expected one of " + migration::join(known) : near);
}

/// Documents are options where a question can go to the aggregator too.
std::string documents_option(const CLI::App& command) {
    for (const auto* name : {"--documents", "--on"}) {
        if (command.get_option_no_throw(name) != nullptr) {
            return std::string("; documents stand behind ") + name;
        }
    }
    return {};
}

std::string unexpected_word(const CLI::App& app, const CLI::App& command) {
    auto rest = command.remaining();
    const auto of_app = app.remaining();
    rest.insert(rest.end(), of_app.begin(), of_app.end());
    if (rest.empty()) {
        return {};
    }
    const auto option = std::find_if(rest.begin(), rest.end(), [](const std::string& each) {
        return each.size() > 1 && each.starts_with('-');
    });
    if (option == rest.end()) {
        return "unexpected argument " + in_quotes(rest.front()) + documents_option(command);
    }
    std::vector<std::string> known;
    add_option_names(app, known);
    add_option_names(command, known);
    const auto name = option->substr(0, option->find('='));
    if (std::find(known.begin(), known.end(), name) != known.end()) {
        return "option " + in_quotes(name) + " belongs behind the command, found in front of it";
    }
    return "unknown option " + in_quotes(name) + meant(name, known);
}

/// CLI11 counts values; people think of options.
std::string wrong_count(const CLI::App& app, const CLI::App& command, std::string_view what) {
    for (const auto* each : {&app, &command}) {
        for (const auto* option : each->get_options()) {
            if (!what.starts_with(option->get_name() + ":")) {
                continue;
            }
            const auto given = option->results().size();
            return given > 1 ? option->get_name() + ": expected once, found " +
                                   std::to_string(given) + " times"
                             : option->get_name() + ": expected a value (" +
                                   option->get_type_name() + "), found none";
        }
    }
    return shown(what);
}

}  // namespace

std::optional<std::string> option_without_value(std::span<const char* const> words) {
    for (const std::string_view word : words) {
        if (word == "--") {
            break;
        }
        if (word.starts_with('-') && word.find('=') == word.size() - 1) {
            return "expected a value behind " + in_quotes(word) + ", found nothing";
        }
    }
    return std::nullopt;
}

std::optional<std::string> empty_value(const CLI::App& app) {
    for (const auto* option : app.get_options()) {
        const auto& values = option->results();
        if (std::find(values.begin(), values.end(), std::string{}) != values.end()) {
            return option->get_name() + ": expected a value, found an empty one";
        }
    }
    for (const auto* command : app.get_subcommands()) {
        if (auto fault = empty_value(*command)) {
            return fault;
        }
    }
    return std::nullopt;
}

std::string fault_text(const CLI::App& app, const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    if (chosen.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
        return unknown_command(app);
    }
    if (!chosen.empty() && dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        if (auto text = unexpected_word(app, *chosen.front()); !text.empty()) {
            return text;
        }
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
        return wrong_count(app, chosen.empty() ? app : *chosen.front(), error.what());
    }
    return shown(error.what());
}

}  // namespace scout::cli
