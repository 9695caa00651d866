// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cluster_questions.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "aggregator/cluster_answers.h"
#include "aggregator/kubevirts.h"
#include "aggregator/messages.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using Kind = Question::Kind;

constexpr auto work_limit = 20s;

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
      stories_({.nodes = sources.objects.nodes,
                .vmis = sources.objects.vmis,
                .launchers = sources.objects.launchers,
                .history = sources.history}) {
    if (levels_.map != nullptr) {
        map_ = std::make_shared<const migration::CpuMap>(*levels_.map);
    }
}

Task<Result<std::string>> ClusterQuestions::answer(Question question) {
    if (auto fit = check_parameters(question); !fit) {
        co_return fail(std::move(fit.error()));
    }
    if (question.kind == Kind::vmi_why || question.kind == Kind::pod_why) {
        co_return tell_story(stories_.tell(question));
    }
    if (auto known = listed(question.kind); !known) {
        co_return fail(std::move(known.error()));
    }
    const auto asked = std::make_shared<const ClusterQuestion>(gather(std::move(question)));
    auto work = [asked] { return respond(*asked); };
    auto answer = co_await offload(pool_, work_limit, std::move(work));
    co_return answer;
}

/// What an answer rests on must have been read, and may be read still: a kind that is missing, or
/// of an hour ago, would make a wrong one.
Status ClusterQuestions::listed(Kind kind) const {
    const auto unread = [](const auto& informer, std::string_view name) -> Status {
        if (informer.synced() && !informer.reflector().grows_stale()) {
            return {};
        }
        const auto& trouble = informer.reflector().trouble();
        return fail(Errc::unavailable,
                    trouble.empty() ? std::string{name} + " have not been read yet" : trouble);
    };
    for (const auto& status : {unread(sources_.objects.nodes, "nodes"),
                               unread(sources_.objects.kubevirts, "KubeVirt objects"),
                               unread(sources_.objects.vmis, "VMIs"),
                               unread(sources_.objects.cpu_profiles, "CPUProfiles")}) {
        if (!status) {
            return status;
        }
    }
    if (is_about_protection(kind)) {
        for (const auto& status : {unread(sources_.objects.launchers, "launcher pods"),
                                   unread(sources_.objects.policies, "MigrationPolicies"),
                                   unread(sources_.objects.namespaces, "namespaces"),
                                   unread(sources_.objects.configs, "ScoutConfigs")}) {
            if (!status) {
                return status;
            }
        }
        // KubeVirt before 1.9 has no plugins.
        return sources_.objects.plugins.reflector().state() == kube::ReflectorState::absent
                   ? Status{}
                   : unread(sources_.objects.plugins, "plugins");
    }
    if (kind != Kind::vmi_where && kind != Kind::upgrade_impact) {
        return {};
    }
    auto status = unread(sources_.objects.migrations, "migrations");
    return status ? unread(sources_.objects.launchers, "launcher pods") : status;
}

ClusterQuestion ClusterQuestions::gather(Question question) const {
    ClusterQuestion asked;
    asked.question = std::move(question);
    asked.levels = cluster::with_settings(levels_, sources_.settings.current().levels);
    asked.map = map_;
    asked.moment = clock_.wall();
    asked.kubevirts = kubevirts_of(sources_.objects.kubevirts);
    gather_all(sources_.objects.nodes, asked.nodes, every);
    gather_all(sources_.objects.cpu_profiles, asked.profiles, every);
    gather_guests(asked);
    if (registry_ != nullptr && sources_.leads()) {
        asked.pressures = told_pressures(*registry_, clock_.steady());
    }
    return asked;
}

void ClusterQuestions::gather_guests(ClusterQuestion& asked) const {
    const auto& space = asked.question.space;
    switch (asked.question.kind) {
        case Kind::nodes:
            gather_all(sources_.objects.vmis, asked.vmis, every);
            break;
        case Kind::node:
        case Kind::upgrade_impact:
            if (asked.question.may_see_vmis) {
                gather_all(sources_.objects.vmis, asked.vmis, every);
                gather_all(sources_.objects.launchers, asked.launchers, every);
            }
            break;
        case Kind::vmis: {
            const auto node = option_of(asked.question, "node");
            gather_all(sources_.objects.vmis, asked.vmis, [&space, &node](const auto& vmi) {
                return (space.empty() || vmi.meta.space == space) &&
                       (node.empty() || vmi.node == node);
            });
            break;
        }
        case Kind::vmi_where:
            gather_guest(asked);
            break;
        case Kind::vmi_protection:
        case Kind::protections:
            gather_protection(asked);
            break;
        case Kind::node_where:
        case Kind::vmi_why:
        case Kind::pod_why:
        case Kind::pressure:
        case Kind::matrix:
        case Kind::baseline:
            break;
    }
}

void ClusterQuestions::gather_guest(ClusterQuestion& asked) const {
    const auto& space = asked.question.space;
    const auto& name = asked.question.name;
    if (const auto vmi = sources_.objects.vmis.find(space, name)) {
        asked.vmis.push_back(vmi);
    }
    const auto of_guest = [&space, &name](const auto& object) {
        return object.vmi_name == name && object.meta.space == space;
    };
    gather_all(sources_.objects.migrations, asked.migrations, of_guest);
    gather_all(sources_.objects.launchers, asked.launchers, of_guest);
}

/// With a VMI the others of its node: KubeVirt moves a few at a time.
void ClusterQuestions::gather_protection(ClusterQuestion& asked) const {
    const auto& space = asked.question.space;
    auto node = option_of(asked.question, "node");
    if (asked.question.kind == Kind::vmi_protection) {
        const auto vmi = sources_.objects.vmis.find(space, asked.question.name);
        if (!vmi) {
            return;
        }
        node = vmi->node.str();
        if (node.empty()) {
            asked.vmis.push_back(vmi);
            return;
        }
    }
    const bool whole_nodes = asked.question.kind == Kind::vmi_protection;
    const auto wanted = [&space, &node, whole_nodes](const auto& object) {
        return (whole_nodes || space.empty() || object.meta.space == space) &&
               (node.empty() || object.node == node);
    };
    gather_all(sources_.objects.vmis, asked.vmis, wanted);
    gather_all(sources_.objects.launchers, asked.launchers, wanted);
    gather_all(sources_.objects.policies, asked.policies, every);
    gather_all(sources_.objects.namespaces, asked.namespaces, every);
    gather_all(sources_.objects.plugins, asked.plugins, every);
    gather_all(sources_.objects.configs, asked.configs, every);
}

}  // namespace scout::aggregator
