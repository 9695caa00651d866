// SPDX-License-Identifier: Apache-2.0
#include "cluster/move_object.h"

#include <algorithm>
#include <stdexcept>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "cluster/manifests.h"
#include "cluster/target_term.h"
#include "cluster/term_json.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::NodeRequirement;

Result<std::string> hostname_of(const std::string& name, const std::vector<kube::Node>& nodes) {
    const auto node = std::find_if(nodes.begin(), nodes.end(), [&name](const kube::Node& each) {
        return each.meta.name == name;
    });
    const auto label = std::string{migration::hostname_label};
    std::string hostname{node == nodes.end()
                             ? std::string_view{}
                             : node->labels.find(label).value_or(std::string_view{})};
    if (hostname.empty()) {
        return fail(Errc::invalid, "node " + name + " has no label " + label +
                                       ", by which alone KubeVirt can be told to go there");
    }
    const auto twin = std::find_if(
        nodes.begin(), nodes.end(), [&name, &label, &hostname](const kube::Node& each) {
            return each.meta.name != name && each.labels.find(label) == hostname;
        });
    if (twin != nodes.end()) {
        return fail(Errc::invalid, "nodes " + name + " and " + twin->meta.name +
                                       " have the same label " + label +
                                       ": KubeVirt cannot be told to go to one of them");
    }
    return hostname;
}

/// A null is taken for a map that is not there.
json::object& member_object(json::object& object, std::string_view name) {
    auto& member = object[name];
    return member.is_object() ? member.as_object() : member.emplace_object();
}

Status take(const NodeRequirement& asked, std::string value, migration::Labels& out) {
    const auto [at, is_new] = out.emplace(asked.key, value);
    if (is_new || at->second == value) {
        return {};
    }
    return fail(Errc::invalid, "no node has two values of the label " + asked.key);
}

}  // namespace

Result<migration::Labels> as_added_selector(const migration::MoveWish& wish,
                                            const std::vector<kube::Node>& nodes) {
    auto labels = wish.added;
    if (!wish.term) {
        return labels;
    }
    for (const auto* list : {&wish.term->expressions, &wish.term->fields}) {
        const bool of_fields = list == &wish.term->fields;
        for (auto asked : *list) {
            if (asked.op != "In" || asked.values.size() != 1) {
                return fail(Errc::invalid,
                            "KubeVirt takes labels and their values alone (key=value), and not '" +
                                to_text(migration::NodeSelectorTerm{{asked}, {}}) +
                                "': choose a node or a label that has that meaning");
            }
            auto value = Result<std::string>{asked.values.front()};
            if (of_fields) {
                value = hostname_of(asked.values.front(), nodes);
                asked.key = migration::hostname_label;
            }
            if (!value) {
                return fail(std::move(value.error()));
            }
            if (auto taken = take(asked, std::move(*value), labels); !taken) {
                return fail(std::move(taken.error()));
            }
        }
    }
    return labels;
}

std::string move_object(const migration::MoveRequest& request) {
    json::object metadata{{"generateName", "scoutctl-"}, {"namespace", request.space}};
    json::object spec{{"vmiName", request.vmi}};
    if (!request.wish.added.empty()) {
        auto& added = spec["addedNodeSelector"].emplace_object();
        for (const auto& [key, value] : request.wish.added) {
            added[key] = value;
        }
    }
    if (request.wish.term) {
        metadata["annotations"] = {{term_annotation, json::serialize(json_of(*request.wish.term))}};
    }
    return json::serialize(json::object{{"apiVersion", "kubevirt.io/v1"},
                                        {"kind", "VirtualMachineInstanceMigration"},
                                        {"metadata", std::move(metadata)},
                                        {"spec", std::move(spec)}});
}

std::string move_object(std::string_view manifest) {
    auto document = read_manifests(manifest).documents.front().second;
    auto& object = document.as_object();
    auto* spec = object["spec"].if_object();
    auto* term = spec == nullptr ? nullptr : spec->if_contains("addedNodeSelectorTerm");
    if (term != nullptr) {
        member_object(member_object(object, "metadata"), "annotations")[term_annotation] =
            json::serialize(*term);
        spec->erase("addedNodeSelectorTerm");
    }
    return json::serialize(document);
}

std::string with_sentinel(std::string_view object) {
    auto document = json::parse(object).as_object();
    const auto move = read_carried_move(object);
    const auto term = move ? move->request.wish.term : std::nullopt;
    if (!term) {
        throw std::logic_error("expected a migration that carries a term");
    }
    auto& added = member_object(member_object(document, "spec"), "addedNodeSelector");
    added[migration::sentinel_key] = sentinel_of(*term);
    return json::serialize(document);
}

}  // namespace scout::cluster
