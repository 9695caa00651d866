// SPDX-License-Identifier: Apache-2.0
#include "cluster/target_term.h"

#include <cstddef>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>

#include "base/digest.h"
#include "cluster/affinity_patch.h"
#include "cluster/term_json.h"
#include "kube/json_lookup.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using kube::object_at;
using kube::text_at;
using migration::NodeRequirement;

static_assert(migration::sentinel_key == kube::target_term_key);

constexpr std::size_t sentinel_digits = 40;  // of 63 that a label's value may have
constexpr const char* added_path = "/spec/addedNodeSelector";
/// By RFC 6901.
constexpr const char* sentinel_step = "/virt-scout.io~1target-term";

Result<json::object> parse_object(std::string_view text) {
    boost::system::error_code error;
    auto document = json::parse(text, error);
    if (error || !document.is_object()) {
        return fail(Errc::invalid, "expected a JSON object, found " +
                                       (error ? error.message() : std::string{"another value"}));
    }
    return std::move(document.as_object());
}

migration::Labels texts_of(const json::object* object) {
    migration::Labels out;
    if (object != nullptr) {
        for (const auto& each : *object) {
            out.insert_or_assign(std::string{each.key()}, kube::text_in(each.value()));
        }
    }
    return out;
}

TermCarriers carriers_of(const json::object* metadata, const json::object* spec) {
    TermCarriers carriers;
    if (spec != nullptr) {
        const auto* field = spec->if_contains("addedNodeSelectorTerm");
        carriers.field = field == nullptr || field->is_null() ? nullptr : field;
    }
    const auto* annotations = object_at(metadata, "annotations");
    const auto* given =
        annotations == nullptr ? nullptr : annotations->if_contains(term_annotation);
    if (given != nullptr && given->is_string()) {
        carriers.annotation = kube::text_in(*given);
    }
    return carriers;
}

CarriedMove carried_move(const json::object& object) {
    const auto* metadata = object_at(&object, "metadata");
    const auto* spec = object_at(&object, "spec");
    CarriedMove move;
    auto& request = move.request;
    if (metadata != nullptr) {
        move.uid = text_at(*metadata, "uid");
        request.space = text_at(*metadata, "namespace");
        request.name = text_at(*metadata, "name");
    }
    if (spec != nullptr) {
        request.vmi = text_at(*spec, "vmiName");
    }
    request.wish.added = texts_of(object_at(spec, "addedNodeSelector"));
    migration::MoveReasons faults;
    auto carried = read_carriers(carriers_of(metadata, spec), faults);
    request.wish.term = std::move(carried.term);
    request.term_path = carried.path;
    request.faults = std::move(faults).take();
    return move;
}

/// Nodes have a hundred labels, of which a wish names a few.
migration::Labels named_labels(const migration::MoveWish& wish, const kube::Node& node) {
    migration::Labels labels;
    const auto take = [&labels, &node](const std::string& key) {
        if (const auto value = node.labels.find(key)) {
            labels.insert_or_assign(key, std::string{*value});
        }
    };
    for (const auto& [key, value] : wish.added) {
        take(key);
    }
    if (wish.term) {
        for (const auto& asked : wish.term->expressions) {
            take(asked.key);
        }
    }
    return labels;
}

json::array canonical(const std::vector<NodeRequirement>& requirements) {
    json::array out;
    for (const auto& each : requirements) {
        out.push_back(json::array{each.key, each.op, json::value_from(each.values)});
    }
    return out;
}

}  // namespace

std::string CarriedMove::sentinel() const {
    const auto& added = request.wish.added;
    const auto found = added.find(migration::sentinel_key);
    return found == added.end() ? std::string{} : found->second;
}

Result<CarriedMove> read_carried_move(std::string_view object) {
    return parse_object(object).map(&carried_move);
}

std::string sentinel_of(const migration::NodeSelectorTerm& term) {
    const json::array whole{canonical(term.expressions), canonical(term.fields)};
    return sha256_hex(json::serialize(whole)).substr(0, sentinel_digits);
}

SentinelPlan plan_sentinel(const CarriedMove& move) {
    SentinelPlan plan{.faults = migration::request_faults(move.request), .patch = {}};
    const auto& wish = move.request.wish;
    if (!plan.faults.empty() || !wish.term) {
        return plan;
    }
    const auto value = sentinel_of(*wish.term);
    if (move.sentinel() == value) {
        return plan;
    }
    json::array patch;
    if (wish.added.empty()) {
        patch.push_back({{"op", "add"}, {"path", added_path}, {"value", json::object{}}});
    }
    patch.push_back(
        {{"op", "add"}, {"path", std::string{added_path} + sentinel_step}, {"value", value}});
    plan.patch = json::serialize(patch);
    return plan;
}

migration::MoveWish asked_of_nodes(const CarriedMove& move) {
    auto wish = move.request.wish;
    wish.added.erase(std::string{migration::sentinel_key});
    return wish;
}

std::string lacking(const CarriedMove& move, const kube::Node& node) {
    const auto wish = asked_of_nodes(move);
    return migration::lacking(wish, named_labels(wish, node), node.meta.name);
}

bool is_asked_for(const migration::MoveWish& asked, const kube::Node& node) {
    return migration::meets(asked, named_labels(asked, node), node.meta.name);
}

Result<std::string> aim_pod(const kube::NewPod& pod, const CarriedMove& move) {
    const auto& request = move.request;
    if (move.uid.empty() || pod.migration_uid != move.uid) {
        return fail(Errc::invalid, "the pod is not of migration " + request.name +
                                       " as it is now: it waits, and is given up");
    }
    if (const auto faults = migration::request_faults(request); !faults.empty()) {
        return fail(Errc::invalid, "migration " + request.name + ": " + faults.front().text);
    }
    if (!request.wish.term || sentinel_of(*request.wish.term) != pod.target_term) {
        return fail(Errc::invalid,
                    "the term of migration " + request.name +
                        " was changed after it was made: its target goes nowhere, and is given "
                        "up; make another migration");
    }
    const auto additions = affinity_patch(pod.affinity, {.required = *request.wish.term});
    if (!additions) {
        return fail(additions.error());
    }
    auto patch = additions->empty() ? json::array{} : json::parse(*additions).as_array();
    patch.push_back(
        {{"op", "remove"}, {"path", std::string{"/spec/nodeSelector"} + sentinel_step}});
    return json::serialize(patch);
}

}  // namespace scout::cluster
