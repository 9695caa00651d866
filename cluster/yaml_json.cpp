// SPDX-License-Identifier: Apache-2.0
#include "cluster/yaml_json.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <istream>
#include <iterator>
#include <optional>
#include <streambuf>
#include <system_error>
#include <utility>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

namespace scout::cluster {
namespace {

constexpr std::string_view plain_tag = "?";
constexpr std::size_t most_documents = 1'000'000;

bool is_null(std::string_view text) {
    return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

bool is_bool(std::string_view text) {
    return text == "true" || text == "false";
}

/// "true", "false", or empty: of YAML 1.1's words for them in any of three spellings.
std::string_view written_bool(std::string_view text) {
    constexpr std::array<std::string_view, 4> yes{"y", "yes", "true", "on"};
    constexpr std::array<std::string_view, 4> no{"n", "no", "false", "off"};
    std::string lower{text};
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string_view rest = text.substr(std::min<std::size_t>(1, text.size()));
    const bool spelled = text == lower || rest == std::string_view{lower}.substr(1) ||
                         std::none_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::islower(c) != 0; });
    if (text.empty() || !spelled) {
        return {};
    }
    if (std::find(yes.begin(), yes.end(), lower) != yes.end()) {
        return "true";
    }
    return std::find(no.begin(), no.end(), lower) != no.end() ? "false" : "";
}

/// All of the text, or none.
template <class Number, class... How>
std::optional<Number> number_of(std::string_view text, How... how) {
    Number value{};
    const auto* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value, how...);
    return error == std::errc{} && end == last ? std::optional{value} : std::nullopt;
}

/// As Go reads a literal of no certain base.
std::optional<std::int64_t> whole_of(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, int>, 4> bases{
        {{"0x", 16}, {"0b", 2}, {"0o", 8}, {"0", 8}}};
    for (const auto& [prefix, base] : bases) {
        if (text.size() > prefix.size() && text.starts_with(prefix)) {
            return number_of<std::int64_t>(text.substr(prefix.size()), base);
        }
    }
    return number_of<std::int64_t>(text, 10);
}

/// Numbers that JSON has no words for, as JSON; empty: it is none. Hexadecimal, octal and binary
/// ones, underscores between digits, a sign, a point at either end.
std::string written_number(std::string_view text) {
    const bool minus = text.starts_with('-');
    if (minus || text.starts_with('+')) {
        text.remove_prefix(1);
    }
    std::string digits;
    std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
                 [](char c) { return c != '_'; });
    if (digits.empty() || (text.front() != '.' && (text.front() < '0' || text.front() > '9'))) {
        return {};
    }
    const auto signed_text = [minus](std::string number) {
        return (minus ? "-" : "") + std::move(number);
    };
    if (const auto whole = whole_of(digits)) {
        return signed_text(std::to_string(*whole));
    }
    if (digits.find_first_not_of("0123456789+-.eE") != std::string::npos) {
        return {};
    }
    const auto part = number_of<double>(digits);
    return part && std::isfinite(*part)
               ? signed_text(boost::json::serialize(boost::json::value(*part)))
               : std::string{};
}

std::string_view take_digits(std::string_view& text) {
    const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto digits = text.substr(0, end);
    text.remove_prefix(end);
    return digits;
}

/// By JSON's own grammar: what YAML has beyond it (0x1F, 0777, .5, 1_000) no server prints.
bool is_number(std::string_view text) {
    if (text.starts_with('-')) {
        text.remove_prefix(1);
    }
    const auto whole = take_digits(text);
    if (whole.empty() || (whole.size() > 1 && whole.front() == '0')) {
        return false;
    }
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        if (take_digits(text).empty()) {
            return false;
        }
    }
    if (text.starts_with('e') || text.starts_with('E')) {
        text.remove_prefix(1);
        if (text.starts_with('-') || text.starts_with('+')) {
            text.remove_prefix(1);
        }
        if (take_digits(text).empty()) {
            return false;
        }
    }
    return text.empty();
}

/// A text as a stream, without a copy of it.
class TextBuffer final : public std::streambuf {
public:
    explicit TextBuffer(std::string_view text) {
        // The get area is only read.
        auto* begin = const_cast<char*>(text.data());
        setg(begin, begin, begin + text.size());
    }
};

/// Writes JSON while the parser goes through the document.
class Writer final : public YAML::EventHandler {
public:
    explicit Writer(YamlAuthor author) : author_(author) {}

    [[nodiscard]] std::vector<YamlDocument> take() { return std::move(documents_); }

    void OnDocumentStart(const YAML::Mark& mark) override {
        // Where the parser takes nothing it would begin the same document for ever.
        if (std::exchange(begun_at_, mark.pos) == mark.pos) {
            throw YAML::ParserException(mark, "expected YAML, found what is none");
        }
        if (documents_.size() >= most_documents) {
            throw YAML::ParserException(
                mark, "expected at most " + std::to_string(most_documents) + " documents");
        }
        documents_.push_back({.line = line_of(mark), .json = {}});
        empty_ = true;
    }
    void OnDocumentEnd() override {
        if (empty_) {
            documents_.pop_back();
        }
    }
    void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {
        if (!levels_.empty()) {
            scalar("null", false);
        }
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
        throw YAML::ParserException(mark, "aliases are not taken: write out what they stand for");
    }
    void OnScalar(const YAML::Mark& /*mark*/, const std::string& tag, YAML::anchor_t /*anchor*/,
                  const std::string& value) override {
        if (tag != plain_tag) {
            scalar(value, true);
        } else if (is_null(value)) {
            scalar("null", false);
        } else if (is_bool(value) || is_number(value)) {
            scalar(value, false);
        } else {
            const auto other = author_ == YamlAuthor::person ? written_word(value) : std::string{};
            scalar(other.empty() ? value : other, other.empty());
        }
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/,
                         YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {
        open(mark, Level::Kind::sequence, '[');
    }
    void OnSequenceEnd() override { close(']'); }
    void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                    YAML::EmitterStyle::value /*style*/) override {
        open(mark, Level::Kind::map, '{');
    }
    void OnMapEnd() override { close('}'); }

private:
    struct Level {
        enum class Kind : std::uint8_t { sequence, map };
        Kind kind = Kind::sequence;
        std::size_t nodes = 0;  ///< keys count as well

        [[nodiscard]] bool wants_key() const { return kind == Kind::map && nodes % 2 == 0; }
    };

    static std::string written_word(const std::string& value) {
        const auto word = written_bool(value);
        return word.empty() ? written_number(value) : std::string{word};
    }

    static std::size_t line_of(const YAML::Mark& mark) {
        return static_cast<std::size_t>(std::max(mark.line, 0)) + 1;
    }

    std::string& out() { return documents_.back().json; }

    /// What stands between the node before and the next one.
    void separate() {
        empty_ = false;
        if (levels_.empty()) {
            return;
        }
        auto& level = levels_.back();
        if (level.kind == Level::Kind::map && level.nodes % 2 == 1) {
            out() += ':';
        } else if (level.nodes > 0) {
            out() += ',';
        }
        ++level.nodes;
    }

    void scalar(const std::string& text, bool quoted) {
        const bool key = !levels_.empty() && levels_.back().wants_key();
        separate();
        out() += quoted || key ? boost::json::serialize(boost::json::string(text)) : text;
    }

    void open(const YAML::Mark& mark, Level::Kind kind, char bracket) {
        if (!levels_.empty() && levels_.back().wants_key()) {
            throw YAML::ParserException(mark, "expected a text as key, found a list or a map");
        }
        separate();
        out() += bracket;
        levels_.push_back({.kind = kind, .nodes = 0});
    }

    void close(char bracket) {
        levels_.pop_back();
        out() += bracket;
    }

    YamlAuthor author_;
    std::vector<YamlDocument> documents_;
    std::vector<Level> levels_;
    bool empty_ = true;
    std::optional<int> begun_at_;
};

/// The number of a line that is longer than any of an object that a cluster can hold; 0: none is.
/// Of one line the parser keeps 230 bytes for each bracket, and all of them at once.
std::size_t overlong_line(std::string_view text) {
    constexpr std::size_t longest = std::size_t{2} << 20U;
    for (std::size_t line = 1; text.size() > longest; ++line) {
        const auto end = text.find('\n');
        if (std::min(end, text.size()) > longest) {
            return line;
        }
        text.remove_prefix(end + 1);
    }
    return 0;
}

}  // namespace

Result<std::vector<YamlDocument>> yaml_to_json(std::string_view text, YamlAuthor author) {
    if (const auto line = overlong_line(text); line != 0) {
        return fail(Errc::invalid, "line " + std::to_string(line) +
                                       ": expected at most 2 MiB in a line, found more");
    }
    Writer writer(author);
    try {
        TextBuffer buffer(text);
        std::istream stream(&buffer);
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(writer)) {
        }
    } catch (const YAML::Exception& error) {
        return fail(Errc::invalid,
                    "line " + std::to_string(std::max(error.mark.line, 0) + 1) + ": " + error.msg);
    }
    return writer.take();
}

}  // namespace scout::cluster
