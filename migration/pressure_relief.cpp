// SPDX-License-Identifier: Apache-2.0
#include "migration/pressure_relief.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "base/number.h"
#include "migration/eviction_order.h"

namespace scout::migration {
namespace {

using std::chrono::milliseconds;

constexpr std::array<std::string_view, relief_holds> words{
    "agent-silent", "no-target",     "moving",         "settling",        "evicting",
    "nobody",       "rate",          "node-limit",     "cluster-limit",   "not-seen",
    "stopping",     "marked",        "not-migratable", "owner",           "moved-lately",
    "backing-off",  "usage-unknown", "frees-nothing",  "frees-too-little"};
static_assert(static_cast<std::size_t>(ReliefHold::frees_too_little) + 1 == relief_holds);

/// The kubelet evicts for it, or does so within its next look.
bool is_evicting(const PressureLine& line) noexcept {
    return line.passed_for && (!line.soft_grace || line.evicts_in == milliseconds{0});
}

/// What one signal of a node needs.
struct Need {
    const PressureLine* line = nullptr;  ///< that acts first
    std::uint64_t amount = 0;
    milliseconds acts_in = milliseconds::max();
    bool evicting = false;
};
using Needs = std::map<PressureSignal, Need>;

milliseconds acts_in(const PressureLine& line) noexcept {
    if (line.evicts_in) {
        return *line.evicts_in;
    }
    return line.reached ? line.reached->in : milliseconds{0};
}

/// All that its lines ask for, in the order of the signals, as the kubelet takes them.
Needs needs_of(const PressureReport& report, const ReliefPolicy& policy) {
    Needs needs;
    for (const auto& line : report.lines) {
        const auto amount = relief_needed(line, policy);
        const bool evicting = is_evicting(line);
        if (!amount && !evicting) {
            continue;
        }
        auto& need = needs[line.signal];
        need.evicting = need.evicting || evicting;
        need.amount = std::max(need.amount, amount.value_or(0));
        if (need.line == nullptr || acts_in(line) < need.acts_in) {
            need.line = &line;
            need.acts_in = acts_in(line);
        }
    }
    return needs;
}

/// What will be missing then. Where no pace is told, all that is left above the threshold goes
/// until it is reached.
double falls_below(const TrendForecast& reached, double above, milliseconds ahead) noexcept {
    using Seconds = std::chrono::duration<double>;
    const Seconds in = std::max(milliseconds{1}, reached.in);
    const Seconds after = ahead - reached.in;
    return reached.pace.value_or(above / in.count()) * after.count();
}

/// What is free to be begun.
struct Room {
    std::size_t rate = 0;
    std::size_t in_cluster = 0;
    std::size_t outbound = 0;  ///< of the node at hand

    [[nodiscard]] std::optional<ReliefHold> hold() const noexcept {
        if (rate == 0) {
            return ReliefHold::rate;
        }
        if (in_cluster == 0) {
            return ReliefHold::cluster_limit;
        }
        return outbound == 0 ? std::optional{ReliefHold::node_limit} : std::nullopt;
    }
    void take() noexcept {
        --rate;
        --in_cluster;
        --outbound;
    }
};

bool is_less(std::uint64_t frees, double share, std::uint64_t needed) noexcept {
    return static_cast<double>(frees) < share * static_cast<double>(needed);
}

std::size_t left_of(std::size_t limit, std::size_t used) noexcept {
    return limit - std::min(limit, used);
}

/// The moves of one node.
class NodeRelief {
public:
    NodeRelief(const ReliefWorld& world, const ReliefPolicy& policy, const ReliefNode& node,
               Room& room, ReliefPlan& plan)
        : world_(world), policy_(policy), node_(node), room_(room), plan_(plan) {}

    void relieve(const Needs& needs) {
        for (const auto& [signal, need] : needs) {
            const auto* order = order_of(signal);
            if (need.evicting) {
                hold(signal, {}, ReliefHold::evicting);
            } else if (order == nullptr || order->first.empty()) {
                hold(signal, {}, ReliefHold::nobody);
            } else if (!choose(*order, need)) {
                return;
            }
        }
    }

private:
    [[nodiscard]] const EvictionLine* order_of(PressureSignal signal) const {
        const auto& all = node_.report->order;
        const auto found = std::find_if(
            all.begin(), all.end(),
            [as = ranked_as(signal)](const auto& order) { return order.signal == as; });
        return found == all.end() ? nullptr : &*found;
    }

    /// Its VM, if it is one of this node.
    [[nodiscard]] const ReliefVm* vm_of(const PressedLauncher& launcher) const {
        const auto found = world_.vms.find(launcher.pod_uid);
        const bool here = found != world_.vms.end() && found->second.node == node_.name;
        return here ? &found->second : nullptr;
    }

    [[nodiscard]] bool leaves(const ReliefVm& vm) const {
        return vm.moving || chosen_.contains(vm.uid);
    }

    /// What those free that are leaving anyway.
    [[nodiscard]] std::uint64_t freed(const EvictionLine& order) const {
        std::uint64_t freed = 0;
        for (const auto& launcher : order.first) {
            const auto* vm = vm_of(launcher);
            if (vm != nullptr && leaves(*vm)) {
                freed = saturated_sum(freed, launcher.usage.value_or(0));
            }
        }
        return freed;
    }

    /// What those free that may be moved.
    [[nodiscard]] std::uint64_t free_to_move(const EvictionLine& order, const Need& need) const {
        std::uint64_t frees = 0;
        for (const auto& launcher : order.first) {
            const auto* vm = vm_of(launcher);
            const bool stays = vm == nullptr || !leaves(*vm);
            if (stays && !hold_of(launcher, vm, need)) {
                frees = saturated_sum(frees, launcher.usage.value_or(0));
            }
        }
        return frees;
    }

    [[nodiscard]] std::optional<ReliefHold> hold_of(const PressedLauncher& launcher,
                                                    const ReliefVm* vm, const Need& need) const {
        if (vm == nullptr) {
            return ReliefHold::not_seen;
        }
        if (vm->hold) {
            return vm->hold;
        }
        if (vm->moved && *vm->moved < policy_.rest) {
            return ReliefHold::moved_lately;
        }
        if (!launcher.usage) {
            return ReliefHold::usage_unknown;
        }
        if (*launcher.usage == 0) {
            return ReliefHold::frees_nothing;
        }
        return is_less(*launcher.usage, policy_.worth, need.amount)
                   ? std::optional{ReliefHold::frees_too_little}
                   : std::nullopt;
    }

    /// False: there is no room for more moves.
    [[nodiscard]] bool choose(const EvictionLine& order, const Need& need) {
        const auto frees = free_to_move(order, need);
        if (frees > 0 && is_less(saturated_sum(frees, freed(order)), policy_.use, need.amount)) {
            hold(need.line->signal, {}, ReliefHold::frees_too_little);
            return true;
        }
        for (const auto& launcher : order.first) {
            if (freed(order) >= need.amount) {
                return true;
            }
            const auto* vm = vm_of(launcher);
            if (vm != nullptr && leaves(*vm)) {
                continue;
            }
            if (const auto why = hold_of(launcher, vm, need)) {
                hold(need.line->signal, launcher.vmi, *why);
                continue;
            }
            if (const auto why = room_.hold()) {
                hold(need.line->signal, {}, *why);
                return false;
            }
            take(launcher, *vm, need);
        }
        return true;
    }

    void take(const PressedLauncher& launcher, const ReliefVm& vm, const Need& need) {
        const auto& line = *need.line;
        room_.take();
        chosen_.insert(vm.uid);
        plan_.moves.push_back({.node = node_.name,
                               .pod_uid = launcher.pod_uid,
                               .vmi = vm.vmi,
                               .vmi_uid = vm.uid,
                               .signal = line.signal,
                               .soft = line.soft_grace.has_value(),
                               .at = line.at,
                               .expected = line.passed_for || !line.reached
                                               ? std::nullopt
                                               : std::optional{line.reached->in},
                               .frees = launcher.usage.value_or(0)});
    }

    void hold(PressureSignal signal, std::string vmi, ReliefHold why) {
        plan_.held.push_back(
            {.node = node_.name, .signal = signal, .vmi = std::move(vmi), .hold = why});
    }

    const ReliefWorld& world_;
    const ReliefPolicy& policy_;
    const ReliefNode& node_;
    Room& room_;
    ReliefPlan& plan_;
    std::set<std::string, std::less<>> chosen_;  ///< uids of VMIs
};

/// Why nothing at all is moved away from a node that needs it.
std::optional<ReliefHold> hold_of(const ReliefNode& node, bool has_target,
                                  const ReliefPolicy& policy) {
    if (node.silent >= policy.silence) {
        return ReliefHold::agent_silent;
    }
    if (node.begun > 0) {
        return ReliefHold::moving;
    }
    if (node.ended && (*node.ended < policy.settle || node.told >= *node.ended)) {
        return ReliefHold::settling;
    }
    return has_target ? std::nullopt : std::optional{ReliefHold::no_target};
}

struct Candidate {
    const ReliefNode* node = nullptr;
    Needs needs;
    milliseconds acts_in = milliseconds::max();
};

std::vector<Candidate> candidates_of(const ReliefWorld& world, const ReliefPolicy& policy) {
    std::vector<Candidate> all;
    for (const auto& node : world.nodes) {
        Candidate one{.node = &node};
        if (node.report != nullptr) {
            one.needs = needs_of(*node.report, policy);
        }
        for (const auto& [signal, need] : one.needs) {
            one.acts_in = std::min(one.acts_in, need.acts_in);
        }
        if (!one.needs.empty()) {
            all.push_back(std::move(one));
        }
    }
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
        return std::tie(a.acts_in, a.node->name) < std::tie(b.acts_in, b.node->name);
    });
    return all;
}

}  // namespace

std::string_view to_string(ReliefHold hold) noexcept {
    return words.at(std::min(static_cast<std::size_t>(hold), relief_holds - 1));
}

std::optional<ReliefRecall> recall_of(const ReliefWait& wait, const ReliefPolicy& policy) noexcept {
    if (!wait.pressed) {
        return ReliefRecall::over;
    }
    const bool in_vain = !wait.has_pod && wait.age >= policy.patience;
    return in_vain ? std::optional{ReliefRecall::no_pod} : std::nullopt;
}

bool is_pressed(const ReliefNode& node, const ReliefPolicy& policy) noexcept {
    const bool near =
        node.silent < policy.silence && node.report != nullptr && is_near(*node.report);
    return near || node.strained || (node.warned && *node.warned < policy.calm);
}

std::optional<std::uint64_t> relief_needed(const PressureLine& line,
                                           const ReliefPolicy& policy) noexcept {
    const auto& room = line.room;
    if (!line.warned || !room || is_evicting(line)) {
        return std::nullopt;
    }
    const auto at = static_cast<double>(line.at);
    const auto left = static_cast<double>(room->available);
    double missing = at - left;
    if (!line.passed_for) {
        const auto& reached = line.reached;
        // One that is no number is none either.
        const bool steady = reached && reached->confidence >= policy.confidence;
        if (!steady || reached->in > policy.ahead) {
            return std::nullopt;
        }
        missing = falls_below(*reached, std::max(0.0, left - at), policy.ahead);
    }
    // Never more than there is of it in all, nor than fits, whatever the numbers say.
    const auto most = std::min(9e18, static_cast<double>(room->capacity));
    const double needed = at * policy.margin + missing;
    return static_cast<std::uint64_t>(std::ceil(std::clamp(needed, 1.0, std::max(1.0, most))));
}

ReliefPlan plan_relief(const ReliefWorld& world, const ReliefPolicy& policy) {
    ReliefPlan plan;
    std::size_t targets = 0;
    for (const auto& node : world.nodes) {
        if (is_pressed(node, policy)) {
            plan.pressed.push_back(node.name);
        } else if (node.takes_vms) {
            ++targets;
        }
    }
    std::sort(plan.pressed.begin(), plan.pressed.end());
    const auto recent = std::count_if(world.begun.begin(), world.begun.end(),
                                      [](auto age) { return age < std::chrono::minutes{1}; });
    Room room{.rate = left_of(policy.moves_per_minute, static_cast<std::size_t>(recent)),
              .in_cluster = left_of(policy.in_cluster, world.moving)};
    for (const auto& [node, needs, acts_in] : candidates_of(world, policy)) {
        if (const auto why = hold_of(*node, targets > 0, policy)) {
            plan.held.push_back(
                {.node = node->name, .signal = std::nullopt, .vmi = {}, .hold = *why});
            continue;
        }
        room.outbound = left_of(policy.outbound, node->leaving);
        NodeRelief{world, policy, *node, room, plan}.relieve(needs);
    }
    return plan;
}

}  // namespace scout::migration
