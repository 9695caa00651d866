// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace scout::cluster::test {

/// A step of a JSON pointer as the key that it means (RFC 6901).
inline std::string unescaped(std::string_view step) {
    std::string key;
    for (std::size_t i = 0; i < step.size(); ++i) {
        const bool escaped = step[i] == '~' && i + 1 < step.size();
        key += !escaped ? step[i] : step[i + 1] == '1' ? '/' : '~';
        i += escaped ? 1 : 0;
    }
    return key;
}

/// The document with a JSON Patch applied; of RFC 6902 only `add`, `replace` and `remove`, as an
/// API server does them. Throws std::runtime_error where the server would refuse the patch. No
/// patch: the document.
inline boost::json::value patched(boost::json::value document, std::string_view patch) {
    if (patch.empty()) {
        return document;
    }
    const auto operations = boost::json::parse(patch);
    for (const auto& operation : operations.as_array()) {
        const std::string_view path{operation.at("path").as_string()};
        const std::string_view op{operation.at("op").as_string()};
        boost::system::error_code error;
        auto* there = document.find_pointer(path, error);
        if (op != "add" && there == nullptr) {
            throw std::runtime_error("nothing at " + std::string{path});
        }
        if (op == "replace") {
            *there = operation.at("value");
            continue;
        }
        const auto slash = path.rfind('/');
        auto* parent = document.find_pointer(path.substr(0, slash), error);
        if (parent == nullptr) {
            throw std::runtime_error("nothing at " + std::string{path.substr(0, slash)});
        }
        const auto last = unescaped(path.substr(slash + 1));
        if (op == "remove" && parent->is_object()) {
            parent->get_object().erase(last);
        } else if (op == "add" && parent->is_object()) {
            parent->get_object().insert_or_assign(last, operation.at("value"));
        } else if (op == "add" && parent->is_array() && last == "-") {
            parent->get_array().push_back(operation.at("value"));
        } else {
            throw std::runtime_error("cannot " + std::string{op} + " at " + std::string{path});
        }
    }
    return document;
}

}  // namespace scout::cluster::test
