// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

// Members of small answers by name. What is absent, and what is of another type, reads as nothing.

namespace scout::kube {

[[nodiscard]] inline const boost::json::object* object_at(const boost::json::object* object,
                                                          std::string_view key) {
    const auto* value = object == nullptr ? nullptr : object->if_contains(key);
    return value == nullptr ? nullptr : value->if_object();
}

[[nodiscard]] inline const boost::json::array* array_at(const boost::json::object* object,
                                                        std::string_view key) {
    const auto* value = object == nullptr ? nullptr : object->if_contains(key);
    return value == nullptr ? nullptr : value->if_array();
}

[[nodiscard]] inline std::string text_in(const boost::json::value& value) {
    const auto* text = value.if_string();
    return text == nullptr ? std::string{} : std::string{text->data(), text->size()};
}

[[nodiscard]] inline std::string text_at(const boost::json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value == nullptr ? std::string{} : text_in(*value);
}

[[nodiscard]] inline bool flag_at(const boost::json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_bool() && value->get_bool();
}

}  // namespace scout::kube
