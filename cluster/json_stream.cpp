// SPDX-License-Identifier: Apache-2.0
#include "cluster/json_stream.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace scout::cluster {
namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr std::size_t most_values = 1'000'000;

/// Where the string that begins here ends, behind its quote.
std::size_t string_end(std::string_view text, std::size_t at) {
    for (++at; at < text.size(); ++at) {
        if (text[at] == '\\') {
            ++at;
        } else if (text[at] == '"') {
            return at + 1;
        }
    }
    return text.size();
}

/// Where the value that begins here ends.
std::size_t value_end(std::string_view text, std::size_t at) {
    std::size_t depth = 0;
    while (at < text.size()) {
        at = std::min(text.find_first_of("{}[]\"", at), text.size());
        if (at == text.size()) {
            break;
        }
        if (text[at] == '"') {
            at = string_end(text, at);
            continue;
        }
        const bool opens = text[at] == '{' || text[at] == '[';
        ++at;
        if (opens) {
            ++depth;
        } else if (depth <= 1) {
            return at;
        } else {
            --depth;
        }
    }
    return text.size();
}

}  // namespace

Result<std::vector<std::string_view>> json_stream(std::string_view text) {
    std::vector<std::string_view> values;
    std::size_t at = 0;
    while ((at = text.find_first_not_of(blanks, at)) != std::string_view::npos) {
        if (text.substr(at).starts_with("---")) {
            at += 3;
            continue;
        }
        if (values.size() == most_values) {
            return fail(Errc::invalid, "expected at most " + std::to_string(most_values) +
                                           " values one behind the other, found more");
        }
        const auto end = value_end(text, at);
        values.push_back(text.substr(at, end - at));
        at = end;
    }
    return values;
}

}  // namespace scout::cluster
