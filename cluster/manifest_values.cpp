// SPDX-License-Identifier: Apache-2.0
#include "cluster/manifest_values.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace scout::cluster {

namespace json = boost::json;

std::string shown(const json::value& value) {
    auto text = json::serialize(value);
    return text.size() <= manifest_shown_bytes ? text : text.substr(0, manifest_shown_bytes) + "…";
}

std::string found(const json::value& value) {
    switch (value.kind()) {
        case json::kind::object:
            return "a map";
        case json::kind::array:
            return "a list";
        case json::kind::null:
            return "nothing";
        default:
            return shown(value);
    }
}

std::string text_fault(const json::value& value, const std::string& path) {
    const bool scalar = value.is_bool() || value.is_number();
    return path + ": expected a text, found " + found(value) +
           (scalar ? ": write it in quotes" : "");
}

const json::value* member(const json::value& value, std::string_view name) {
    const auto* object = value.if_object();
    return object == nullptr ? nullptr : object->if_contains(name);
}

std::string text_of(const json::value* value) {
    return value != nullptr && value->is_string() ? std::string{value->get_string()}
                                                  : std::string{};
}

}  // namespace scout::cluster
