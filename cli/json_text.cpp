// SPDX-License-Identifier: Apache-2.0
#include "cli/json_text.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

namespace scout::cli {
namespace {

namespace json = boost::json;

void append(std::string& out, const json::value& value, std::size_t level);

void start_line(std::string& out, std::size_t level) {
    out += '\n';
    out.append(level * 2, ' ');
}

void append_object(std::string& out, const json::object& object, std::size_t level) {
    if (object.empty()) {
        out += "{}";
        return;
    }
    out += '{';
    bool first = true;
    for (const auto& member : object) {
        out += first ? "" : ",";
        first = false;
        start_line(out, level + 1);
        out += json::serialize(json::string(member.key()));
        out += ": ";
        append(out, member.value(), level + 1);
    }
    start_line(out, level);
    out += '}';
}

void append_plain_array(std::string& out, const json::array& array) {
    out += '[';
    bool first = true;
    for (const auto& item : array) {
        out += first ? "" : ", ";
        first = false;
        out += json::serialize(item);
    }
    out += ']';
}

void append_array(std::string& out, const json::array& array, std::size_t level) {
    const bool plain = std::none_of(array.begin(), array.end(), [](const json::value& item) {
        return item.is_object() || item.is_array();
    });
    if (plain) {
        append_plain_array(out, array);
        return;
    }
    out += '[';
    bool first = true;
    for (const auto& item : array) {
        out += first ? "" : ",";
        first = false;
        start_line(out, level + 1);
        append(out, item, level + 1);
    }
    start_line(out, level);
    out += ']';
}

void append(std::string& out, const json::value& value, std::size_t level) {
    if (value.is_object()) {
        append_object(out, value.get_object(), level);
    } else if (value.is_array()) {
        append_array(out, value.get_array(), level);
    } else {
        out += json::serialize(value);
    }
}

}  // namespace

std::string to_json_text(const json::value& value) {
    return to_nested_json_text(value, 0) + '\n';
}

std::string to_nested_json_text(const json::value& value, std::size_t level) {
    std::string out;
    append(out, value, level);
    return out;
}

std::string to_json_line(const json::value& value) {
    return json::serialize(value);
}

}  // namespace scout::cli
