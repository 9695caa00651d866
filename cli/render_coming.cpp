// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "cli/json_parts.h"
#include "cli/render_json.h"
#include "cli/render_table.h"
#include "cli/table_parts.h"
#include "cli/text.h"

/// Answers about what may come: `protection`.
namespace scout::cli {
namespace {

namespace json = boost::json;
using migration::MigrationCourse;
using migration::ProtectionVerdict;

std::optional<std::int64_t> whole_seconds(const MigrationCourse& course) {
    return course.moved() ? std::optional<std::int64_t>{std::chrono::ceil<std::chrono::seconds>(
                                                            course.duration)
                                                            .count()}
                          : std::nullopt;
}

json::value json_seconds(const MigrationCourse& course) {
    const auto time = whole_seconds(course);
    return time ? json::value(*time) : json::value(nullptr);
}

json::value json_forecast(const std::optional<migration::MigrationForecast>& forecast) {
    if (!forecast) {
        return nullptr;
    }
    json::object object;
    object["optimisticSeconds"] = json_seconds(forecast->optimistic);
    object["expectedSeconds"] = json_seconds(forecast->expected);
    object["pessimisticSeconds"] = json_seconds(forecast->pessimistic);
    return object;
}

json::object json_vm(const cluster::VmProtection& vm) {
    const auto& answer = vm.answer;
    json::object object;
    object["vmi"] = json_text(vm.vmi);
    object["node"] = json_text_or_null(vm.node);
    object["strategy"] = json_text(to_string(vm.strategy));
    object["strategyOf"] = vm.strategy_of_cluster ? "cluster" : "vmi";
    object["verdict"] = json_text(to_string(answer.verdict));
    object["why"] = json_text(shortened(answer.why));
    object["advice"] = json_text_or_null(vm.advice);
    object["budgetSeconds"] = answer.budget.ends.count();
    object["budgetLimit"] = json_text(to_string(answer.budget.limit));
    object["forecast"] = json_forecast(answer.forecast);
    object["neededSeconds"] =
        answer.needed ? json::value(answer.needed->count()) : json::value(nullptr);
    object["memoryBytes"] = vm.memory > 0 ? json::value(vm.memory) : json::value(nullptr);
    object["withOthers"] = vm.with_others ? json::value(*vm.with_others) : json::value(nullptr);
    return object;
}

Tone tone_of(ProtectionVerdict verdict) {
    switch (verdict) {
        case ProtectionVerdict::guarded:
            return Tone::good;
        case ProtectionVerdict::unknown:
            return Tone::doubtful;
        case ProtectionVerdict::too_big:
        case ProtectionVerdict::not_migratable:
        case ProtectionVerdict::strategy:
        case ProtectionVerdict::no_hook:
            break;
    }
    return Tone::bad;
}

/// "3/5/22 s"
std::string forecast_text(const std::optional<migration::MigrationForecast>& forecast) {
    if (!forecast) {
        return {};
    }
    const auto part = [](const MigrationCourse& course) {
        const auto time = whole_seconds(course);
        return time ? std::to_string(*time) : std::string{"never"};
    };
    return part(forecast->optimistic) + "/" + part(forecast->expected) + "/" +
           part(forecast->pessimistic) + " s";
}

std::string why_text(const cluster::VmProtection& vm) {
    auto why = shortened(vm.answer.why);
    if (vm.with_others && !*vm.with_others) {
        why += "; if all VMs of its node are told to stop at once, others are moved first";
    }
    return why;
}

/// VMs that want the same are one line.
std::string advice_lines(const std::vector<cluster::VmProtection>& vms, const TableStyle& style) {
    constexpr std::size_t most_names = 3;
    std::map<std::string, std::vector<std::string>> by_advice;
    for (const auto& vm : vms) {
        if (!vm.advice.empty()) {
            by_advice[vm.advice].push_back(vm.vmi);
        }
    }
    std::string out;
    for (const auto& [advice, names] : by_advice) {
        const auto list = style.wide ? migration::join(names) : short_list(names, most_names);
        out += paint(shown(list), Tone::strong, style.colour) + ": " + shown(advice) + "\n";
    }
    return out.empty() ? out : out + "\n";
}

}  // namespace

json::value to_json(const ProtectionListing& answer) {
    json::array vms;
    for (const auto& vm : answer.vms) {
        vms.push_back(json_vm(vm));
    }
    auto object = json_answer();
    object["vms"] = std::move(vms);
    object["notes"] = json_sentences(answer.notes);
    return object;
}

std::string to_table(const ProtectionListing& answer, const TableStyle& style) {
    if (answer.vms.empty()) {
        return "no VM runs there\n";
    }
    Table table({"VM", "NODE", "STRATEGY", "TIME", "MOVE", "VERDICT", "WHY"});
    for (const auto& vm : answer.vms) {
        const auto& verdict = vm.answer.verdict;
        table.add({{.text = vm.vmi, .tone = Tone::strong},
                   {.text = vm.node},
                   {.text = std::string(to_string(vm.strategy)) +
                            (vm.strategy_of_cluster ? " (cluster)" : "")},
                   {.text = std::to_string(vm.answer.budget.ends.count()) + " s"},
                   {.text = forecast_text(vm.answer.forecast)},
                   {.text = std::string(to_string(verdict)), .tone = tone_of(verdict)},
                   {.text = why_text(vm)}});
    }
    auto out = table.text(style.colour) + "\n" + advice_lines(answer.vms, style);
    return out + note_lines(answer.notes);
}

}  // namespace scout::cli
