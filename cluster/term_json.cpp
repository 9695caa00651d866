// SPDX-License-Identifier: Apache-2.0
#include "cluster/term_json.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/value_from.hpp>

#include "cluster/manifest_values.h"
#include "cluster/manifests.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::MoveReasons;
using migration::NodeRequirement;
using migration::NodeSelectorTerm;

constexpr std::string_view field_path = "spec.addedNodeSelectorTerm";
constexpr std::string_view annotation_path =
    "metadata.annotations[virt-scout.io/added-node-selector-term]";

/// Reads one term. Null stands for absent, as the API server has it.
class TermReader {
public:
    explicit TermReader(MoveReasons& faults) : faults_(faults) {}

    [[nodiscard]] bool fine() const noexcept { return fine_; }

    NodeSelectorTerm term(const json::object& object, const std::string& path) {
        NodeSelectorTerm out;
        for (const auto& each : object) {
            const auto at = path + "." + std::string{each.key()};
            if (each.key() == "matchExpressions") {
                out.expressions = requirements(each.value(), at);
            } else if (each.key() == "matchFields") {
                out.fields = requirements(each.value(), at);
            } else {
                refuse("unknown-field", at + ": unknown field, expected matchExpressions or "
                                             "matchFields");
            }
        }
        return out;
    }
    void refuse(std::string_view code, std::string text) {
        fine_ = false;
        faults_.add(code, std::move(text));
    }

private:
    std::vector<NodeRequirement> requirements(const json::value& value, const std::string& path) {
        std::vector<NodeRequirement> out;
        for (const auto& each : list(value, path, "a list of requirements")) {
            if (is_full(path)) {
                break;
            }
            const auto at = path + "[" + std::to_string(out.size()) + "]";
            if (const auto* object = each.if_object()) {
                out.push_back(requirement(*object, at));
            } else {
                refuse("type", at + ": expected a map, found " + found(each));
                out.emplace_back();
            }
        }
        return out;
    }
    NodeRequirement requirement(const json::object& object, const std::string& path) {
        NodeRequirement out;
        for (const auto& each : object) {
            const auto at = path + "." + std::string{each.key()};
            if (each.key() == "key") {
                out.key = text(each.value(), at);
            } else if (each.key() == "operator") {
                out.op = text(each.value(), at);
            } else if (each.key() == "values") {
                for (const auto& item : list(each.value(), at, "a list of texts")) {
                    if (is_full(at)) {
                        break;
                    }
                    out.values.push_back(
                        text(item, at + "[" + std::to_string(out.values.size()) + "]"));
                }
            } else {
                refuse("unknown-field", at + ": unknown field, expected key, operator or values");
            }
        }
        return out;
    }
    /// No more is kept than may be in a term.
    bool is_full(const std::string& path) {
        if (items_ < migration::most_term_items) {
            ++items_;
            return false;
        }
        refuse("too-large", path + ": expected at most " +
                                std::to_string(migration::most_term_items) +
                                " requirements and values in all, found more");
        return true;
    }
    std::string text(const json::value& value, const std::string& path) {
        if (value.is_string()) {
            return std::string{value.get_string()};
        }
        refuse("type", text_fault(value, path));
        return {};
    }
    const json::array& list(const json::value& value, const std::string& path, const char* what) {
        static const json::array none;
        if (const auto* array = value.if_array()) {
            return *array;
        }
        if (!value.is_null()) {
            refuse("type", path + ": expected " + what + ", found " + found(value));
        }
        return none;
    }

    MoveReasons& faults_;
    bool fine_ = true;
    std::size_t items_ = 0;
};

}  // namespace

std::optional<NodeSelectorTerm> read_term(const json::value& value, std::string_view path,
                                          MoveReasons& faults) {
    TermReader reader(faults);
    std::string at{path};
    const auto* one = &value;
    if (const auto* list = value.if_array(); list != nullptr && !list->empty()) {
        if (list->size() > 1) {
            reader.refuse("term-count",
                          at + ": expected one term, or a list of one, found " +
                              std::to_string(list->size()) +
                              ": what they would mean together, one or all, nobody could tell");
            return std::nullopt;
        }
        one = &list->front();
        at += "[0]";
    }
    if (one->is_null() || one->is_array()) {
        reader.refuse("term-empty", at + ": expected a term, found none: that does not stand for "
                                         "any node; leave it out if any will do");
        return std::nullopt;
    }
    if (!one->is_object()) {
        reader.refuse("type", at + ": expected a term, a map, found " + found(*one));
        return std::nullopt;
    }
    auto term = reader.term(one->get_object(), at);
    return reader.fine() ? std::optional{std::move(term)} : std::nullopt;
}

std::optional<NodeSelectorTerm> read_term_text(std::string_view text, std::string_view path,
                                               MoveReasons& faults) {
    const std::string at{path};
    if (text.size() > migration::most_term_bytes) {
        faults.add("too-large", at + ": expected at most " +
                                    std::to_string(migration::most_term_bytes) + " bytes, found " +
                                    std::to_string(text.size()));
        return std::nullopt;
    }
    auto manifests = read_manifests(text);
    if (!manifests.faults.empty()) {
        // YAML in flow style begins as JSON does.
        manifests = read_manifests("---\n" + std::string{text});
    }
    if (!manifests.faults.empty()) {
        faults.add("type", at + ": expected a term in YAML or JSON, found what cannot be read: " +
                               manifests.faults.front().second);
        return std::nullopt;
    }
    if (manifests.documents.empty()) {
        return read_term(nullptr, path, faults);
    }
    if (manifests.documents.size() > 1) {
        faults.add("term-count", at + ": expected one term, found " +
                                     std::to_string(manifests.documents.size()) + " documents");
        return std::nullopt;
    }
    return read_term(manifests.documents.front().second, path, faults);
}

json::array json_of(const std::vector<NodeRequirement>& requirements) {
    json::array out;
    for (const auto& each : requirements) {
        json::object requirement{{"key", each.key}, {"operator", each.op}};
        if (!each.values.empty()) {
            requirement["values"] = json::value_from(each.values);
        }
        out.push_back(std::move(requirement));
    }
    return out;
}

json::object json_of(const NodeSelectorTerm& term) {
    json::object out;
    if (!term.expressions.empty()) {
        out["matchExpressions"] = json_of(term.expressions);
    }
    if (!term.fields.empty()) {
        out["matchFields"] = json_of(term.fields);
    }
    return out;
}

CarriedTerm read_carriers(const TermCarriers& carriers, MoveReasons& faults) {
    std::optional<NodeSelectorTerm> in_field;
    std::optional<NodeSelectorTerm> in_annotation;
    if (carriers.field != nullptr) {
        in_field = read_term(*carriers.field, field_path, faults);
    }
    if (carriers.annotation) {
        in_annotation = read_term_text(*carriers.annotation, annotation_path, faults);
    }
    if (in_field && in_annotation && *in_field != *in_annotation) {
        faults.add("term-differs", std::string{field_path} + " and " +
                                       std::string{annotation_path} +
                                       " differ: expected one of them, or the same in both");
    }
    return in_field ? CarriedTerm{.term = std::move(in_field), .path = field_path}
                    : CarriedTerm{.term = std::move(in_annotation), .path = annotation_path};
}

}  // namespace scout::cluster
