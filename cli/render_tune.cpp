// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/duration.h"
#include "cli/json_parts.h"
#include "cli/number_text.h"
#include "cli/table_parts.h"
#include "cli/text.h"
#include "cli/tune.h"

/// Policies with an expiry.
namespace scout::cli {
namespace {

namespace json = boost::json;
using cluster::DisplacedPolicy;
using cluster::OutrankingPolicy;
using cluster::TuneFields;

constexpr std::size_t names_shown = 5;

json::object json_selectors(const migration::PolicySelectors& selectors) {
    json::object out;
    out["namespaceSelector"] = json_labels(selectors.space);
    out["virtualMachineInstanceSelector"] = json_labels(selectors.vmi);
    return out;
}

json::value json_time(const std::optional<WallTime>& time) {
    return time ? json_text(rfc3339(*time)) : json::value(nullptr);
}

/// As they stand in the policy.
json::object json_fields(const TuneFields& fields) {
    json::object out;
    const auto add = [&out](const char* name, const auto& value) {
        if (value) {
            out[name] = *value;
        }
    };
    add("allowAutoConverge", fields.auto_converge);
    add("allowPostCopy", fields.post_copy);
    add("allowWorkloadDisruption", fields.workload_disruption);
    if (!fields.bandwidth.empty()) {
        out["bandwidthPerMigration"] = json_text(fields.bandwidth);
    }
    add("completionTimeoutPerGiB", fields.completion_seconds_per_gib);
    return out;
}

std::string fields_text(const TuneFields& fields) {
    std::string out;
    for (const auto& each : json_fields(fields)) {
        const auto& value = each.value();
        out += (out.empty() ? "" : ", ") + std::string{each.key()} + " ";
        if (value.is_bool()) {
            out += value.get_bool() ? "true" : "false";
        } else {
            out += value.is_string() ? std::string{value.get_string()}
                                     : std::to_string(value.to_number<std::int64_t>());
        }
    }
    return out;
}

json::object json_displaced(const DisplacedPolicy& displaced) {
    json::array changes;
    for (const auto& [before, after] : displaced.changes) {
        json::object change;
        change["number"] = json_text(before.name);
        change["before"] = json_value(before);
        change["meanwhile"] = json_value(after);
        changes.push_back(std::move(change));
    }
    json::object out;
    out["policy"] = json_text_or_null(displaced.policy);
    out["vms"] = displaced.vms;
    out["changes"] = std::move(changes);
    return out;
}

json::object json_outranking(const OutrankingPolicy& policy) {
    json::object out;
    out["policy"] = json_text(policy.policy);
    out["why"] = json_text(shortened(policy.why));
    out["vms"] = json_list(policy.vms);
    return out;
}

std::size_t chosen(const cluster::TunePlan& plan) {
    auto all = plan.vms.size();
    for (const auto& policy : plan.outranked_by) {
        all += policy.vms.size();
    }
    return all;
}

std::string names(const std::vector<std::string>& all, const TableStyle& style) {
    return short_list(all, style.wide ? all.size() : names_shown);
}

std::string displaced_table(const std::vector<DisplacedPolicy>& displaced,
                            const TableStyle& style) {
    Table table({"INSTEAD OF", "VMS", "NUMBER", "BEFORE", "MEANWHILE"});
    for (const auto& each : displaced) {
        Cell name{.text = each.policy.empty() ? "no policy" : each.policy};
        Cell vms{.text = std::to_string(each.vms)};
        if (each.changes.empty()) {
            table.add({std::move(name), std::move(vms), {.text = "nothing changes"}, {}, {}});
            continue;
        }
        for (const auto& [before, after] : each.changes) {
            table.add({std::exchange(name, {}),
                       std::exchange(vms, {}),
                       {.text = std::string{before.name}},
                       {.text = value_text(before)},
                       {.text = value_text(after), .tone = Tone::strong}});
        }
    }
    return "\n" + table.text(style.colour);
}

std::string vms_text(const cluster::TunePlan& plan, const TableStyle& style) {
    const auto out =
        std::to_string(plan.vms.size()) + " of " + std::to_string(chosen(plan)) + " VMs";
    return plan.vms.empty() ? out : out + ": " + names(plan.vms, style);
}

std::string plan_table(const TuneAnswer& answer, const TableStyle& style) {
    const auto& plan = answer.plan;
    auto out = field("Policy", plan.wish.name + ", until " + rfc3339(answer.ends), style) +
               field("Chooses", to_text(plan.wish.selectors), style) +
               field("Sets", fields_text(plan.wish.fields), style) +
               field("Copies", plan.based_on.empty() ? "none" : plan.based_on, style) +
               field("For", vms_text(plan, style), style);
    if (!plan.displaced.empty()) {
        out += displaced_table(plan.displaced, style);
    }
    for (const auto& policy : plan.outranked_by) {
        out += "not for " + shown(names(policy.vms, style)) + ": policy " + shown(policy.policy) +
               " " + shown(policy.why) + "\n";
    }
    return out + note_lines(plan.notes);
}

}  // namespace

json::value to_json(const TuneAnswer& answer) {
    const auto& plan = answer.plan;
    auto object = json_answer();
    object["policy"] = json_text(plan.wish.name);
    object["expires"] = json_text(rfc3339(answer.ends));
    object["made"] = answer.made;
    object["rehearsed"] = answer.rehearsed;
    object["selectors"] = json_selectors(plan.wish.selectors);
    object["sets"] = json_fields(plan.wish.fields);
    object["copies"] = json_text_or_null(plan.based_on);
    object["chosen"] = chosen(plan);
    object["vms"] = json_list(plan.vms);
    json::array displaced;
    for (const auto& each : plan.displaced) {
        displaced.push_back(json_displaced(each));
    }
    object["displaced"] = std::move(displaced);
    json::array outranked_by;
    for (const auto& each : plan.outranked_by) {
        outranked_by.push_back(json_outranking(each));
    }
    object["outrankedBy"] = std::move(outranked_by);
    object["notes"] = json_sentences(plan.notes);
    return object;
}

std::string to_table(const TuneAnswer& answer, const TableStyle& style) {
    const auto name = shown(answer.plan.wish.name);
    if (answer.made) {
        return paint("made", Tone::good, style.colour) + " " + name +
               "; to end it sooner: scoutctl policy tune --end " + name + "\n";
    }
    if (answer.rehearsed) {
        return "the API server would take it; nothing is made\n";
    }
    auto out = plan_table(answer, style);
    if (answer.plan.vms.empty()) {
        out += paint("nothing is made", Tone::bad, style.colour) +
               ": it would be applied to no VM that there is\n";
    }
    return out;
}

json::value to_json(const TunedListing& answer) {
    json::array rows;
    for (const auto& policy : answer.policies) {
        json::object row;
        row["policy"] = json_text(policy.name);
        row["expires"] = json_time(policy.end);
        row["over"] = policy.end && *policy.end <= answer.now;
        row["selectors"] =
            policy.selectors ? json::value(json_selectors(*policy.selectors)) : nullptr;
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string to_table(const TunedListing& answer, const TableStyle& style) {
    if (answer.policies.empty()) {
        return "there are no tuned policies\n";
    }
    Table table({"POLICY", "EXPIRES", "LEFT", "CHOOSES"});
    for (const auto& policy : answer.policies) {
        const bool over = policy.end && *policy.end <= answer.now;
        table.add({{.text = policy.name},
                   {.text = policy.end ? rfc3339(*policy.end) : "not by itself",
                    .tone = policy.end ? Tone::plain : Tone::bad},
                   {.text = !policy.end ? "-"
                            : over      ? "over"
                                        : age_text(*policy.end - answer.now),
                    .tone = over ? Tone::doubtful : Tone::plain},
                   {.text = policy.selectors ? to_text(*policy.selectors) : "nothing"}});
    }
    return table.text(style.colour);
}

json::value to_json(const EndedTune& answer) {
    auto object = json_answer();
    object["ended"] = json_text(answer.policy);
    return object;
}

std::string to_table(const EndedTune& answer, const TableStyle& style) {
    return paint("ended", Tone::good, style.colour) + " " + shown(answer.policy) + "\n";
}

}  // namespace scout::cli
