// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "wire/checks.h"
#include "wire/convert_parts.h"
#include "wire/fleet_messages.h"
#include "wire/pressure_messages.h"

/// Answers about what is coming to the VMs of a cluster.
namespace scout::wire {
namespace {

using migration::MigrationCourse;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// "NAMESPACE/NAME"
constexpr std::size_t full_name_limit = 63 + 1 + name_limit;
/// Sums of such times stay in range.
constexpr std::uint64_t most_ms = std::uint64_t{1} << 50U;

std::optional<std::uint64_t> told_ms(const MigrationCourse& course) {
    return course.moved() ? std::optional{static_cast<std::uint64_t>(course.duration.count())}
                          : std::nullopt;
}

/// How it ends is not told, only whether.
MigrationCourse course_of(bool moves, std::uint64_t ms) {
    MigrationCourse course;
    if (moves) {
        course.end = migration::MigrationEnd::converged;
        course.duration = milliseconds{std::min(ms, most_ms)};
    }
    return course;
}

migration::StopLimit limit_named(const std::string& word) {
    using migration::StopLimit;
    constexpr std::array all{StopLimit::launcher, StopLimit::pod, StopLimit::deletion,
                             StopLimit::kubelet};
    const auto* const found = std::find_if(
        all.begin(), all.end(), [&word](StopLimit limit) { return to_string(limit) == word; });
    return found == all.end() ? StopLimit::launcher : *found;
}

v1::ProtectionResponse::Vm message_of(const cluster::VmProtection& vm) {
    v1::ProtectionResponse::Vm out;
    out.set_vmi(vm.vmi);
    out.set_node(vm.node);
    out.set_strategy(std::string{to_string(vm.strategy)});
    out.set_strategy_of_cluster(vm.strategy_of_cluster);
    out.set_memory_bytes(vm.memory);
    out.set_verdict(std::string{to_string(vm.answer.verdict)});
    out.set_budget_seconds(static_cast<std::uint64_t>(vm.answer.budget.ends.count()));
    out.set_budget_limit(std::string{to_string(vm.answer.budget.limit)});
    if (vm.answer.forecast) {
        const auto& [optimistic, expected, pessimistic] = *vm.answer.forecast;
        if (const auto ms = told_ms(optimistic)) {
            out.set_optimistic_ms(*ms);
        }
        if (const auto ms = told_ms(expected)) {
            out.set_expected_ms(*ms);
        }
        if (const auto ms = told_ms(pessimistic)) {
            out.set_pessimistic_ms(*ms);
        }
    }
    if (vm.answer.needed) {
        out.set_needed_seconds(static_cast<std::uint64_t>(vm.answer.needed->count()));
    }
    out.set_why(vm.answer.why);
    out.set_advice(vm.advice);
    if (vm.with_others) {
        out.set_with_others(*vm.with_others);
    }
    return out;
}

cluster::VmProtection vm_of(const v1::ProtectionResponse::Vm& message, Checks& checks) {
    cluster::VmProtection vm;
    vm.vmi = cut(message.vmi(), full_name_limit);
    vm.node = checks.name("vms.node", message.node());
    vm.strategy =
        migration::strategy_named(message.strategy()).value_or(migration::EvictionStrategy::none);
    vm.strategy_of_cluster = message.strategy_of_cluster();
    vm.memory = message.memory_bytes();
    vm.answer.verdict = migration::protection_verdict_named(message.verdict());
    vm.answer.budget = {.ends = seconds{std::min(message.budget_seconds(), most_ms)},
                        .limit = limit_named(message.budget_limit())};
    if (message.memory_bytes() > 0) {
        vm.answer.forecast = {
            .optimistic = course_of(message.has_optimistic_ms(), message.optimistic_ms()),
            .expected = course_of(message.has_expected_ms(), message.expected_ms()),
            .pessimistic = course_of(message.has_pessimistic_ms(), message.pessimistic_ms())};
    }
    if (message.has_needed_seconds()) {
        vm.answer.needed = seconds{std::min(message.needed_seconds(), most_ms)};
    }
    vm.answer.why = cut(message.why(), text_limit);
    vm.advice = cut(message.advice(), text_limit);
    if (message.has_with_others()) {
        vm.with_others = message.with_others();
    }
    return vm;
}

}  // namespace

v1::ProtectionResponse to_wire(const fleet::ProtectionListing& answer) {
    v1::ProtectionResponse out;
    for (const auto& vm : answer.vms) {
        *out.add_vms() = message_of(vm);
    }
    assign(out.mutable_notes(), answer.notes);
    return out;
}

Result<fleet::ProtectionListing> from_wire(const v1::ProtectionResponse& response) {
    Checks checks;
    fleet::ProtectionListing answer;
    for (const auto& message : response.vms()) {
        answer.vms.push_back(vm_of(message, checks));
    }
    if (checks.count("notes", response.notes_size())) {
        for (const auto& note : response.notes()) {
            answer.notes.push_back(cut(note, text_limit));
        }
    }
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()));
    }
    return answer;
}

v1::PressureResponse to_wire(const fleet::PressureListing& answer) {
    v1::PressureResponse out;
    for (const auto& node : answer.nodes) {
        auto& told = *out.add_nodes();
        told.set_name(node.name);
        told.set_freshness(node.told ? freshness_named(node.told->freshness) : v1::NO_AGENT);
        if (node.told) {
            told.set_age_ms(node.told->age_ms);
            *told.mutable_pressure() = to_wire(*node.told->report);
        }
        for (const auto& condition : node.conditions) {
            auto& one = *told.add_conditions();
            one.set_type(condition.type);
            one.set_status(condition.status);
            one.set_since_unix_ms(condition.since_unix_ms);
        }
        assign(told.mutable_taints(), node.taints);
    }
    assign(out.mutable_notes(), answer.notes);
    out.set_hears_agents(answer.hears_agents);
    return out;
}

Result<fleet::PressureListing> from_wire(const v1::PressureResponse& response) {
    Checks checks;
    fleet::PressureListing answer;
    if (!checks.count("nodes", response.nodes_size(), nodes_limit)) {
        return fail(std::move(checks.status().error()));
    }
    for (const auto& message : response.nodes()) {
        auto& node = answer.nodes.emplace_back();
        node.name = checks.name("nodes.name", message.name());
        if (message.has_pressure()) {
            auto report = from_wire(message.pressure());
            if (!report) {
                return fail(std::move(report.error()));
            }
            node.told = {
                .report = std::make_shared<const migration::PressureReport>(*std::move(report)),
                .freshness = freshness_text(message.freshness()),
                .age_ms = message.age_ms()};
        }
        if (checks.count("nodes.conditions", message.conditions_size())) {
            for (const auto& condition : message.conditions()) {
                node.conditions.push_back({.type = cut(condition.type()),
                                           .status = cut(condition.status()),
                                           .since_unix_ms = checks.unix_ms(
                                               "conditions.since", condition.since_unix_ms())});
            }
        }
        // A key and an effect.
        node.taints = checks.names("nodes.taints", message.taints());
    }
    if (checks.count("notes", response.notes_size())) {
        for (const auto& note : response.notes()) {
            answer.notes.push_back(cut(note, text_limit));
        }
    }
    answer.hears_agents = response.hears_agents();
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()));
    }
    return answer;
}

}  // namespace scout::wire
