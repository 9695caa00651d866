// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "wire/checks.h"
#include "wire/convert.h"
#include "wire/convert_parts.h"

namespace scout::wire {
namespace {

using migration::Layer;
using migration::ReasonCode;
using migration::Verdict;

constexpr std::array reason_codes = {ReasonCode::document,        ReasonCode::unschedulable,
                                     ReasonCode::virt_type,       ReasonCode::arch,
                                     ReasonCode::vendor,          ReasonCode::model,
                                     ReasonCode::machine_type,    ReasonCode::tsc,
                                     ReasonCode::tsc_label,       ReasonCode::feature,
                                     ReasonCode::not_reported,    ReasonCode::not_comparable,
                                     ReasonCode::not_running,     ReasonCode::not_migratable,
                                     ReasonCode::stale_selector,  ReasonCode::selector,
                                     ReasonCode::node_affinity,   ReasonCode::taint,
                                     ReasonCode::pod_affinity,    ReasonCode::pod_anti_affinity,
                                     ReasonCode::topology_spread, ReasonCode::volume,
                                     ReasonCode::resources,       ReasonCode::host_port};

v1::Verdict verdict_to_wire(Verdict verdict) {
    switch (verdict) {
        case Verdict::can:
            return v1::CAN;
        case Verdict::cannot:
            return v1::CANNOT;
        case Verdict::unknown:
            return v1::UNKNOWN;
    }
    return v1::UNKNOWN;
}

Verdict verdict_from_wire(std::string_view field, v1::Verdict verdict, Checks& checks) {
    switch (verdict) {
        case v1::CAN:
            return Verdict::can;
        case v1::CANNOT:
            return Verdict::cannot;
        case v1::UNKNOWN:
            return Verdict::unknown;
        default:
            checks.fault(field, "0 to 2", std::to_string(static_cast<int>(verdict)));
            return Verdict::unknown;
    }
}

migration::Comparison comparison_from_wire(const v1::Comparison& comparison, Checks& checks) {
    migration::Comparison out;
    out.verdict = verdict_from_wire("verdict", comparison.verdict(), checks);
    out.gate = verdict_from_wire("gate", comparison.gate(), checks);
    out.truth = verdict_from_wire("truth", comparison.truth(), checks);
    out.missing = checks.set("missing", comparison.missing());
    if (checks.count("reasons", comparison.reasons_size())) {
        for (const auto& reason : comparison.reasons()) {
            out.reasons.push_back(reason_from_wire(reason, checks));
        }
    }
    out.map = cut(comparison.map(), text_limit);
    out.assumed = comparison.assumed();
    return out;
}

/// For answers that have no way to say a fault: over the limits, the rest is left out.
std::vector<std::string> clipped(const RepeatedText& texts) {
    std::vector<std::string> out;
    const auto kept = std::min(static_cast<std::size_t>(texts.size()), list_limit);
    out.reserve(kept);
    for (const auto& text : texts) {
        if (out.size() == kept) {
            break;
        }
        out.push_back(cut(text));
    }
    return migration::make_feature_set(std::move(out));
}

/// The same for sentences, whose order stays.
std::vector<std::string> sentences(const RepeatedText& texts) {
    std::vector<std::string> out;
    for (const auto& text : texts) {
        if (out.size() == list_limit) {
            break;
        }
        out.push_back(cut(text, text_limit));
    }
    return out;
}

}  // namespace

Layer layer_from_wire(std::string_view field, const std::string& layer, Checks& checks) {
    if (const auto named = migration::layer_named(layer)) {
        return *named;
    }
    checks.fault(field, "'stock' or 'truth'", "'" + cut(layer, 64) + "'");
    return Layer::stock;
}

void write_reason(const migration::Reason& reason, v1::Reason& out) {
    out.set_code(std::string{migration::to_string(reason.code)});
    out.set_layer(std::string{migration::to_string(reason.layer)});
    out.set_text(reason.text);
    assign(out.mutable_keys(), reason.keys);
}

migration::Reason reason_from_wire(const v1::Reason& reason, Checks& checks) {
    migration::Reason out;
    const auto* const code = std::find_if(
        reason_codes.begin(), reason_codes.end(),
        [&reason](ReasonCode known) { return migration::to_string(known) == reason.code(); });
    if (code == reason_codes.end()) {
        checks.fault("reasons.code", "a known code", "'" + cut(reason.code(), 64) + "'");
    } else {
        out.code = *code;
    }
    out.layer = layer_from_wire("reasons.layer", reason.layer(), checks);
    out.text = cut(reason.text(), text_limit);
    out.keys = checks.names("reasons.keys", reason.keys());
    return out;
}

v1::Comparison to_wire(const migration::Comparison& comparison) {
    v1::Comparison out;
    out.set_verdict(verdict_to_wire(comparison.verdict));
    out.set_gate(verdict_to_wire(comparison.gate));
    out.set_truth(verdict_to_wire(comparison.truth));
    assign(out.mutable_missing(), comparison.missing);
    for (const auto& reason : comparison.reasons) {
        write_reason(reason, *out.add_reasons());
    }
    out.set_map(comparison.map);
    out.set_assumed(comparison.assumed);
    return out;
}

Result<migration::Placement> from_wire(const v1::WhereResponse& placement) {
    Checks checks;
    migration::Placement out;
    out.subject = cut(placement.subject(), text_limit);
    out.source = checks.name("source", placement.source());
    if (checks.count("nodes", placement.nodes_size(), nodes_limit)) {
        for (const auto& answer : placement.nodes()) {
            out.nodes.push_back({checks.name("nodes.node", answer.node()),
                                 comparison_from_wire(answer.comparison(), checks)});
        }
    }
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()).within("placement"));
    }
    std::sort(out.nodes.begin(), out.nodes.end(),
              [](const auto& a, const auto& b) { return a.node < b.node; });
    out.notes = sentences(placement.notes());
    return out;
}

v1::BaselineResponse to_wire(const migration::Baseline& baseline) {
    v1::BaselineResponse out;
    if (baseline.model) {
        out.set_model(*baseline.model);
    }
    out.set_vendor(baseline.vendor);
    out.set_reason(baseline.reason);
    assign(out.mutable_common(), baseline.common);
    for (const auto& [host, loss] : baseline.losses) {
        auto& to = (*out.mutable_losses())[host];
        assign(to.mutable_features(), loss.features.value_or(migration::FeatureSet{}));
        to.set_why(loss.why);
    }
    out.set_custom_known(baseline.custom_features.has_value());
    assign(out.mutable_custom_features(),
           baseline.custom_features.value_or(migration::FeatureSet{}));
    out.set_map(baseline.map);
    out.set_assumed(baseline.assumed);
    return out;
}

migration::Baseline from_wire(const v1::BaselineResponse& baseline) {
    migration::Baseline out;
    if (baseline.has_model()) {
        out.model = cut(baseline.model());
    }
    out.vendor = cut(baseline.vendor());
    out.reason = cut(baseline.reason(), text_limit);
    out.common = clipped(baseline.common());
    for (const auto& [host, losses] : baseline.losses()) {
        if (out.losses.size() == nodes_limit) {
            break;
        }
        migration::Loss loss;
        loss.why = cut(losses.why(), text_limit);
        if (loss.why.empty()) {
            loss.features = clipped(losses.features());
        }
        out.losses.emplace(cut(host), std::move(loss));
    }
    if (baseline.custom_known()) {
        out.custom_features = clipped(baseline.custom_features());
    }
    out.map = cut(baseline.map(), text_limit);
    out.assumed = baseline.assumed();
    return out;
}

v1::UpgradeImpactResponse to_wire(const migration::UpgradeImpact& impact) {
    v1::UpgradeImpactResponse out;
    out.set_model_before(impact.model_before);
    out.set_model_after(impact.model_after);
    out.set_named_usable_before(usable_to_wire(impact.named_usable_before));
    out.set_named_usable_after(usable_to_wire(impact.named_usable_after));
    out.set_comparable(impact.comparable);
    assign(out.mutable_missing_after(), impact.missing_after);
    assign(out.mutable_missing_before(), impact.missing_before);
    const auto& gone = impact.machines_missing_after;
    const auto& added = impact.machines_missing_before;
    if (gone && added) {
        out.set_machines_told(true);
        assign(out.mutable_machines_missing_after(), *gone);
        assign(out.mutable_machines_missing_before(), *added);
    }
    assign(out.mutable_notes(), impact.notes);
    out.set_advice(impact.advice);
    out.set_map(impact.map);
    out.set_assumed(impact.assumed);
    return out;
}

migration::UpgradeImpact from_wire(const v1::UpgradeImpactResponse& impact) {
    migration::UpgradeImpact out;
    out.model_before = cut(impact.model_before());
    out.model_after = cut(impact.model_after());
    Checks ignored;  // as for clipped(): an unknown value is told as none
    out.named_usable_before = usable_from_wire({}, impact.named_usable_before(), ignored);
    out.named_usable_after = usable_from_wire({}, impact.named_usable_after(), ignored);
    out.comparable = impact.comparable();
    out.missing_after = clipped(impact.missing_after());
    out.missing_before = clipped(impact.missing_before());
    if (impact.machines_told()) {
        out.machines_missing_after = clipped(impact.machines_missing_after());
        out.machines_missing_before = clipped(impact.machines_missing_before());
    }
    out.notes = sentences(impact.notes());
    out.advice = cut(impact.advice(), text_limit);
    out.map = cut(impact.map(), text_limit);
    out.assumed = impact.assumed();
    return out;
}

}  // namespace scout::wire
