// SPDX-License-Identifier: Apache-2.0
#include "cli/object_stream.h"

#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "cli/json_text.h"

namespace scout::cli {
namespace {

namespace json = boost::json;

/// Strings with line ends are quoted with escapes, so that every line is one of the structure.
void add_indented(TextSink& sink, std::string_view lines) {
    while (!lines.empty()) {
        const auto line = lines.substr(0, lines.find('\n') + 1);
        sink.add("  ");
        sink.add(line);
        lines.remove_prefix(line.size());
    }
}

}  // namespace

ObjectStream::ObjectStream(Format format, TextSink& sink)
    : yaml_(format == Format::yaml), sink_(sink) {}

void ObjectStream::member(std::string_view key, const json::value& value) {
    if (yaml_) {
        json::object alone;
        alone[key] = value;
        sink_.add(to_yaml_text(alone));
        return;
    }
    begin_member(key);
    sink_.add(" ");
    sink_.add(to_nested_json_text(value, 1));
}

void ObjectStream::begin_list(std::string_view key) {
    any_item_ = false;
    begin_member(key);
    sink_.add(yaml_ ? "" : " [");
}

void ObjectStream::item(const json::value& object) {
    if (yaml_) {
        sink_.add(any_item_ ? "" : "\n");
        add_indented(sink_, to_yaml_text(json::array{object}));
    } else {
        sink_.add(any_item_ ? ",\n    " : "\n    ");
        sink_.add(to_nested_json_text(object, 2));
    }
    any_item_ = true;
}

void ObjectStream::end_list() {
    if (yaml_) {
        sink_.add(any_item_ ? "" : " []\n");
    } else {
        sink_.add(any_item_ ? "\n  ]" : "]");
    }
}

void ObjectStream::end() {
    sink_.add(yaml_ ? "" : "\n}\n");
}

void ObjectStream::begin_member(std::string_view key) {
    if (!yaml_) {
        sink_.add(any_member_ ? ",\n  " : "{\n  ");
    }
    sink_.add(yaml_ ? std::string(key) : to_json_line(json::string(key)));
    sink_.add(":");
    any_member_ = true;
}

}  // namespace scout::cli
