// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
class ParseError;
}  // namespace CLI

/// What is wrong with a command line, where CLI11 says it badly or takes it silently.
namespace scout::cli {

/// The sentence for a word of the form `--name=`, if there is one before `--`: CLI11 would take the
/// next word for the value.
[[nodiscard]] std::optional<std::string> option_without_value(std::span<const char* const> words);

/// The sentence for an option or argument of the parsed line whose value is empty, if there is one:
/// for CLI11 that is as if it were not there.
[[nodiscard]] std::optional<std::string> empty_value(const CLI::App& app);

/// The sentence for what CLI11 refused; an unknown command or option is named, with the known one
/// that it may be meant for.
[[nodiscard]] std::string fault_text(const CLI::App& app, const CLI::ParseError& error);

}  // namespace scout::cli
