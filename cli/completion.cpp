// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/app.h"
#include "cli/request.h"
#include "cli/text.h"

namespace scout::cli {
namespace {

enum class Values : std::uint8_t { none, choice, files, other };

struct OptionWords {
    std::vector<std::string> words;  ///< "-o", "--output"
    std::string text;
    Values values = Values::none;
    std::string choice;  ///< "table wide json yaml"
};

struct CommandWords {
    std::string name;
    std::string text;
    std::vector<OptionWords> options;
    OptionWords positional;  ///< what the arguments without a name are
};

/// "a|b|c" of lower-case words is a choice; FILE and DIR are files.
void classify(const CLI::Option& option, OptionWords& words) {
    if (option.get_items_expected_max() == 0) {
        return;
    }
    auto type = option.get_type_name();
    words.values = Values::other;
    if (type.find("FILE") != std::string::npos || type.find("DIR") != std::string::npos) {
        words.values = Values::files;
    } else if (type.find('|') != std::string::npos) {
        words.values = Values::choice;
        std::replace(type.begin(), type.end(), '|', ' ');
        words.choice = type;
    }
}

OptionWords words_of(const CLI::Option& option) {
    OptionWords words;
    for (const auto& name : option.get_snames()) {
        words.words.push_back("-" + name);
    }
    for (const auto& name : option.get_lnames()) {
        words.words.push_back("--" + name);
    }
    words.text = option.get_description();
    classify(option, words);
    return words;
}

CommandWords words_of(const CLI::App& app) {
    CommandWords command{
        .name = app.get_name(), .text = app.get_description(), .options = {}, .positional = {}};
    for (const auto* option : app.get_options()) {
        auto words = words_of(*option);
        if (!words.words.empty()) {
            command.options.push_back(std::move(words));
        } else if (command.positional.values != Values::files) {
            command.positional = std::move(words);
        }
    }
    return command;
}

struct Grammar {
    CommandWords global;
    std::vector<CommandWords> commands;
};

Grammar grammar_of(const CLI::App& app) {
    Grammar grammar{.global = words_of(app), .commands = {}};
    for (const auto* sub : app.get_subcommands(nullptr)) {
        grammar.commands.push_back(words_of(*sub));
    }
    return grammar;
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
    std::string out;
    for (const auto& word : words) {
        out += out.empty() ? "" : separator;
        out += word;
    }
    return out;
}

/// Inside single quotes of any of the three shells: an apostrophe becomes a typographic one.
std::string quotable(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\'') {
            out += "’";
        } else if (c != '\\' && c != '\n') {
            out += c;
        }
    }
    return out;
}

/// Inside zsh's 'name:text' and '[text]' too.
std::string zsh_quotable(std::string_view text) {
    std::string out;
    for (const char c : quotable(text)) {
        out += c == ':' || c == '[' || c == ']' ? std::string{'\\', c} : std::string{c};
    }
    return out;
}

std::string command_names(const Grammar& grammar, std::string_view separator) {
    std::vector<std::string> names;
    names.reserve(grammar.commands.size());
    for (const auto& command : grammar.commands) {
        names.push_back(command.name);
    }
    return joined(names, separator);
}

std::string option_names(const CommandWords& command) {
    std::string out;
    for (const auto& option : command.options) {
        out += joined(option.words, " ") + " ";
    }
    return out;
}

/// A bash line that fills COMPREPLY with what the values can be; empty: nothing to offer.
std::string bash_values(const OptionWords& option) {
    if (option.values == Values::files) {
        return "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
    }
    if (option.values == Values::choice) {
        return "mapfile -t COMPREPLY < <(compgen -W '" + option.choice + "' -- \"$cur\")";
    }
    return {};
}

void add_bash_option_values(const CommandWords& command, std::string& out) {
    for (const auto& option : command.options) {
        if (option.values != Values::none) {
            const auto values = bash_values(option);
            out += "        " + joined(option.words, "|") + ") " + (values.empty() ? ":" : values) +
                   "; return ;;\n";
        }
    }
}

std::string bash_script(const Grammar& grammar) {
    std::string out =
        "# bash completion for scoutctl\n"
        "_scoutctl() {\n"
        "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
        "    local command='' i\n"
        "    COMPREPLY=()\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        case \"${COMP_WORDS[i]}\" in\n"
        "        " +
        command_names(grammar, "|") +
        ") command=\"${COMP_WORDS[i]}\"; break ;;\n"
        "        esac\n"
        "    done\n"
        "    case \"$prev\" in\n";
    add_bash_option_values(grammar.global, out);
    for (const auto& command : grammar.commands) {
        add_bash_option_values(command, out);
    }
    const auto global = option_names(grammar.global);
    out += "    esac\n    case \"$command\" in\n    '') mapfile -t COMPREPLY < <(compgen -W '" +
           command_names(grammar, " ") + " " + global + "' -- \"$cur\") ;;\n";
    for (const auto& command : grammar.commands) {
        const auto values = bash_values(command.positional);
        out += "    " + command.name +
               ")\n        if [[ $cur == -* ]]; then\n"
               "            mapfile -t COMPREPLY < <(compgen -W '" +
               option_names(command) + global + "' -- \"$cur\")\n        else\n            " +
               (values.empty() ? ":" : values) + "\n        fi ;;\n";
    }
    return out + "    esac\n}\ncomplete -o filenames -F _scoutctl scoutctl\n";
}

std::string zsh_values(const OptionWords& option) {
    switch (option.values) {
        case Values::none:
            return {};
        case Values::choice:
            return ":value:(" + option.choice + ")";
        case Values::files:
            return ":file:_files";
        case Values::other:
            return ":value: ";
    }
    return {};
}

std::string zsh_options(const CommandWords& command) {
    std::string out;
    for (const auto& option : command.options) {
        for (const auto& word : option.words) {
            out += " \\\n            '" + word + "[" + zsh_quotable(option.text) + "]" +
                   zsh_values(option) + "'";
        }
    }
    return out;
}

std::string zsh_script(const Grammar& grammar) {
    std::string out =
        "#compdef scoutctl\n"
        "_scoutctl() {\n"
        "    local context state line\n"
        "    local -a commands\n"
        "    commands=(\n";
    for (const auto& command : grammar.commands) {
        out += "        '" + command.name + ":" + zsh_quotable(command.text) + "'\n";
    }
    const auto global = zsh_options(grammar.global);
    out += "    )\n    _arguments -C" + global +
           " \\\n        '1: :->command' '*:: :->arguments'\n"
           "    case $state in\n"
           "    command) _describe command commands ;;\n"
           "    arguments)\n        case $line[1] in\n";
    for (const auto& command : grammar.commands) {
        const auto positional = command.positional.values == Values::none
                                    ? std::string{}
                                    : " \\\n            '*" + zsh_values(command.positional) + "'";
        out.append("        ").append(command.name).append(") _arguments");
        out.append(zsh_options(command)).append(global).append(positional).append(" ;;\n");
    }
    return out +
           "        esac ;;\n    esac\n}\n"
           "if [[ $funcstack[1] == _scoutctl ]]; then _scoutctl \"$@\"; "
           "else compdef _scoutctl scoutctl; fi\n";
}

std::string fish_line(const std::string& condition, const OptionWords& option) {
    std::string out = "complete -c scoutctl" + condition;
    for (const auto& word : option.words) {
        out += word.starts_with("--") ? " -l " + word.substr(2) : " -s " + word.substr(1);
    }
    if (option.values == Values::choice) {
        out += " -x -a '" + option.choice + "'";
    } else if (option.values == Values::files) {
        out += " -r -F";
    } else if (option.values == Values::other) {
        out += " -x";
    }
    return out + " -d '" + quotable(option.text) + "'\n";
}

std::string fish_script(const Grammar& grammar) {
    std::string out = "# fish completion for scoutctl\ncomplete -c scoutctl -f\n";
    for (const auto& option : grammar.global.options) {
        out += fish_line("", option);
    }
    for (const auto& command : grammar.commands) {
        out += "complete -c scoutctl -n __fish_use_subcommand -a " + command.name + " -d '" +
               quotable(command.text) + "'\n";
        const auto condition = " -n '__fish_seen_subcommand_from " + command.name + "'";
        for (const auto& option : command.options) {
            out += fish_line(condition, option);
        }
        if (command.positional.values == Values::files) {
            out += "complete -c scoutctl" + condition + " -F\n";
        } else if (command.positional.values == Values::choice) {
            out += "complete -c scoutctl" + condition + " -a '" + command.positional.choice + "'\n";
        }
    }
    return out;
}

}  // namespace

Result<std::string> completion_script(const CLI::App& app, std::string_view shell) {
    if (shell == "bash") {
        return bash_script(grammar_of(app));
    }
    if (shell == "zsh") {
        return zsh_script(grammar_of(app));
    }
    if (shell == "fish") {
        return fish_script(grammar_of(app));
    }
    return fail(Errc::invalid,
                "completion: expected bash, zsh or fish; found '" + shown(shell) + "'");
}

int run_completion(Session& session, const Request& request) {
    Request unused;
    const auto script = completion_script(*make_app(unused), request.subject);
    return script ? session.show_text(*script) : session.fail_with(script.error());
}

}  // namespace scout::cli
