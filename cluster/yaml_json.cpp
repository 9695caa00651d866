// SPDX-License-Identifier: Apache-2.0
#include "cluster/yaml_json.h"

#include <algorithm>
#include <cstdint>
#include <istream>
#include <streambuf>
#include <utility>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

namespace scout::cluster {
namespace {

constexpr std::string_view plain_tag = "?";

bool is_null(std::string_view text) {
    return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

bool is_bool(std::string_view text) {
    return text == "true" || text == "false";
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
    [[nodiscard]] std::vector<YamlDocument> take() { return std::move(documents_); }

    void OnDocumentStart(const YAML::Mark& mark) override {
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
        if (tag == plain_tag && is_null(value)) {
            scalar("null", false);
        } else {
            scalar(value, tag != plain_tag || !(is_bool(value) || is_number(value)));
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

    std::vector<YamlDocument> documents_;
    std::vector<Level> levels_;
    bool empty_ = true;
};

}  // namespace

Result<std::vector<YamlDocument>> yaml_to_json(std::string_view text) {
    Writer writer;
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
