// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "base/number.h"

namespace scout::cluster::test {

/// A node as the scheduler's NodeAffinity plugin sees it.
struct PlacedNode {
    std::string name;
    std::map<std::string, std::string, std::less<>> labels;
};

/// As Kubernetes' labels.Requirement reads the values of Gt and Lt.
inline std::optional<std::int64_t> label_integer(std::string_view text) {
    const bool negative = text.starts_with('-');
    const auto number = whole_number(text.substr(negative ? 1 : 0));
    if (!number || *number > INT64_MAX) {
        return std::nullopt;
    }
    const auto size = static_cast<std::int64_t>(*number);
    return negative ? -size : size;
}

/// A value that one of matchExpressions or matchFields is asked about; none: the key is absent.
inline bool expression_allows(const boost::json::value& expression,
                              const std::optional<std::string>& value) {
    const std::string op{expression.at("operator").as_string()};
    if (op == "Exists" || op == "DoesNotExist") {
        return value.has_value() == (op == "Exists");
    }
    const auto& values = expression.at("values").as_array();
    if (op == "Gt" || op == "Lt") {
        // What is no number is neither above nor below.
        const auto limit = label_integer(values.at(0).as_string());
        const auto found = label_integer(value.value_or(""));
        if (!limit.has_value() || !found.has_value()) {
            return false;
        }
        return op == "Gt" ? found.value() > limit.value() : found.value() < limit.value();
    }
    const bool listed = value && std::any_of(values.begin(), values.end(), [&](const auto& each) {
                            return each.as_string() == *value;
                        });
    return listed == (op == "In");
}

inline const boost::json::array* listed(const boost::json::value& of, std::string_view key) {
    const auto* object = of.if_object();
    const auto* found = object == nullptr ? nullptr : object->if_contains(key);
    return found == nullptr ? nullptr : found->if_array();
}

inline bool term_allows(const boost::json::value& term, const PlacedNode& node) {
    const auto* expressions = listed(term, "matchExpressions");
    const auto* fields = listed(term, "matchFields");
    const bool empty =
        (expressions == nullptr || expressions->empty()) && (fields == nullptr || fields->empty());
    if (empty) {
        return false;
    }
    const auto label = [&node](const boost::json::value& expression) -> std::optional<std::string> {
        const auto found = node.labels.find(std::string_view{expression.at("key").as_string()});
        return found == node.labels.end() ? std::nullopt : std::optional{found->second};
    };
    const auto by_label = [&](const auto& each) { return expression_allows(each, label(each)); };
    const auto by_name = [&](const auto& each) { return expression_allows(each, node.name); };
    return (expressions == nullptr ||
            std::all_of(expressions->begin(), expressions->end(), by_label)) &&
           (fields == nullptr || std::all_of(fields->begin(), fields->end(), by_name));
}

/// What a pod's required node affinity says of a node.
inline bool affinity_allows(const boost::json::value& pod, const PlacedNode& node) {
    boost::system::error_code error;
    const auto* selector = pod.find_pointer(
        "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution", error);
    if (selector == nullptr || selector->is_null()) {
        return true;
    }
    const auto* terms = listed(*selector, "nodeSelectorTerms");
    return terms != nullptr && std::any_of(terms->begin(), terms->end(), [&](const auto& term) {
               return term_allows(term, node);
           });
}

}  // namespace scout::cluster::test
