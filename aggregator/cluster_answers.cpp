// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cluster_answers.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "base/logging.h"
#include "fleet/dump_fleet.h"
#include "wire/convert.h"
#include "wire/fleet_messages.h"
#include "wire/json.h"

namespace scout::aggregator {
namespace {

using Kind = Question::Kind;

/// The answer names every pair.
constexpr std::size_t most_in_matrix = 300;
constexpr std::size_t most_refusals = 2000;
constexpr std::size_t most_vmis = 5000;

template <class T>
std::vector<T> in_order(const std::vector<std::shared_ptr<const T>>& objects) {
    std::vector<T> out;
    out.reserve(objects.size());
    for (const auto& object : objects) {
        out.push_back(*object);
    }
    std::sort(out.begin(), out.end(), [](const T& a, const T& b) {
        return std::tie(a.meta.space, a.meta.name) < std::tie(b.meta.space, b.meta.name);
    });
    return out;
}

/// VMIs that are only counted, by tell_nodes(), are not among them.
cluster::Dump dump_of(const ClusterQuestion& asked) {
    cluster::Dump dump;
    dump.moment = asked.moment;
    dump.objects.nodes = in_order(asked.nodes);
    dump.objects.kubevirts = asked.kubevirts;
    if (asked.question.kind != Kind::nodes) {
        dump.objects.vmis = in_order(asked.vmis);
    }
    dump.objects.migrations = in_order(asked.migrations);
    dump.objects.launchers = in_order(asked.launchers);
    dump.objects.profiles = in_order(asked.profiles);
    dump.objects.policies = in_order(asked.policies);
    dump.objects.namespaces = in_order(asked.namespaces);
    dump.objects.plugins = in_order(asked.plugins);
    dump.objects.configs = in_order(asked.configs);
    return dump;
}

/// Nodes are called by their number: no text of an answer can name them then.
void hide_names(cluster::Objects& objects) {
    std::map<std::string, std::string, std::less<>> numbers;
    for (auto& node : objects.nodes) {
        auto number = "node-" + std::to_string(numbers.size() + 1);
        numbers.emplace(std::exchange(node.meta.name, number), number);
    }
    const auto hide = [&numbers](kube::SharedText& name) {
        const auto found = numbers.find(name.view());
        name = kube::SharedText(found == numbers.end() ? std::string_view{} : found->second);
    };
    for (auto& vmi : objects.vmis) {
        hide(vmi.node);
        if (vmi.migration) {
            hide(vmi.migration->source_node);
            hide(vmi.migration->target_node);
        }
    }
    for (auto& pod : objects.launchers) {
        hide(pod.node);
    }
}

std::vector<std::string> options_of(const Question& question, const std::string& key) {
    std::vector<std::string> values;
    const auto [begin, end] = question.options.equal_range(key);
    for (auto each = begin; each != end; ++each) {
        values.push_back(each->second);
    }
    return values;
}

/// The parameters that a kind takes.
std::vector<std::string_view> parameters(Kind kind) {
    switch (kind) {
        case Kind::vmis:
        case Kind::protections:
        case Kind::pressure:
        case Kind::baseline:
            return {"node"};
        case Kind::node_where:
        case Kind::vmi_where:
            return {"target"};
        default:
            return {};
    }
}

template <class Answer>
Result<std::string> told(Result<Answer> answer) {
    if (!answer) {
        return fail(std::move(answer.error()));
    }
    return wire::to_json(wire::to_wire(*answer));
}

Result<std::string> tell_nodes(fleet::DumpFleet& fleet, const ClusterQuestion& asked) {
    fleet::GuestCounts guests;
    for (const auto& vmi : asked.vmis) {
        guests.add(*vmi);
    }
    auto answer = fleet.nodes();
    if (answer) {
        for (auto& line : answer->nodes) {
            line.guests = guests.on(line.name);
        }
    }
    return told(std::move(answer));
}

constexpr const char* no_vmis = "VMIs are not told, for you may not list those of all namespaces";

Result<std::string> tell_node(fleet::DumpFleet& fleet, const Question& question) {
    auto answer = fleet.node(question.name);
    if (answer && !question.may_see_vmis) {
        answer->line.notices.emplace_back(no_vmis);
    }
    return told(std::move(answer));
}

Result<std::string> tell_upgrade(fleet::DumpFleet& fleet, const Question& question) {
    auto answer = fleet.upgrade_impact(question.name);
    if (answer && !question.may_see_vmis) {
        answer->notes.emplace_back(no_vmis);
    }
    return told(std::move(answer));
}

Result<std::string> tell_where(fleet::DumpFleet& fleet, const ClusterQuestion& asked) {
    const auto& question = asked.question;
    fleet::FleetSubject subject;
    if (question.kind == Kind::node_where) {
        subject.subject = {
            .kind = fleet::SubjectKind::host_model, .name = {}, .node = question.name};
    } else {
        subject.subject.name = question.space + "/" + question.name;
    }
    auto placement = fleet.where(subject, option_of(question, "target"));
    if (placement && !question.may_see_nodes) {
        placement->notes.emplace_back("nodes are numbered, for you may not list nodes");
    }
    return told(std::move(placement));
}

/// What was told without the launchers that it names.
void leave_out_launchers(fleet::PressureListing& listing) {
    for (auto& node : listing.nodes) {
        if (node.told) {
            auto report = *node.told->report;
            report.order.clear();
            node.told->report =
                std::make_shared<const migration::PressureReport>(std::move(report));
        }
    }
}

/// Launchers are named to who may list VMIs.
Result<std::string> tell_pressure(fleet::DumpFleet& fleet, const Question& question) {
    auto answer = fleet.pressure(options_of(question, "node"));
    if (!answer) {
        return fail(std::move(answer.error()));
    }
    if (!question.may_see_vmis) {
        leave_out_launchers(*answer);
        answer->notes.emplace_back(no_vmis);
    }
    return wire::to_json(wire::to_wire(*answer));
}

Result<std::string> tell_matrix(fleet::DumpFleet& fleet, std::size_t nodes) {
    if (nodes > most_in_matrix) {
        return fail(Errc::invalid, "expected at most " + std::to_string(most_in_matrix) +
                                       " nodes for a matrix, found " + std::to_string(nodes) +
                                       ": 'nodes' tells their levels, and 'scoutctl --live "
                                       "matrix' makes one by itself");
    }
    auto matrix = fleet.matrix();
    if (!matrix) {
        return fail(std::move(matrix.error()));
    }
    return wire::to_json(wire::to_wire(std::get<fleet::LevelsAnswer>(*matrix)));
}

/// Nodes are not numbered here, for what is said rests on their names; they are left out.
Result<std::string> tell_protection(fleet::DumpFleet& fleet, const ClusterQuestion& asked) {
    const auto& question = asked.question;
    fleet::ProtectionQuestion wanted{.vms = {}, .node = option_of(question, "node")};
    if (question.kind == Kind::vmi_protection) {
        wanted.vms.push_back(question.space + "/" + question.name);
    }
    auto answer = fleet.protection(wanted);
    if (!answer) {
        return fail(std::move(answer.error()));
    }
    for (auto& vm : answer->vms) {
        if (!question.may_see_nodes) {
            vm.node.clear();
        }
        // Of a namespace: VMs of others are on these nodes too.
        if (question.kind == Kind::protections && !question.space.empty()) {
            vm.with_others.reset();
        }
    }
    return wire::to_json(wire::to_wire(*answer));
}

/// Before it is read as objects: a whole cluster in one answer is too much.
Status check_size(const ClusterQuestion& asked) {
    const auto kind = asked.question.kind;
    if ((kind != Kind::vmis && kind != Kind::protections) || asked.vmis.size() <= most_vmis) {
        return {};
    }
    return fail(Errc::invalid,
                "expected at most " + std::to_string(most_vmis) + " VMIs in one answer, found " +
                    std::to_string(asked.vmis.size()) + ": ask by namespace, or by ?node=");
}

/// The VMI that is asked about is handed over, if there is one.
Status check_vmi(const ClusterQuestion& asked) {
    const auto kind = asked.question.kind;
    if ((kind != Kind::vmi_where && kind != Kind::vmi_protection) || !asked.vmis.empty()) {
        return {};
    }
    return fail(Errc::not_found,
                "no VMI " + log_value(asked.question.space + "/" + asked.question.name));
}

Result<std::string> tell_vmis(fleet::DumpFleet& fleet, const ClusterQuestion& asked) {
    return told(fleet.guests(option_of(asked.question, "node")));
}

Result<std::string> tell(fleet::DumpFleet& fleet, const ClusterQuestion& asked, std::size_t nodes) {
    const auto& question = asked.question;
    switch (question.kind) {
        case Kind::nodes:
            return tell_nodes(fleet, asked);
        case Kind::node:
            return tell_node(fleet, question);
        case Kind::upgrade_impact:
            return tell_upgrade(fleet, question);
        case Kind::vmis:
            return tell_vmis(fleet, asked);
        case Kind::node_where:
        case Kind::vmi_where:
            return tell_where(fleet, asked);
        case Kind::vmi_protection:
        case Kind::protections:
            return tell_protection(fleet, asked);
        case Kind::vmi_why:
        case Kind::pod_why:
            break;  // not of these objects: tell_story()
        case Kind::pressure:
            return tell_pressure(fleet, question);
        case Kind::matrix:
            return tell_matrix(fleet, nodes);
        case Kind::baseline:
            return told(fleet.baseline(options_of(question, "node")));
    }
    return fail(Errc::internal, "a question of no known kind");
}

}  // namespace

bool is_about_protection(Question::Kind kind) noexcept {
    return kind == Kind::vmi_protection || kind == Kind::protections;
}

std::string option_of(const Question& question, const std::string& key) {
    const auto found = question.options.find(key);
    return found == question.options.end() ? std::string{} : found->second;
}

Status check_parameters(const Question& question) {
    const auto known = parameters(question.kind);
    for (const auto& [key, value] : question.options) {
        if (std::find(known.begin(), known.end(), key) == known.end()) {
            return fail(Errc::invalid, "unknown parameter " + log_value(key) + ": expected " +
                                           (known.empty() ? "none" : std::string{known.front()}));
        }
        if (question.kind != Kind::baseline && question.kind != Kind::pressure &&
            question.options.count(key) > 1) {
            return fail(Errc::invalid, "expected one " + key + ", found several");
        }
    }
    if (!question.may_see_nodes && question.options.contains("target")) {
        return fail(Errc::refused, "target: only who may list nodes may name one");
    }
    return {};
}

Result<std::string> tell_story(Result<cluster::CauseStory> story) {
    return told(std::move(story));
}

Result<std::string> respond(const ClusterQuestion& asked) {
    if (auto fit = check_size(asked); !fit) {
        return fail(std::move(fit.error()));
    }
    if (auto there = check_vmi(asked); !there) {
        return fail(std::move(there.error()));
    }
    auto dump = dump_of(asked);
    const auto nodes = dump.objects.nodes.size();
    if (!asked.question.may_see_nodes && !is_about_protection(asked.question.kind)) {
        hide_names(dump.objects);
    }
    fleet::DumpFleet fleet(std::move(dump), {.machine_type = asked.levels.machine_type,
                                             .map = asked.map.get(),
                                             .layer = asked.levels.layer,
                                             .counting = asked.levels.counting,
                                             .most_refusals = most_refusals,
                                             .pressures = asked.pressures});
    return tell(fleet, asked, nodes);
}

}  // namespace scout::aggregator
