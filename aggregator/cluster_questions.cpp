// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cluster_questions.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "aggregator/kubevirts.h"
#include "base/logging.h"
#include "fleet/dump_fleet.h"
#include "wire/convert.h"
#include "wire/fleet_messages.h"
#include "wire/json.h"

namespace scout::aggregator {

/// A question with the objects that its answer rests on, as they are now.
struct ClusterQuestion {
    Question question;
    cluster::LevelOptions levels;
    std::shared_ptr<const migration::CpuMap> map;
    WallTime moment;
    std::vector<std::shared_ptr<const kube::Node>> nodes;
    std::vector<kube::KubeVirt> kubevirts;
    std::vector<std::shared_ptr<const kube::Vmi>> vmis;
    std::vector<std::shared_ptr<const kube::Migration>> migrations;
    std::vector<std::shared_ptr<const kube::LauncherPod>> launchers;
    std::vector<std::shared_ptr<const cluster::CpuProfile>> profiles;
};

namespace {

using namespace std::chrono_literals;
using Kind = Question::Kind;

constexpr auto work_limit = 20s;
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

std::string option_of(const Question& question, const std::string& key) {
    const auto values = options_of(question, key);
    return values.empty() ? std::string{} : values.front();
}

/// The parameters that a kind takes.
std::vector<std::string_view> parameters(Kind kind) {
    switch (kind) {
        case Kind::vmis:
        case Kind::baseline:
            return {"node"};
        case Kind::node_where:
        case Kind::vmi_where:
            return {"target"};
        default:
            return {};
    }
}

Status check(const Question& question) {
    const auto known = parameters(question.kind);
    for (const auto& [key, value] : question.options) {
        if (std::find(known.begin(), known.end(), key) == known.end()) {
            return fail(Errc::invalid, "unknown parameter " + log_value(key) + ": expected " +
                                           (known.empty() ? "none" : std::string{known.front()}));
        }
        if (question.kind != Kind::baseline && question.options.count(key) > 1) {
            return fail(Errc::invalid, "expected one " + key + ", found several");
        }
    }
    if (!question.may_see_nodes && question.options.contains("target")) {
        return fail(Errc::refused, "target: only who may list nodes may name one");
    }
    return {};
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

Result<std::string> tell_vmis(fleet::DumpFleet& fleet, const ClusterQuestion& asked) {
    if (asked.vmis.size() > most_vmis) {
        return fail(Errc::invalid, "expected at most " + std::to_string(most_vmis) +
                                       " VMIs in one answer, found " +
                                       std::to_string(asked.vmis.size()) +
                                       ": ask by namespace, or by ?node=");
    }
    return told(fleet.guests(option_of(asked.question, "node")));
}

/// In the pool.
Result<std::string> respond(const ClusterQuestion& asked) {
    auto dump = dump_of(asked);
    const auto nodes = dump.objects.nodes.size();
    if (!asked.question.may_see_nodes) {
        hide_names(dump.objects);
    }
    fleet::DumpFleet fleet(std::move(dump), {.machine_type = asked.levels.machine_type,
                                             .map = asked.map.get(),
                                             .layer = asked.levels.layer,
                                             .counting = asked.levels.counting,
                                             .most_refusals = most_refusals});
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
        case Kind::vmi_why:
        case Kind::pod_why:
            break;  // not of these objects: CauseStories
        case Kind::matrix:
            return tell_matrix(fleet, nodes);
        case Kind::baseline:
            return told(fleet.baseline(options_of(question, "node")));
    }
    return fail(Errc::internal, "a question of no known kind");
}

template <class T, class Wanted>
void gather_all(const kube::Informer<T>& informer, std::vector<std::shared_ptr<const T>>& out,
                Wanted wanted) {
    informer.each([&out, &wanted](const auto& object) {
        if (wanted(*object)) {
            out.push_back(object);
        }
    });
}

constexpr auto every = [](const auto& /*object*/) { return true; };

}  // namespace

ClusterQuestions::ClusterQuestions(Sources sources, cluster::LevelOptions levels,
                                   BlockingPool& pool, const Clock& clock)
    : sources_(sources),
      levels_(std::move(levels)),
      pool_(pool),
      clock_(clock),
      stories_({.vmis = sources.vmis, .launchers = sources.launchers, .history = sources.history}) {
    if (levels_.map != nullptr) {
        map_ = std::make_shared<const migration::CpuMap>(*levels_.map);
    }
}

Task<Result<std::string>> ClusterQuestions::answer(Question question) {
    if (auto fit = check(question); !fit) {
        co_return fail(std::move(fit.error()));
    }
    if (question.kind == Kind::vmi_why || question.kind == Kind::pod_why) {
        co_return told(stories_.tell(question));
    }
    if (auto known = listed(question.kind); !known) {
        co_return fail(std::move(known.error()));
    }
    const auto asked = std::make_shared<const ClusterQuestion>(gather(std::move(question)));
    auto work = [asked] { return respond(*asked); };
    auto answer = co_await offload(pool_, work_limit, std::move(work));
    co_return answer;
}

/// What an answer rests on must have been read: a kind that is missing would make a wrong one.
Status ClusterQuestions::listed(Kind kind) const {
    const auto unread = [](const auto& informer, std::string_view name) -> Status {
        if (informer.synced()) {
            return {};
        }
        const auto& trouble = informer.reflector().trouble();
        return fail(Errc::unavailable,
                    trouble.empty() ? std::string{name} + " have not been read yet" : trouble);
    };
    for (const auto& status :
         {unread(sources_.nodes, "nodes"), unread(sources_.kubevirts, "KubeVirt objects"),
          unread(sources_.vmis, "VMIs"), unread(sources_.profiles, "CPUProfiles")}) {
        if (!status) {
            return status;
        }
    }
    if (kind != Kind::vmi_where && kind != Kind::upgrade_impact) {
        return {};
    }
    auto status = unread(sources_.migrations, "migrations");
    return status ? unread(sources_.launchers, "launcher pods") : status;
}

ClusterQuestion ClusterQuestions::gather(Question question) const {
    ClusterQuestion asked;
    asked.question = std::move(question);
    asked.levels = cluster::with_settings(levels_, sources_.settings.current().levels);
    asked.map = map_;
    asked.moment = clock_.wall();
    asked.kubevirts = kubevirts_of(sources_.kubevirts);
    gather_all(sources_.nodes, asked.nodes, every);
    gather_all(sources_.profiles, asked.profiles, every);
    gather_guests(asked);
    return asked;
}

void ClusterQuestions::gather_guests(ClusterQuestion& asked) const {
    const auto& space = asked.question.space;
    const auto& name = asked.question.name;
    switch (asked.question.kind) {
        case Kind::nodes:
            gather_all(sources_.vmis, asked.vmis, every);
            break;
        case Kind::node:
        case Kind::upgrade_impact:
            if (asked.question.may_see_vmis) {
                gather_all(sources_.vmis, asked.vmis, every);
                gather_all(sources_.launchers, asked.launchers, every);
            }
            break;
        case Kind::vmis: {
            const auto node = option_of(asked.question, "node");
            gather_all(sources_.vmis, asked.vmis, [&space, &node](const auto& vmi) {
                return (space.empty() || vmi.meta.space == space) &&
                       (node.empty() || vmi.node == node);
            });
            break;
        }
        case Kind::vmi_where: {
            if (const auto vmi = sources_.vmis.find(space, name)) {
                asked.vmis.push_back(vmi);
            }
            const auto of_guest = [&space, &name](const auto& object) {
                return object.vmi_name == name && object.meta.space == space;
            };
            gather_all(sources_.migrations, asked.migrations, of_guest);
            gather_all(sources_.launchers, asked.launchers, of_guest);
            break;
        }
        case Kind::node_where:
        case Kind::vmi_why:
        case Kind::pod_why:
        case Kind::matrix:
        case Kind::baseline:
            break;
    }
}

}  // namespace scout::aggregator
