// SPDX-License-Identifier: Apache-2.0
#include "cluster/move_manifest.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/number.h"
#include "cluster/manifest_values.h"
#include "cluster/manifests.h"
#include "cluster/term_json.h"
#include "migration/label_syntax.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::MoveReasons;
using migration::MoveRequest;

constexpr std::string_view kind = "VirtualMachineInstanceMigration";

template <std::size_t Count>
bool is_one_of(std::string_view name, const std::array<std::string_view, Count>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// In seconds.
struct TimeOut {
    std::string_view annotation;
    std::int64_t otherwise;
};
/// Of a target pod that fits no node, and of one that is pending for whatever reason: for one that
/// fits no node both run, and the first to pass ends the migration (dossier §6.5).
constexpr TimeOut unschedulable{"kubevirt.io/migrationUnschedulablePodTimeoutSeconds", 300};
constexpr TimeOut pending{"kubevirt.io/migrationPendingPodTimeoutSeconds", 900};

/// Reads one object.
class MoveReader {
public:
    MoveRequest read(const json::object& document) {
        for (const auto& each : document) {
            constexpr std::array<std::string_view, 5> known{"apiVersion", "kind", "metadata",
                                                            "spec", "status"};
            if (!is_one_of(each.key(), known)) {
                unknown(std::string{each.key()});
            }
        }
        constexpr std::array<std::string_view, 2> versions{"kubevirt.io/v1",
                                                           "kubevirt.io/v1alpha3"};
        if (const auto version = text(document, "apiVersion", ""); !is_one_of(version, versions)) {
            faults_.add("api-version", "expected apiVersion: kubevirt.io/v1, found " +
                                           (version.empty() ? "none" : "'" + version + "'"));
        }
        if (const auto* metadata = map(document, "metadata", "")) {
            read_metadata(*metadata);
        }
        if (request_.name.empty() && !generated_) {
            faults_.add("name", "expected metadata.name or metadata.generateName, found none");
        }
        if (const auto* spec = map(document, "spec", "")) {
            read_spec(*spec);
        }
        if (request_.vmi.empty()) {
            faults_.add("vmi-name", "expected spec.vmiName, the name of a VMI, found none");
        }
        auto carried = read_carriers(carriers_, faults_);
        request_.term_path = carried.path;
        request_.wish.term = std::move(carried.term);
        request_.faults = std::move(faults_).take();
        return std::move(request_);
    }

private:
    void unknown(const std::string& path) {
        faults_.add("unknown-field", path +
                                         " is no field of a migration: kubectl refuses it, and "
                                         "for other clients the API server drops it");
    }
    /// Null if it is not there, or no map, which is a fault.
    const json::object* map(const json::object& object, std::string_view name,
                            const std::string& path) {
        const auto* value = object.if_contains(name);
        if (value == nullptr || value->is_null()) {
            return nullptr;
        }
        if (!value->is_object()) {
            faults_.add("type",
                        path + std::string{name} + ": expected a map, found " + found(*value));
        }
        return value->if_object();
    }
    std::string text(const json::value& value, const std::string& path) {
        if (value.is_string()) {
            return std::string{value.get_string()};
        }
        if (!value.is_null()) {
            faults_.add("type", text_fault(value, path));
        }
        return {};
    }
    std::string text(const json::object& object, std::string_view name, const std::string& path) {
        const auto* value = object.if_contains(name);
        return value == nullptr ? std::string{} : text(*value, path + std::string{name});
    }
    migration::Labels texts(const json::object* object, const std::string& path) {
        migration::Labels out;
        const auto below = path + ".";
        if (object != nullptr) {
            for (const auto& each : *object) {
                const std::string key{each.key()};
                out.insert_or_assign(key, text(each.value(), below + key));
            }
        }
        return out;
    }

    void read_metadata(const json::object& metadata) {
        const std::string path = "metadata.";
        request_.name = text(metadata, "name", path);
        request_.space = text(metadata, "namespace", path);
        generated_ = !text(metadata, "generateName", path).empty();
        if (!request_.name.empty() && !migration::is_dns_subdomain(request_.name)) {
            faults_.add("name",
                        "metadata.name: expected " + std::string{migration::dns_subdomain_rule});
        }
        (void)texts(map(metadata, "labels", path), "metadata.labels");
        const auto annotations = texts(map(metadata, "annotations", path), "metadata.annotations");
        const auto of_unschedulable = patience(unschedulable, annotations);
        request_.give_up_seconds = std::min(of_unschedulable, patience(pending, annotations));
        if (const auto given = annotations.find(term_annotation); given != annotations.end()) {
            carriers_.annotation = given->second;
        }
    }

    std::int64_t patience(const TimeOut& of, const migration::Labels& annotations) {
        const auto given = annotations.find(of.annotation);
        if (given == annotations.end()) {
            return of.otherwise;
        }
        const auto seconds = go_integer(given->second);
        if (!seconds) {
            request_.notes.push_back("annotation " + std::string{of.annotation} +
                                     " is no whole number of seconds: KubeVirt passes it over");
        }
        return std::max<std::int64_t>(seconds.value_or(of.otherwise), 0);
    }

    void read_spec(const json::object& spec) {
        const std::string path = "spec.";
        for (const auto& each : spec) {
            constexpr std::array<std::string_view, 6> known{
                "vmiName", "addedNodeSelector", "addedNodeSelectorTerm",
                "sendTo",  "receive",           "priority"};
            if (!is_one_of(each.key(), known)) {
                unknown(path + std::string{each.key()});
            }
        }
        request_.vmi = text(spec, "vmiName", path);
        request_.priority = text(spec, "priority", path);
        request_.wish.added =
            texts(map(spec, "addedNodeSelector", path), path + "addedNodeSelector");
        request_.send_to = peer(map(spec, "sendTo", path), path + "sendTo");
        request_.receive = peer(map(spec, "receive", path), path + "receive");
        if (const auto* term = spec.if_contains("addedNodeSelectorTerm")) {
            carriers_.field = term;
            request_.notes.emplace_back(
                "KubeVirt up to 1.9 has no spec.addedNodeSelectorTerm: kubectl refuses it there, "
                "and for other clients the API server drops it; the annotation "
                "virt-scout.io/added-node-selector-term is taken wherever virt-scout runs");
        }
    }

    std::optional<MoveRequest::Peer> peer(const json::object* object, const std::string& path) {
        if (object == nullptr) {
            return std::nullopt;
        }
        return MoveRequest::Peer{.id = text(*object, "migrationID", path + "."),
                                 .url = text(*object, "connectURL", path + ".")};
    }

    MoveRequest request_;
    MoveReasons faults_;
    TermCarriers carriers_;
    bool generated_ = false;
};

}  // namespace

Result<MoveRequest> read_move_manifest(std::string_view text) {
    const auto manifests = read_manifests(text);
    if (!manifests.faults.empty()) {
        const auto& [line, why] = manifests.faults.front();
        return fail(Errc::invalid, (line == 0 ? "" : "line " + std::to_string(line) + ": ") + why);
    }
    const auto expected = "expected one " + std::string{kind} + ", found ";
    if (manifests.documents.size() != 1) {
        return fail(Errc::invalid, manifests.documents.empty()
                                       ? expected + "nothing"
                                       : expected + std::to_string(manifests.documents.size()) +
                                             " documents: judge each by itself");
    }
    const auto& document = manifests.documents.front().second;
    if (const auto of_kind = text_of(member(document, "kind")); of_kind != kind) {
        return fail(Errc::invalid,
                    expected + (of_kind.empty()
                                    ? "what has no kind"
                                    : "kind '" + of_kind.substr(0, manifest_shown_bytes) + "'"));
    }
    return MoveReader{}.read(document.get_object());
}

}  // namespace scout::cluster
