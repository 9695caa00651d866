// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "cli/json_text.h"

namespace scout::cli {
namespace {

namespace json = boost::json;

/// Words that YAML 1.1 readers take for booleans and null.
bool is_reserved(std::string_view text) {
    constexpr std::array<std::string_view, 9> words{"true", "false", "yes", "no", "on",
                                                    "off",  "null",  "y",   "n"};
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return std::find(words.begin(), words.end(), lower) != words.end();
}

/// Nothing but a string in any YAML reader: a letter first, then names' characters.
bool is_plain(std::string_view text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    constexpr std::string_view others = "0123456789._-/";
    return !text.empty() && letters.find(text.front()) != std::string_view::npos &&
           std::all_of(text.begin(), text.end(),
                       [letters, others](char c) {
                           return letters.find(c) != std::string_view::npos ||
                                  others.find(c) != std::string_view::npos;
                       }) &&
           !is_reserved(text);
}

void emit_string(YAML::Emitter& out, std::string_view text) {
    if (!is_plain(text)) {
        out << YAML::DoubleQuoted;
    }
    out << std::string(text);
}

void emit_number(YAML::Emitter& out, const json::value& value) {
    if (const auto* number = value.if_int64()) {
        out << *number;
    } else if (const auto* large = value.if_uint64()) {
        out << *large;
    } else {
        out << value.as_double();
    }
}

void emit(YAML::Emitter& out, const json::value& value) {
    if (const auto* object = value.if_object()) {
        out << YAML::BeginMap;
        for (const auto& member : *object) {
            out << YAML::Key;
            emit_string(out, {member.key().data(), member.key().size()});
            out << YAML::Value;
            emit(out, member.value());
        }
        out << YAML::EndMap;
        return;
    }
    if (const auto* array = value.if_array()) {
        // An empty block sequence would be a line of its own.
        if (array->empty()) {
            out << YAML::Flow;
        }
        out << YAML::BeginSeq;
        for (const auto& item : *array) {
            emit(out, item);
        }
        out << YAML::EndSeq;
        return;
    }
    if (const auto* text = value.if_string()) {
        emit_string(out, {text->data(), text->size()});
        return;
    }
    if (value.is_null()) {
        out << YAML::Null;
    } else if (const auto* truth = value.if_bool()) {
        out << *truth;
    } else {
        emit_number(out, value);
    }
}

}  // namespace

std::string to_yaml_text(const json::value& value) {
    YAML::Emitter out;
    out.SetNullFormat(YAML::LowerNull);
    emit(out, value);
    return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace scout::cli
