// SPDX-License-Identifier: Apache-2.0
#include "cluster/policy_manifest.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "cluster/evacuation_rules.h"
#include "cluster/manifest_values.h"
#include "cluster/manifests.h"
#include "migration/label_syntax.h"
#include "migration/migration_settings.h"
#include "migration/quantity.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;

constexpr std::string_view api_version = "migrations.kubevirt.io/v1alpha1";
constexpr std::string_view kind = "MigrationPolicy";
constexpr std::int64_t most_downtime_ms = 2'000'000;
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;

/// Judges one policy.
class Judge {
public:
    Judge(PolicyPlace place, PolicyManifests& out) : place_(std::move(place)), out_(out) {}

    void judge(const json::value& document);

private:
    void refuse(std::string_view code, std::string text) {
        usable_ = false;
        out_.findings.push_back(place_.finding(code, LintSeverity::refused, std::move(text)));
    }
    void warn(std::string_view code, std::string text) {
        out_.findings.push_back(place_.finding(code, LintSeverity::warn, std::move(text)));
    }
    void pruned(const std::string& path, std::string_view why = {});
    void judge_spec(const json::object& spec);
    void judge_member(std::string_view name, const json::value& value);
    void judge_selectors(const json::value& value);
    void judge_selector(const std::string& path, const json::value& value,
                        migration::Labels& labels);
    void judge_label(const std::string& path, std::string_view key, const json::value& value,
                     migration::Labels& labels);
    void judge_flag(std::string_view name, const json::value& value, std::optional<bool>& target);
    void judge_whole(std::string_view name, const json::value& value,
                     std::optional<std::int64_t>& target);
    void judge_bandwidth(const json::value& value);
    void judge_experimental(const json::value& value);

    PolicyPlace place_;
    PolicyManifests& out_;
    bool usable_ = true;
    std::optional<migration::PolicySelectors> selectors_;
    kube::MigrationSettings settings_;
};

void Judge::judge(const json::value& document) {
    if (const auto version = text_of(member(document, "apiVersion")); version != api_version) {
        refuse("api-version", "expected apiVersion: " + std::string{api_version} + ", found " +
                                  (version.empty() ? "none" : "'" + version + "'"));
    }
    const auto* metadata = member(document, "metadata");
    const auto* name = metadata == nullptr ? nullptr : member(*metadata, "name");
    if (text_of(name).empty()) {
        refuse("name", "expected metadata.name, a text, found " +
                           (name == nullptr ? std::string{"none"} : found(*name)));
    }
    for (const auto& each : document.get_object()) {
        constexpr std::array<std::string_view, 5> known{"apiVersion", "kind", "metadata", "spec",
                                                        "status"};
        if (std::find(known.begin(), known.end(), std::string_view{each.key()}) == known.end()) {
            pruned(std::string{each.key()}, "what a policy says stands in spec");
        }
    }
    const auto* spec = member(document, "spec");
    if (spec == nullptr || !spec->is_object()) {
        refuse("no-selectors", "expected spec with selectors, found " +
                                   (spec == nullptr ? std::string{"none"} : found(*spec)));
        return;
    }
    judge_spec(spec->get_object());
    for (auto& finding : judge_numbers(place_, settings_, nullptr)) {
        out_.findings.push_back(std::move(finding));
    }
    if (usable_ && selectors_) {
        out_.usable.emplace_back(place_, *std::move(selectors_));
    }
}

void Judge::pruned(const std::string& path, std::string_view why) {
    warn("pruned", path +
                       " is no field of a MigrationPolicy: kubectl refuses it, and for other "
                       "clients the API server drops it without a word" +
                       (why.empty() ? std::string{} : "; " + std::string{why}));
}

void Judge::judge_spec(const json::object& spec) {
    for (const auto& each : spec) {
        judge_member(each.key(), each.value());
    }
    if (!spec.contains("selectors")) {
        refuse("no-selectors",
               "expected spec.selectors, found none: the API server demands it, and a policy "
               "without it is never applied; {} chooses every VM");
    }
}

void Judge::judge_member(std::string_view name, const json::value& value) {
    if (name == "selectors") {
        judge_selectors(value);
    } else if (name == "allowAutoConverge") {
        judge_flag(name, value, settings_.allow_auto_converge);
    } else if (name == "allowPostCopy") {
        judge_flag(name, value, settings_.allow_post_copy);
    } else if (name == "allowWorkloadDisruption") {
        judge_flag(name, value, settings_.allow_workload_disruption);
    } else if (name == "bandwidthPerMigration") {
        judge_bandwidth(value);
    } else if (name == "completionTimeoutPerGiB") {
        judge_whole(name, value, settings_.completion_seconds_per_gib);
        if (settings_.completion_seconds_per_gib.value_or(0) < 0) {
            refuse("negative", "spec.completionTimeoutPerGiB: expected seconds, 0 or more, found " +
                                   shown(value));
        }
    } else if (name == "maxDowntimeMs") {
        judge_whole(name, value, settings_.max_downtime_ms);
        const auto ms = settings_.max_downtime_ms.value_or(1);
        if (ms < 1 || ms > most_downtime_ms) {
            refuse("range",
                   "spec.maxDowntimeMs: expected 1 to 2000000 milliseconds, found " + shown(value));
        }
    } else if (name == "experimental") {
        judge_experimental(value);
    } else if (name == "disableTLS") {
        pruned(
            "spec.disableTLS",
            "TLS of migrations is switched off for a whole cluster only, in the KubeVirt object");
    } else {
        constexpr std::array<std::string_view, 4> of_the_cluster{
            "network", "progressTimeout", "parallelMigrationsPerCluster",
            "parallelOutboundMigrationsPerNode"};
        const bool elsewhere =
            std::find(of_the_cluster.begin(), of_the_cluster.end(), name) != of_the_cluster.end();
        pruned("spec." + std::string{name},
               elsewhere ? "it is set for a whole cluster only, in the KubeVirt object" : "");
    }
}

void Judge::judge_selectors(const json::value& value) {
    const auto* selectors = value.if_object();
    if (selectors == nullptr) {
        refuse("type", "spec.selectors: expected a map, found " + found(value));
        return;
    }
    auto& [space, vmi] = selectors_.emplace();
    for (const auto& each : *selectors) {
        const std::string_view name = each.key();
        if (name == "namespaceSelector") {
            judge_selector("spec.selectors.namespaceSelector", each.value(), space);
        } else if (name == "virtualMachineInstanceSelector") {
            judge_selector("spec.selectors.virtualMachineInstanceSelector", each.value(), vmi);
        } else {
            pruned("spec.selectors." + std::string{name},
                   "without it the policy chooses more VMs than it seems to; there are "
                   "namespaceSelector and virtualMachineInstanceSelector");
        }
    }
}

void Judge::judge_selector(const std::string& path, const json::value& value,
                           migration::Labels& labels) {
    const auto* entries = value.if_object();
    if (entries == nullptr) {
        refuse("type", path + ": expected a map of labels, found " + found(value));
        return;
    }
    for (const auto& each : *entries) {
        judge_label(path, each.key(), each.value(), labels);
    }
}

void Judge::judge_label(const std::string& path, std::string_view key, const json::value& value,
                        migration::Labels& labels) {
    const bool of_kubernetes = key == "matchLabels" || key == "matchExpressions";
    if (of_kubernetes && !value.is_string()) {
        refuse("match-labels", path + " is a plain map of labels, and has no " + std::string{key} +
                                   ": write the labels right below it; only equal values can be "
                                   "asked for");
        return;
    }
    if (!value.is_string()) {
        const bool scalar = value.is_bool() || value.is_number();
        refuse("selector-value",
               path + "." + std::string{key} + ": expected a text, found " + found(value) +
                   (scalar ? ": YAML reads it as no text, so write it in quotes: \"" +
                                 shown(value) + "\""
                           : ""));
        return;
    }
    const auto& text = value.get_string();
    if (text.empty()) {
        warn("empty-value", path + "." + std::string{key} +
                                ": an empty value stands for the empty value only, not for any "
                                "value of that label");
    }
    labels.insert_or_assign(std::string{key}, std::string{text});
}

void Judge::judge_flag(std::string_view name, const json::value& value,
                       std::optional<bool>& target) {
    if (!value.is_bool()) {
        refuse("type",
               "spec." + std::string{name} + ": expected true or false, found " + found(value));
        return;
    }
    target = value.get_bool();
}

void Judge::judge_whole(std::string_view name, const json::value& value,
                        std::optional<std::int64_t>& target) {
    if (value.is_int64()) {
        target = value.get_int64();
        return;
    }
    refuse("type",
           "spec." + std::string{name} + ": expected a whole number, found " + found(value));
}

void Judge::judge_bandwidth(const json::value& value) {
    const std::string path = "spec.bandwidthPerMigration";
    if (!value.is_string() && !value.is_int64()) {
        refuse("type", path + ": expected a quantity such as 64Mi, found " + found(value));
        return;
    }
    auto text =
        value.is_string() ? std::string{value.get_string()} : std::to_string(value.get_int64());
    const auto quantity = migration::Quantity::parse(text);
    if (!quantity) {
        const bool negative =
            text.starts_with('-') && migration::Quantity::parse(text.substr(1)).has_value();
        refuse(negative ? "negative" : "quantity", path + ": " + quantity.error().message);
        return;
    }
    settings_.bandwidth = kube::SharedText{text};
}

void Judge::judge_experimental(const json::value& value) {
    const auto* options = value.if_object();
    if (options == nullptr) {
        refuse("type", "spec.experimental: expected a map, found " + found(value));
        return;
    }
    for (const auto& each : *options) {
        const std::string_view name = each.key();
        const auto path = "spec.experimental." + std::string{name};
        if (name == "compression") {
            const auto text = text_of(&each.value());
            if (text != "none" && text != "zstd") {
                refuse("type", path + ": expected none or zstd, found " + found(each.value()));
            }
        } else if (name == "stallDetector") {
            warn("gated", path +
                              " is refused where the feature gate MigrationStallDetection of "
                              "the KubeVirt object is off");
        } else {
            pruned(path);
        }
    }
}

void judge_document(const std::string& file, std::size_t line, const json::value& value,
                    PolicyManifests& out) {
    const auto of_kind = text_of(member(value, "kind"));
    const auto* items = member(value, "items");
    if (of_kind.ends_with("List") && items != nullptr && items->is_array()) {
        for (const auto& item : items->get_array()) {
            judge_document(file, line, item, out);
        }
        return;
    }
    if (of_kind != kind) {
        return;
    }
    judge_policy(file, line, value, out);
}

}  // namespace

void judge_policy(const std::string& file, std::size_t line, const json::value& document,
                  PolicyManifests& out) {
    ++out.policies;
    const auto* metadata = member(document, "metadata");
    PolicyPlace place{
        .file = file,
        .line = line,
        .policy = metadata == nullptr ? std::string{} : text_of(member(*metadata, "name"))};
    Judge(std::move(place), out).judge(document);
}

PolicyManifests read_policy_manifests(const std::string& file, std::string_view text) {
    PolicyManifests out;
    auto manifests = read_manifests(text);
    for (const auto& [line, value] : manifests.documents) {
        judge_document(file, line, value, out);
    }
    for (auto& [line, why] : manifests.faults) {
        const PolicyPlace place{.file = file, .line = line, .policy = std::string{}};
        out.findings.push_back(
            place.finding("yaml", LintSeverity::refused, "cannot be read: " + why));
    }
    return out;
}

std::vector<PolicyFinding> judge_numbers(const PolicyPlace& place,
                                         const kube::MigrationSettings& settings,
                                         const kube::KubeVirt* kubevirt) {
    std::vector<PolicyFinding> findings;
    const auto warn = [&findings, &place](std::string_view code, std::string text) {
        findings.push_back(place.finding(code, LintSeverity::warn, std::move(text)));
    };
    const std::string text{settings.bandwidth.view()};
    const auto bandwidth = migration::Quantity::parse(text);
    if (bandwidth && !text.empty()) {
        const auto bytes = bandwidth->rounded_down();
        if (text.ends_with('m')) {
            warn("milli", "bandwidthPerMigration " + text +
                              " is in thousandths of a byte: m is milli, and M or Mi is mega");
        }
        if (bytes == 0 && !bandwidth->is_zero()) {
            warn("no-limit", "bandwidthPerMigration " + text +
                                 " is less than one byte per second, and so no limit at all");
        } else if (bytes > 0 && bytes < mebibyte) {
            warn("rounded", "bandwidthPerMigration " + text +
                                " becomes 1 MiB/s: KubeVirt sets whole MiB per second");
        }
    }
    if (settings.max_downtime_ms && !lists_gate(kubevirt, "MigrationStallDetection")) {
        warn("gated",
             "maxDowntimeMs is obeyed only with the feature gate MigrationStallDetection of the "
             "KubeVirt object" +
                 std::string{kubevirt == nullptr ? "; without it newer versions refuse it"
                                                 : ", which is off"});
    }
    return findings;
}

std::string label_fault(std::string_view key, std::string_view value) {
    if (!migration::is_label_key(key)) {
        return "no object can have a label '" + std::string{key.substr(0, manifest_shown_bytes)} +
               "'; expected " + std::string{migration::label_key_rule};
    }
    if (!migration::is_label_value(value)) {
        return "no label can have the value '" +
               std::string{value.substr(0, manifest_shown_bytes)} + "'; expected " +
               std::string{migration::label_value_rule};
    }
    return {};
}

}  // namespace scout::cluster
