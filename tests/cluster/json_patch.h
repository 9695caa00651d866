// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace scout::cluster::test {

/// The document with a JSON Patch applied; of RFC 6902 only `add` and, of what is there, `replace`,
/// as an API server does it. Throws
/// std::runtime_error where the server would refuse the patch. No patch: the document.
inline boost::json::value patched(boost::json::value document, std::string_view patch) {
    if (patch.empty()) {
        return document;
    }
    const auto operations = boost::json::parse(patch);
    for (const auto& operation : operations.as_array()) {
        const std::string_view path{operation.at("path").as_string()};
        boost::system::error_code error;
        if (operation.at("op").as_string() == "replace") {
            auto* there = document.find_pointer(path, error);
            if (there == nullptr) {
                throw std::runtime_error("nothing at " + std::string{path});
            }
            *there = operation.at("value");
            continue;
        }
        if (operation.at("op").as_string() != "add") {
            throw std::runtime_error("only 'add' and 'replace' are known here");
        }
        const auto slash = path.rfind('/');
        auto* parent = document.find_pointer(path.substr(0, slash), error);
        if (parent == nullptr) {
            throw std::runtime_error("nothing at " + std::string{path.substr(0, slash)});
        }
        const auto last = path.substr(slash + 1);
        if (parent->is_object()) {
            parent->get_object().insert_or_assign(last, operation.at("value"));
        } else if (parent->is_array() && last == "-") {
            parent->get_array().push_back(operation.at("value"));
        } else {
            throw std::runtime_error("nothing can be added at " + std::string{path});
        }
    }
    return document;
}

}  // namespace scout::cluster::test
