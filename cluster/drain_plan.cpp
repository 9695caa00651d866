// SPDX-License-Identifier: Apache-2.0
#include "cluster/drain_plan.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "base/duration.h"
#include "cluster/migration_numbers.h"
#include "cluster/scheduling_objects.h"
#include "cluster/vm_placement.h"
#include "cluster/vm_protection.h"
#include "migration/cheapest_change.h"

namespace scout::cluster {
namespace {

using migration::Placement;
using migration::Verdict;
using std::chrono::seconds;

struct Leaving {
    const kube::Vmi* vmi = nullptr;
    DrainStep step;
    Placement placement;  ///< if it went first
};

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

/// Memory of nodes that no pod has asked for, by their names.
std::map<std::string, std::int64_t, std::less<>> free_memory(const SchedulingObjects& objects) {
    constexpr std::string_view memory = "memory";
    const auto amount = [memory](const migration::scheduling::Resources& resources) {
        const auto found = resources.find(memory);
        return found == resources.end() ? 0 : found->second;
    };
    std::map<std::string, std::int64_t, std::less<>> out;
    for (const auto& room : objects.rooms) {
        out[room.meta.name] = room.allocatable ? amount(*room.allocatable) : 0;
    }
    for (const auto& pod : objects.pods) {
        if (!pod.final) {
            out[pod.pod.node] -= amount(pod.pod.requests);
        }
    }
    return out;
}

/// Plans one VM after the other in a cluster that changes by it.
class Planner {
public:
    Planner(const Objects& objects, WallTime now, const migration::CpuMap* map)
        : objects_(objects), told_(*objects.scheduling), now_(now), map_(map) {}

    [[nodiscard]] Placement place(const kube::Vmi& vmi) {
        objects_.scheduling = std::make_shared<const SchedulingObjects>(told_);
        return place_vmi(objects_, vmi, now_, map_);
    }

    /// Gives it a place, if there is one.
    void plan(Leaving& one) {
        const auto placement = place(*one.vmi);
        const auto free = free_memory(told_);
        const std::string* best = nullptr;
        for (const auto& [node, answer] : placement.nodes) {
            if (answer.verdict == Verdict::can &&
                (best == nullptr || free.find(node)->second > free.find(*best)->second)) {
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
    /// Its next launcher is on that node from now on.
    void take_room(const kube::Vmi& vmi, const std::string& node) {
        const auto launcher =
            std::find_if(told_.pods.begin(), told_.pods.end(), [&vmi](const ScheduledPod& pod) {
                const auto owner = pod.pod.labels.find("kubevirt.io/created-by");
                return pod.launcher && !pod.final && owner != pod.pod.labels.end() &&
                       owner->second == vmi.meta.uid && pod.pod.node == vmi.node.view();
            });
        if (launcher == told_.pods.end()) {
            return;
        }
        auto target = *launcher;
        target.meta.name += "-target";
        target.pod.name = target.meta.name;
        target.pod.node = node;
        target.pod.requests = target.when_new;
        told_.pods.push_back(std::move(target));
    }

    Objects objects_;
    SchedulingObjects told_;
    WallTime now_;
    const migration::CpuMap* map_;
};

/// When each begins, if so many run at once; until the last has ended.
seconds schedule(std::vector<Leaving>& all, unsigned at_once) {
    std::vector<seconds> free_at(std::max(1U, at_once), seconds{0});
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

/// What the forecast says, and what keeps KubeVirt from moving it at all.
void add_forecast(const VmProtection& protection, DrainStep& step) {
    using migration::EvictionStrategy;
    const auto& forecast = protection.answer.forecast;
    if (forecast && forecast->expected.moved()) {
        step.takes = std::chrono::ceil<seconds>(forecast->expected.duration);
    } else if (forecast) {
        step.why =
            "its move is not expected to end: it writes faster than it is copied, or takes "
            "longer than it may";
    }
    if (protection.strategy == EvictionStrategy::none) {
        step.why = "its eviction strategy is None: a drain shuts it down; move it yourself";
    } else if (protection.strategy == EvictionStrategy::external) {
        step.why = "its eviction strategy is External: a drain waits for somebody else to move it";
    }
}

/// Those of the node, each placed as if it went first, the hardest to place first.
std::vector<Leaving> leaving(const Objects& objects, const std::string& node, Planner& planner) {
    std::vector<Leaving> all;
    for (const auto& vmi : objects.vmis) {
        if (vmi.node.view() != node || !is_running(vmi)) {
            continue;
        }
        auto& one = all.emplace_back(Leaving{&vmi, {}, planner.place(vmi)});
        one.step.vmi = full_name(vmi.meta);
        one.step.candidates = count(one.placement, Verdict::can);
    }
    std::stable_sort(all.begin(), all.end(), [](const Leaving& a, const Leaving& b) {
        return std::tuple{a.step.candidates, memory_of(*b.vmi)} <
               std::tuple{b.step.candidates, memory_of(*a.vmi)};
    });
    return all;
}

void plan_all(const Objects& objects, Planner& planner, std::vector<Leaving>& all) {
    std::map<std::string, VmProtection> protections;
    for (auto& each : vm_protections(objects)) {
        auto name = each.vmi;
        protections.emplace(std::move(name), std::move(each));
    }
    for (auto& one : all) {
        planner.plan(one);
        const auto protection = protections.find(one.step.vmi);
        if (one.step.verdict == Verdict::can && protection != protections.end()) {
            add_forecast(protection->second, one.step);
        }
    }
    std::stable_partition(all.begin(), all.end(),
                          [](const Leaving& one) { return one.step.verdict == Verdict::can; });
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
    Planner planner(objects, now, map);
    auto all = leaving(objects, plan.node, planner);
    plan_all(objects, planner, all);
    plan.takes = schedule(all, plan.at_once);
    for (auto& one : all) {
        add_notes(one.placement, plan.notes);
        plan.steps.push_back(std::move(one.step));
    }
    return plan;
}

std::string summary(const DrainPlan& plan) {
    const auto number = [&plan](Verdict verdict) {
        return std::count_if(plan.steps.begin(), plan.steps.end(),
                             [verdict](const auto& step) { return step.verdict == verdict; });
    };
    const auto leave = number(Verdict::can);
    const auto stay = number(Verdict::cannot);
    const auto open = number(Verdict::unknown);
    const auto untimed = std::count_if(plan.steps.begin(), plan.steps.end(), [](const auto& step) {
        return step.verdict == Verdict::can && !step.takes;
    });
    if (plan.steps.empty()) {
        return "no VM runs on " + plan.node;
    }
    auto text = std::to_string(leave) + " of " + std::to_string(plan.steps.size()) +
                (plan.steps.size() == 1 ? " VM can leave" : " VMs can leave");
    if (leave > untimed) {
        text += ", in about " + age_text(plan.takes) + " with " + std::to_string(plan.at_once) +
                " at once";
    }
    if (untimed > 0) {
        text += "; of " + std::to_string(untimed) + " it is not told how long they take";
    }
    if (stay > 0) {
        text += "; " + std::to_string(stay) + (stay == 1 ? " stays" : " stay");
    }
    if (open > 0) {
        text += "; " + std::to_string(open) + " cannot be told";
    }
    return text;
}

}  // namespace scout::cluster
