// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "cli/json_parts.h"
#include "cli/number_text.h"
#include "cli/render_json.h"
#include "cli/render_table.h"
#include "cli/table_parts.h"
#include "cli/text.h"
#include "cluster/policy_answer.h"
#include "cluster/policy_lint.h"

/// Answers about MigrationPolicies.
namespace scout::cli {
namespace {

namespace json = boost::json;
using cluster::LintSeverity;
using cluster::NumberInForce;

json::value json_name(const std::optional<std::string>& name) {
    return name ? json_text(*name) : json::value(nullptr);
}

}  // namespace

json::value json_value(const NumberInForce& number) {
    return std::visit(
        [](const auto& value) -> json::value {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::monostate>) {
                return nullptr;
            } else if constexpr (std::is_same_v<Value, std::string>) {
                return json_text(value);
            } else {
                return value;
            }
        },
        number.value);
}

std::string value_text(const NumberInForce& number) {
    if (std::holds_alternative<std::monostate>(number.value)) {
        return number.name == "bandwidthMiBps"             ? "no limit"
               : number.name == "completionTimeoutSeconds" ? "not known"
                                                           : "the pods' own";
    }
    const auto value = json_value(number);
    return value.is_string() ? shown(std::string{value.get_string()}) : json::serialize(value);
}

json::value to_json(const cluster::PolicyAnswer& answer) {
    auto object = json_answer();
    object["vmi"] = json_text(answer.vmi);
    object["stock"] = json_name(answer.stock);
    object["stockEnds"] = answer.stock_ends ? json_text(rfc3339(*answer.stock_ends)) : nullptr;
    object["proposal"] = json_name(answer.proposal);
    object["why"] = json_text(shortened(answer.why));
    json::object effective;
    for (const auto& number : answer.effective) {
        json::object entry;
        entry["value"] = json_value(number);
        entry["origin"] = json_text(to_string(number.origin));
        effective[std::string{number.name}] = std::move(entry);
    }
    object["effective"] = std::move(effective);
    object["matching"] = json_list(answer.matching);
    object["recorded"] = json_text_or_null(answer.recorded);
    object["notes"] = json_sentences(answer.notes);
    return object;
}

std::string to_table(const cluster::PolicyAnswer& answer, const TableStyle& style) {
    auto out = field("VM", answer.vmi, style) +
               field("Policy",
                     answer.stock.value_or("none") +
                         (answer.stock_ends ? ", until " + rfc3339(*answer.stock_ends) : ""),
                     style) +
               field("Why", answer.why, style);
    if (answer.stock != answer.proposal) {
        out += field("Proposal", answer.proposal.value_or("none"), style);
    }
    if (!answer.recorded.empty()) {
        out += field("Recorded", answer.recorded, style);
    }
    Table table({"NUMBER", "VALUE", "FROM"});
    for (const auto& number : answer.effective) {
        const bool plain = number.origin == migration::SettingOrigin::built_in;
        table.add({{.text = std::string{number.name}},
                   {.text = value_text(number), .tone = plain ? Tone::plain : Tone::strong},
                   {.text = number.origin == migration::SettingOrigin::policy
                                ? answer.stock.value_or(std::string{})
                            : plain ? "KubeVirt's default"
                                    : "the KubeVirt object"}});
    }
    out += "\n" + table.text(style.colour);
    return out + note_lines(answer.notes);
}

json::value to_json(const cluster::PolicyLint& answer) {
    json::array rows;
    for (const auto& finding : answer.findings) {
        json::object row;
        row["file"] = json_text_or_null(finding.file);
        row["line"] = finding.line == 0 ? json::value(nullptr) : json::value(finding.line);
        row["policy"] = json_text_or_null(finding.policy);
        row["code"] = json_text(finding.code);
        row["severity"] = json_text(to_string(finding.severity));
        row["text"] = json_text(shortened(finding.text));
        rows.push_back(std::move(row));
    }
    return rows;
}

/// As compilers do it, so that editors and CI find the place.
std::string to_table(const cluster::PolicyLint& answer, const TableStyle& style) {
    std::string out;
    for (const auto& finding : answer.findings) {
        const bool refused = finding.severity == LintSeverity::refused;
        out += (finding.file.empty() ? std::string{} : shown(finding.file) + ":") +
               (finding.line == 0 ? "" : std::to_string(finding.line) + ":") +
               (finding.file.empty() ? "" : " ") +
               paint(refused ? "refused" : "warning", refused ? Tone::bad : Tone::doubtful,
                     style.colour) +
               ": " + (finding.policy.empty() ? "a policy without a name" : shown(finding.policy)) +
               ": " + shown(finding.text) + " [" + std::string{finding.code} + "]\n";
    }
    if (answer.findings.empty()) {
        return "nothing is wrong with " + std::to_string(answer.policies) +
               (answer.policies == 1 ? " policy\n" : " policies\n");
    }
    return out;
}

}  // namespace scout::cli
