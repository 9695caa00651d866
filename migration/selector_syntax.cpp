// SPDX-License-Identifier: Apache-2.0
#include "migration/selector_syntax.h"

#include <algorithm>
#include <string>
#include <utility>

namespace scout::migration {
namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr std::string_view signs = "=!<>(),";

/// Words, and signs of one or two characters.
class Tokens {
public:
    explicit Tokens(std::string_view text) : text_(text) { advance(); }

    /// Empty at the end.
    [[nodiscard]] std::string_view now() const noexcept { return now_; }
    [[nodiscard]] bool is_word() const noexcept {
        return !now_.empty() && signs.find(now_.front()) == std::string_view::npos;
    }
    std::string_view take() {
        const auto taken = now_;
        advance();
        return taken;
    }
    [[nodiscard]] tl::unexpected<Error> expected(std::string_view what) const {
        constexpr std::size_t most = 40;
        return fail(Errc::invalid,
                    "expected " + std::string{what} + " at character " + std::to_string(at_ + 1) +
                        ", found " +
                        (now_.empty() ? "the end" : "'" + std::string{now_.substr(0, most)} + "'"));
    }

private:
    void advance() {
        at_ = std::min(text_.find_first_not_of(blanks, at_ + now_.size()), text_.size());
        const auto rest = text_.substr(at_);
        const auto word = std::min(rest.find_first_of(signs), rest.find_first_of(blanks));
        const bool two = rest.starts_with("!=") || rest.starts_with("==");
        now_ = rest.substr(0, word == 0 ? (two ? 2U : 1U) : word);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string_view now_;
};

/// "(A,B)", where a place may be empty.
Result<std::vector<std::string>> values_of(Tokens& tokens) {
    if (tokens.now() != "(") {
        return tokens.expected("'(' and values");
    }
    tokens.take();
    std::vector<std::string> values;
    for (;;) {
        values.emplace_back(tokens.is_word() ? tokens.take() : std::string_view{});
        if (tokens.now() == ")") {
            tokens.take();
            return values;
        }
        if (tokens.now() != ",") {
            return tokens.expected("',' or ')'");
        }
        tokens.take();
    }
}

/// The operator behind a key, with its values.
Result<NodeRequirement> behind(std::string key, Tokens& tokens) {
    NodeRequirement asked{.key = std::move(key), .op = "Exists", .values = {}};
    const auto sign = tokens.now();
    if (sign.empty() || sign == ",") {
        return asked;
    }
    if (sign == "in" || sign == "notin") {
        asked.op = sign == "in" ? "In" : "NotIn";
        tokens.take();
        auto values = values_of(tokens);
        if (!values) {
            return fail(std::move(values.error()));
        }
        asked.values = std::move(*values);
        return asked;
    }
    const bool equal = sign == "=" || sign == "==";
    if (!equal && sign != "!=" && sign != ">" && sign != "<") {
        return tokens.expected("=, !=, in, notin, <, > or ','");
    }
    asked.op = equal ? "In" : sign == "!=" ? "NotIn" : sign == ">" ? "Gt" : "Lt";
    tokens.take();
    asked.values.emplace_back(tokens.is_word() ? tokens.take() : std::string_view{});
    return asked;
}

Result<NodeRequirement> requirement(Tokens& tokens) {
    const bool absent = tokens.now() == "!";
    if (absent) {
        tokens.take();
    }
    if (!tokens.is_word()) {
        return tokens.expected("a label's name");
    }
    std::string key{tokens.take()};
    if (absent) {
        return NodeRequirement{.key = std::move(key), .op = "DoesNotExist", .values = {}};
    }
    return behind(std::move(key), tokens);
}

}  // namespace

Result<NodeSelectorTerm> parse_selector(std::string_view text) {
    if (text.size() > selector_limit) {
        return fail(Errc::invalid, "expected at most " + std::to_string(selector_limit) +
                                       " bytes, found " + std::to_string(text.size()));
    }
    Tokens tokens(text);
    NodeSelectorTerm term;
    for (;;) {
        auto asked = requirement(tokens);
        if (!asked) {
            return fail(std::move(asked.error()));
        }
        term.expressions.push_back(std::move(*asked));
        if (tokens.now().empty()) {
            return term;
        }
        if (tokens.now() != ",") {
            return tokens.expected("','");
        }
        tokens.take();
    }
}

}  // namespace scout::migration
