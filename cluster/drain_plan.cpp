// SPDX-License-Identifier: Apache-2.0
#include "cluster/drain_plan.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "base/duration.h"
#include "cluster/migration_numbers.h"
#include "cluster/scheduling_objects.h"
#include "cluster/vm_placement.h"
#include "cluster/vm_protection.h"
#include "cluster/vm_scheduling.h"
#include "migration/cheapest_change.h"
#include "migration/eviction.h"

namespace scout::cluster {
namespace {

using migration::Placement;
using migration::Verdict;
using std::chrono::seconds;

struct Leaving {
    const kube::Vmi* vmi = nullptr;
    const VmProtection* protection = nullptr;  ///< null: not known
    DrainStep step;
    Placement placement;  ///< if it went first
};

/// Of all VMs, by their names.
using Protections = std::map<std::string, VmProtection, std::less<>>;

std::size_t count(const Placement& placement, Verdict verdict) {
    return static_cast<std::size_t>(
        std::count_if(placement.nodes.begin(), placement.nodes.end(),
                      [verdict](const auto& each) { return each.comparison.verdict == verdict; }));
}

/// What is most in its way where it can go nowhere.
std::string why_not(const Placement& placement) {
    const auto nearest =
        std::find_if(placement.nodes.begin(), placement.nodes.end(),
                     [](const auto& each) { return each.comparison.verdict == Verdict::unknown; });
    const auto& answers = placement.nodes;
    const auto chosen = nearest == answers.end() ? answers.begin() : nearest;
    if (chosen == answers.end()) {
        return "there is no other node";
    }
    const auto& reasons = chosen->comparison.reasons;
    std::string text = reasons.empty() ? std::string{"it can go nowhere"}
                                       : chosen->node + ": " + reasons.front().text;
    if (const auto change = migration::cheapest_change(placement)) {
        text += "; cheapest change: " + *change;
    }
    return text;
}

/// Node to which it is being moved; empty: it is not.
std::string moving_to(const kube::Vmi& vmi) {
    const auto& move = vmi.migration;
    return move && !move->completed ? move->target_node.str() : std::string{};
}

/// Memory of nodes that no pod has asked for, by their names.
std::map<std::string_view, std::int64_t> free_memory(const SchedulingView& view) {
    std::map<std::string_view, std::int64_t> out;
    const auto& nodes = view.cluster().nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        out[nodes[i].name] = view.filters().unrequested(i, "memory");
    }
    return out;
}

/// Plans one VM after the other in a cluster that changes by it: that is copied for each VM that
/// gets a place, and for no other.
class Planner {
public:
    Planner(const Objects& objects, WallTime now, const migration::CpuMap* map)
        : objects_(objects),
          view_(std::make_unique<SchedulingView>(objects_)),
          now_(now),
          map_(map) {}
    Planner(const Planner&) = delete;
    Planner& operator=(const Planner&) = delete;
    Planner(Planner&&) = delete;
    Planner& operator=(Planner&&) = delete;
    ~Planner() = default;

    [[nodiscard]] Placement place(const kube::Vmi& vmi) const {
        return place_vmi(objects_, vmi, now_, map_, {}, view_.get());
    }

    /// Gives it a place, if there is one. One that moves has its own, and its launcher is there.
    void plan(Leaving& one) {
        one.step.target = moving_to(*one.vmi);
        if (!one.step.target.empty()) {
            one.step.verdict = Verdict::can;
            return;
        }
        const auto placement = place(*one.vmi);
        const auto free = free_memory(*view_);
        const std::string* best = nullptr;
        for (const auto& [node, answer] : placement.nodes) {
            if (answer.verdict == Verdict::can &&
                (best == nullptr || free.at(node) > free.at(*best))) {
                best = &node;
            }
        }
        if (best == nullptr) {
            one.step.verdict =
                count(placement, Verdict::unknown) > 0 ? Verdict::unknown : Verdict::cannot;
            one.step.why =
                (one.step.candidates > 0 ? std::string{"VMs that go before it take its places: "}
                                         : std::string{}) +
                why_not(placement);
            return;
        }
        one.step.verdict = Verdict::can;
        one.step.target = *best;
        take_room(*one.vmi, *best);
    }

private:
    /// Its launcher is a new one on that node from now on, and none on its own any more.
    void take_room(const kube::Vmi& vmi, const std::string& node) {
        auto told = std::make_shared<SchedulingObjects>(*objects_.scheduling);
        std::erase_if(told->pods, [this, &vmi](const ScheduledPod& pod) {
            return is_target_of(pod.pod, vmi, objects_);
        });
        const auto launcher =
            std::find_if(told->pods.begin(), told->pods.end(), [&vmi](const ScheduledPod& pod) {
                const auto owner = pod.pod.labels.find("kubevirt.io/created-by");
                return pod.launcher && !pod.final && owner != pod.pod.labels.end() &&
                       owner->second == vmi.meta.uid && pod.pod.node == vmi.node.view();
            });
        if (launcher == told->pods.end()) {
            return;
        }
        launcher->pod.node = node;
        launcher->pod.requests = launcher->when_new;
        objects_.scheduling = std::move(told);
        view_ = std::make_unique<SchedulingView>(objects_);
    }

    Objects objects_;
    std::unique_ptr<SchedulingView> view_;
    WallTime now_;
    const migration::CpuMap* map_;
};

/// When each begins, if so many, at least one, run at once; until the last has ended.
seconds schedule(std::vector<Leaving>& all, unsigned at_once) {
    std::vector<seconds> free_at(at_once, seconds{0});
    for (auto& one : all) {
        if (one.step.verdict != Verdict::can) {
            continue;
        }
        const auto slot = std::min_element(free_at.begin(), free_at.end());
        one.step.begins = *slot;
        *slot += one.step.takes.value_or(seconds{0});
    }
    return *std::max_element(free_at.begin(), free_at.end());
}

/// An eviction by a drain deletes its launcher, and the guest with it.
bool is_shut_down(const kube::Vmi& vmi, const VmProtection& protection) {
    const auto* said = kube::find_condition(vmi.conditions, "LiveMigratable");
    const bool migratable = said != nullptr && said->status == "True";
    return migration::eviction_outcome(protection.strategy, migratable) ==
           migration::EvictionOutcome::evicted;
}

/// How long the move of one that has a place takes, by the forecast.
void add_forecast(const VmProtection& protection, DrainStep& step) {
    const auto& forecast = protection.answer.forecast;
    if (forecast && forecast->expected.moved()) {
        step.takes = std::chrono::ceil<seconds>(forecast->expected.duration);
    } else if (forecast) {
        step.why =
            "its move is not expected to end: it writes faster than it is copied, or takes "
            "longer than it may";
    }
}

/// What a drain does instead of having KubeVirt move it.
void add_strategy(const VmProtection& protection, DrainStep& step) {
    const auto strategy = "its eviction strategy is " + std::string{to_string(protection.strategy)};
    const bool goes = step.verdict == Verdict::can;
    if (step.shut_down) {
        step.why = (goes ? strategy + ": " : step.why + "; ") + "a drain shuts it down" +
                   (goes ? "; move it yourself" : "");
    } else if (goes && protection.strategy == migration::EvictionStrategy::external) {
        step.why = strategy + ": a drain waits for somebody else to move it";
    }
}

/// Those of the node, each placed as if it went first: those that a drain moves first, and of them
/// the hardest to place.
std::vector<Leaving> leaving(const Objects& objects, const std::string& node,
                             const Planner& planner, const Protections& protections) {
    std::vector<Leaving> all;
    for (const auto& vmi : objects.vmis) {
        if (vmi.node.view() != node || !is_running(vmi)) {
            continue;
        }
        auto& one = all.emplace_back(Leaving{&vmi, nullptr, {}, planner.place(vmi)});
        one.step.vmi = full_name(vmi.meta);
        one.step.candidates = count(one.placement, Verdict::can);
        if (const auto found = protections.find(one.step.vmi); found != protections.end()) {
            one.protection = &found->second;
            one.step.shut_down = is_shut_down(vmi, found->second);
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const Leaving& a, const Leaving& b) {
        return std::tuple{a.step.shut_down, a.step.candidates, memory_of(*b.vmi)} <
               std::tuple{b.step.shut_down, b.step.candidates, memory_of(*a.vmi)};
    });
    return all;
}

void plan_all(const DrainPlan& plan, Planner& planner, std::vector<Leaving>& all) {
    for (auto& one : all) {
        if (plan.none_begins.empty()) {
            planner.plan(one);
        } else {
            one.step.why = plan.none_begins;
        }
        if (one.step.verdict == Verdict::can && !moving_to(*one.vmi).empty()) {
            one.step.why = "it moves there already";
            continue;
        }
        if (one.protection != nullptr) {
            if (one.step.verdict == Verdict::can) {
                add_forecast(*one.protection, one.step);
            }
            add_strategy(*one.protection, one.step);
        }
    }
    std::stable_partition(all.begin(), all.end(),
                          [](const Leaving& one) { return one.step.verdict == Verdict::can; });
}

/// KubeVirt takes a limit of 0 as it is (dossier §6.5).
std::string why_none_begins(const MoveLimits& limits) {
    const char* limit = limits.outbound == 0     ? "parallelOutboundMigrationsPerNode"
                        : limits.in_cluster == 0 ? "parallelMigrationsPerCluster"
                                                 : nullptr;
    return limit == nullptr
               ? std::string{}
               : std::string{limit} + " of the KubeVirt object is 0: KubeVirt begins no migration";
}

void add_notes(const Placement& placement, std::vector<std::string>& notes) {
    for (const auto& note : placement.notes) {
        if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
            notes.push_back(note);
        }
    }
}

}  // namespace

Result<DrainPlan> drain_plan(const Objects& objects, std::string_view node, WallTime now,
                             const migration::CpuMap* map) {
    const auto found = find_node(objects, node);
    if (!found) {
        return fail(found.error());
    }
    if (objects.scheduling == nullptr) {
        return fail(Errc::invalid, "expected what kube-scheduler goes by, found none of it");
    }
    DrainPlan plan;
    plan.node = (*found)->meta.name;
    const auto limits = move_limits(kubevirt_in_force(objects.kubevirts));
    plan.at_once = std::min(limits.outbound, limits.in_cluster);
    plan.none_begins = why_none_begins(limits);
    Protections protections;
    for (auto& each : vm_protections(objects)) {
        auto name = each.vmi;
        protections.emplace(std::move(name), std::move(each));
    }
    Planner planner(objects, now, map);
    auto all = leaving(objects, plan.node, planner, protections);
    plan_all(plan, planner, all);
    if (plan.at_once > 0) {
        plan.takes = schedule(all, plan.at_once);
    }
    if (objects.vmis.empty()) {
        plan.notes.emplace_back(
            "no VMIs at all are known: give them too, or have the right to list "
            "them");
    }
    for (auto& one : all) {
        add_notes(one.placement, plan.notes);
        plan.steps.push_back(std::move(one.step));
    }
    return plan;
}

std::string summary(const DrainPlan& plan) {
    if (plan.steps.empty()) {
        return "no VM runs on " + plan.node;
    }
    std::map<Verdict, std::size_t> number;  // of those that a drain does not shut down
    std::size_t shut_down = 0;
    std::size_t untimed = 0;
    seconds takes{0};
    for (const auto& step : plan.steps) {
        if (step.shut_down) {
            ++shut_down;
            continue;
        }
        ++number[step.verdict];
        if (step.verdict == Verdict::can && !step.takes) {
            ++untimed;
        }
        takes = std::max(takes, step.begins.value_or(seconds{0}) + step.takes.value_or(seconds{0}));
    }
    const auto leave = number[Verdict::can];
    auto text = "a drain moves " + std::to_string(leave) + " of " +
                std::to_string(plan.steps.size()) + (plan.steps.size() == 1 ? " VM" : " VMs");
    if (leave > untimed) {
        text +=
            ", in about " + age_text(takes) + " with " + std::to_string(plan.at_once) + " at once";
    }
    const auto add = [&text](std::size_t many, const std::string& what) {
        if (many > 0) {
            text += "; " + what;
        }
    };
    add(untimed, "of " + std::to_string(untimed) + " it is not told how long they take");
    add(shut_down, std::to_string(shut_down) + " would be shut down by a drain");
    const auto stay = number[Verdict::cannot];
    add(stay, std::to_string(stay) + (stay == 1 ? " stays" : " stay"));
    const auto open = number[Verdict::unknown];
    add(open, std::to_string(open) + " cannot be told");
    return text + (plan.none_begins.empty() ? "" : "; " + plan.none_begins);
}

}  // namespace scout::cluster
