// SPDX-License-Identifier: Apache-2.0
#include "cli/render_table.h"

#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "cli/json_text.h"
#include "cli/render_json.h"
#include "cli/table_parts.h"
#include "cli/text.h"

namespace scout::cli {
namespace {

constexpr std::size_t short_features = 6;
constexpr std::size_t longest_verdict = 7;  // "unknown"

std::string listed(const std::vector<std::string>& names, const TableStyle& style) {
    return style.wide ? migration::join(names) : short_list(names, short_features);
}

std::string host_model_lines(const migration::Profile& profile, const TableStyle& style) {
    if (!profile.host_model) {
        return field("Host model", "none", style);
    }
    const auto& model = *profile.host_model;
    const auto* named = migration::find_model(profile, model.name);
    const bool not_usable = named != nullptr && named->usable == migration::Usable::no;
    return field("Host model",
                 model.name + (not_usable ? " (not usable here as a named model)" : ""), style) +
           field("  require", listed(model.require, style), style) +
           field("  disable", listed(model.disable, style), style);
}

/// Names of the models with this answer; wide tables show what keeps the others from it.
std::vector<std::string> models_that_are(const migration::Profile& profile,
                                         migration::Usable usable, bool wide) {
    std::vector<std::string> names;
    for (const auto& model : profile.models) {
        if (model.usable == usable) {
            const bool blocked = wide && !model.blockers.empty();
            names.push_back(blocked
                                ? model.name + " (lacks " + migration::join(model.blockers) + ")"
                                : model.name);
        }
    }
    return names;
}

/// What of a reason fits behind a verdict in one line.
std::string first_reason(const migration::Comparison& comparison) {
    return comparison.reasons.empty() ? std::string{} : comparison.reasons.front().text;
}

std::string gate_and_truth(const migration::Comparison& comparison, const TableStyle& style) {
    return "  " + paint("stock gate", Tone::faint, style.colour) + " " +
           paint(gate_text(comparison.gate), tone_of(comparison.gate), style.colour) + ", " +
           paint("CPU truth", Tone::faint, style.colour) + " " + painted(comparison.truth, style) +
           "\n";
}

constexpr const char* assumption =
    "known by a bare <cpu>: its own features are taken as what the hypervisor supports";

/// What an answer rests on besides the documents.
std::string grounds_lines(const std::string& map, bool assumed, const TableStyle& style) {
    return (map.empty() ? "" : field("CPU map", map, style)) +
           (assumed ? field("Assumed", assumption, style) : "");
}

/// The same for all nodes together.
std::string grounds_lines(const migration::Placement& answer, const TableStyle& style) {
    std::vector<std::string> maps;
    std::vector<std::string> assumed;
    for (const auto& node : answer.nodes) {
        if (!node.comparison.map.empty()) {
            maps.push_back(node.comparison.map);
        }
        if (node.comparison.assumed) {
            assumed.push_back(node.node);
        }
    }
    maps = migration::make_feature_set(std::move(maps));
    return (maps.empty() ? "" : field("CPU map", migration::join(maps), style)) +
           (assumed.empty() ? ""
                            : field("Assumed", listed(assumed, style) + ": " + assumption, style));
}

std::string note_lines(const std::vector<std::string>& notes, const TableStyle& style) {
    std::string out;
    for (const auto& note : notes) {
        out += field("Note", note, style);
    }
    return out;
}

std::string gap_line(const migration::Comparison& comparison, const TableStyle& style) {
    if (!comparison.gap()) {
        return {};
    }
    return "  " +
           paint("KubeVirt's labels let this migration start, and libvirt refuses it there.",
                 Tone::bad, style.colour) +
           "\n";
}

/// The stanza to paste, or that there is none although there is a model.
std::string custom_lines(const migration::Baseline& answer, const TableStyle& style) {
    if (!answer.model) {
        return {};
    }
    if (!answer.custom_features) {
        return "\n" + field("Custom",
                            "not known: the features of some host or of the model are not", style);
    }
    boost::json::object stanza;
    stanza["cpu"] = cpu_stanza(answer);
    return "\n" +
           paint(
               "# spec.template.spec.domain of the VirtualMachine: everything that all of them "
               "support but invtsc, which ties a guest to its host",
               Tone::faint, style.colour) +
           "\n" + to_yaml_text(stanza);
}

}  // namespace

std::string to_table(const PairAnswer& answer, const TableStyle& style) {
    const auto& comparison = answer.comparison;
    auto out = shown(answer.source) + " → " + shown(answer.target) + ": " +
               painted(comparison.truth, style) + " (stock gate " +
               paint(gate_text(comparison.gate), tone_of(comparison.gate), style.colour) + ")\n";
    if (!comparison.missing.empty()) {
        out += field("Missing", migration::join(comparison.missing), style);
    }
    return out + reason_lines(comparison.reasons, style) + gap_line(comparison, style) +
           grounds_lines(comparison.map, comparison.assumed, style);
}

std::string pair_header(const TableStyle& style) {
    return paint("VERDICT  GATE     GAP  PAIR, WHY", Tone::strong, style.colour);
}

std::string pair_line(const PairAnswer& answer, const TableStyle& style) {
    const auto& comparison = answer.comparison;
    const auto why = comparison.missing.empty() ? first_reason(comparison)
                                                : "missing " + listed(comparison.missing, style);
    const auto column = [](std::string_view word) {
        return std::string(longest_verdict - word.size() + 2, ' ');
    };
    const auto gate = gate_text(comparison.gate);
    return painted(comparison.truth, style) + column(to_string(comparison.truth)) +
           paint(gate, tone_of(comparison.gate), style.colour) + column(gate) +
           (comparison.gap() ? paint("gap", Tone::bad, style.colour) : "   ") + "  " +
           shown(answer.source) + " → " + shown(answer.target) +
           (why.empty() ? "" : "  " + shown(why));
}

std::string to_table(const ProfileAnswer& answer, const TableStyle& style) {
    const auto& profile = answer.profile;
    auto out = field("Architecture", profile.arch, style) +
               field("Domain type", profile.virt_type, style) +
               field("Vendor", profile.vendor, style) + host_model_lines(profile, style);
    const auto usable = models_that_are(profile, migration::Usable::yes, false);
    const auto blocked = models_that_are(profile, migration::Usable::no, style.wide);
    out += field(
        "Models",
        std::to_string(usable.size()) + " of " + std::to_string(profile.models.size()) + " usable",
        style);
    out += field("  usable", listed(usable, style), style);
    if (style.wide) {
        out += field("  not usable", migration::join(blocked), style);
    }
    out +=
        field("Supported", std::to_string(answer.supported.features.size()) + " features", style);
    if (style.wide) {
        out += field("  features", migration::join(answer.supported.features), style);
        out += field("Machines", migration::join(profile.machines), style);
    }
    if (!answer.supported.map.empty()) {
        out += field("CPU map", answer.supported.map, style);
    }
    return out + field("Comparable",
                       answer.not_comparable.empty() ? "yes" : "no: " + answer.not_comparable,
                       style);
}

std::string to_table(const LabelsAnswer& answer, const TableStyle& style) {
    std::string out;
    for (const auto& [key, value] : answer.labels) {
        out += shown(key) + "=" + shown(value) + "\n";
    }
    if (!answer.left_out.empty()) {
        const auto line = "# not told by these documents: " + migration::join(answer.left_out);
        out += paint(shown(line), Tone::faint, style.colour) + "\n";
    }
    if (answer.assumed) {
        out += paint(std::string("# assumed: ") + assumption, Tone::faint, style.colour) + "\n";
    }
    return out;
}

std::string to_table(const migration::Placement& answer, const TableStyle& style) {
    Table table(style.wide
                    ? std::vector<std::string>{"NODE", "VERDICT", "STOCK", "TRUTH", "GAP", "WHY"}
                    : std::vector<std::string>{"NODE", "VERDICT", "GAP", "WHY"});
    for (const auto& node : answer.nodes) {
        const auto& comparison = node.comparison;
        std::vector<Cell> row{{.text = node.node},
                              {.text = std::string(to_string(comparison.verdict)),
                               .tone = tone_of(comparison.verdict)}};
        if (style.wide) {
            row.push_back({.text = std::string(gate_text(comparison.gate)),
                           .tone = tone_of(comparison.gate)});
            row.push_back({.text = std::string(to_string(comparison.truth)),
                           .tone = tone_of(comparison.truth)});
        }
        row.push_back({.text = comparison.gap() ? "gap" : "", .tone = Tone::bad});
        row.push_back({.text = first_reason(comparison)});
        table.add(std::move(row));
    }
    auto out = field("Subject", answer.subject, style);
    if (!answer.source.empty()) {
        out += field("Source", answer.source, style);
    }
    return out + table.text(style.colour) + "\n" + shown(summary(answer)) + "\n" +
           note_lines(answer.notes, style) + grounds_lines(answer, style);
}

std::string explain(const migration::Placement& answer, const TableStyle& style) {
    const bool named_by_source = answer.source.empty() || answer.subject.ends_with(answer.source);
    std::string out;
    for (const auto& node : answer.nodes) {
        const auto& comparison = node.comparison;
        out +=
            shown(answer.subject) + (named_by_source ? "" : " (on " + shown(answer.source) + ")") +
            " → " + shown(node.node) + ": " + painted(comparison.verdict, style) + "\n" +
            gate_and_truth(comparison, style) + reason_lines(comparison.reasons, style) +
            gap_line(comparison, style) + grounds_lines(comparison.map, comparison.assumed, style);
    }
    return out + note_lines(answer.notes, style);
}

std::string to_table(const migration::Baseline& answer, const TableStyle& style) {
    auto out = field("Model", answer.model.value_or("none"), style) +
               field("Vendor", answer.vendor, style) + field("Reason", answer.reason, style) +
               field("Common", listed(answer.common, style), style) +
               grounds_lines(answer.map, answer.assumed, style);
    if (!answer.losses.empty()) {
        Table losses({"HOST", "LOSES", "FEATURES"});
        for (const auto& [host, loss] : answer.losses) {
            losses.add({{.text = host},
                        {.text = loss.features ? std::to_string(loss.features->size()) : "unknown",
                         .tone = loss.features ? Tone::plain : Tone::doubtful},
                        {.text = loss.features ? listed(*loss.features, style) : loss.why}});
        }
        out += "\n" + losses.text(style.colour);
    }
    return out + custom_lines(answer, style);
}

std::string to_table(const migration::UpgradeImpact& answer, const TableStyle& style) {
    const auto missing = [&answer](const migration::FeatureSet& features) {
        return answer.comparable ? migration::join(features) : std::string("not known");
    };
    const auto machines = [&style](const std::optional<migration::FeatureSet>& names) {
        return names ? listed(*names, style) : std::string("not known");
    };
    const auto named = [](const std::string& model) { return model.empty() ? "none" : model; };
    const auto model = answer.model_changed()
                           ? named(answer.model_before) + " → " + named(answer.model_after)
                           : named(answer.model_after) + " (unchanged)";
    return field("Host model", model, style) +
           field("Named model",
                 "usable before: " + std::string(usable_text(answer.named_usable_before)) +
                     ", after: " + std::string(usable_text(answer.named_usable_after)),
                 style) +
           field("Missing after", missing(answer.missing_after), style) +
           field("Missing before", missing(answer.missing_before), style) +
           field("Machines gone", machines(answer.machines_missing_after), style) +
           field("Machines new", machines(answer.machines_missing_before), style) +
           field("Advice", answer.advice, style) + note_lines(answer.notes, style) +
           grounds_lines(answer.map, answer.assumed, style);
}

}  // namespace scout::cli
