// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include "agent/evacuations.h"
#include "tests/support/fake_clock.h"

namespace scout::agent {

/// What a leader does to one VM.
struct FakeVm {
    bool there = true;
    ToldVmi vmi;
    std::vector<migration::MoveFacts> moves;
    bool ill = false;  ///< its liveness probe had it killed
};

/// A node whose launchers the test sets, and a leader that reads and writes a small cluster.
class EvacuationsFixture : public testing::Test {
protected:
    EvacuationsFixture() { start_agent(); }

    /// As after kill -9: nothing of the agent before is left but the world.
    void start_agent() {
        registry = std::make_unique<prometheus::Registry>();
        metrics = std::make_unique<EvacuationMetrics>(*registry);
        evacuations = std::make_unique<Evacuations>(Evacuations::Options{.node = "n1"}, clock,
                                                    *metrics, [this] { ++woken; });
        known_launchers = launcher::LauncherTable{{.at_once = 1000}};
    }
    void hear_rules(EvacuationMode mode = EvacuationMode::act,
                    migration::Escalation escalation = migration::Escalation::none) {
        evacuations->heard_leader();
        evacuations->take(EvacuationRules{
            .mode = mode, .eviction_strategy = "LiveMigrate", .escalation = escalation});
    }

    static launcher::Domain domain_of(const std::string& vm) {
        return {.name = vm,
                .space = "shop",
                .vmi_uid = "uid-" + vm,
                .uuid = "uuid-" + vm,
                .status = "Running",
                .reason = "Unknown",
                .grace = std::chrono::seconds{30},
                .memory_kib = 1U << 20U};
    }
    static launcher::Domain marked(const std::string& vm) {
        auto domain = domain_of(vm);
        domain.marked = true;
        return domain;
    }
    /// A VM on this node that KubeVirt would move.
    FakeVm& vm(const std::string& name) {
        auto& made = cluster["uid-" + name];
        made.vmi = {.facts = {.uid = "uid-" + name,
                              .phase = "Running",
                              .node = "n1",
                              .strategy = migration::EvictionStrategy::live_migrate,
                              .migratable = true},
                    .grace = std::chrono::seconds{30}};
        return made;
    }
    void say(const std::string& pod, std::optional<launcher::Domain> domain) {
        domains[pod] = std::move(domain);
    }
    /// As it is once all have been asked.
    [[nodiscard]] const launcher::LauncherTable& table() {
        std::vector<launcher::LauncherSocket> sockets;
        for (const auto& [pod, domain] : domains) {
            sockets.push_back(
                {.pod_uid = pod, .state = launcher::SocketState::ready, .device = 1, .inode = 1});
        }
        known_launchers.found(sockets, clock.steady());
        known_launchers.ask_all(clock.steady());
        for (const auto& question : known_launchers.take_due(clock.steady())) {
            known_launchers.answered(question, domains.at(question.socket.pod_uid), clock.steady());
        }
        return known_launchers;
    }

    void turn() { evacuations->turn(table()); }
    /// Launchers that are asked tell `numbers`.
    void tell_numbers() {
        for (const auto& pod : evacuations->to_measure()) {
            evacuations->measured(pod, numbers);
        }
    }
    /// Everything that the agent has to say is heard.
    void listen() {
        while (auto message = evacuations->next()) {
            if (auto* told = std::get_if<EvacuationsMessage>(&*message)) {
                lines = std::move(told->lines);
            } else if (auto* order = std::get_if<EvacuationOrderMessage>(&*message)) {
                const bool known = std::any_of(
                    lines.begin(), lines.end(),
                    [order](const auto& line) { return line.vmi_uid == order->vmi_uid; });
                EXPECT_TRUE(known) << "an order of a VM that was not told";
                orders.push_back(*order);
                steps.emplace_back(migration::to_string(order->order.step));
            }
        }
    }
    /// The leader does all that it was asked for.
    void obey() {
        for (const auto& order : std::exchange(orders, {})) {
            evacuations->heard_leader();
            evacuations->take(carry_out(order));
        }
    }
    /// Until the leader has nothing to do any more.
    void lead() {
        do {
            turn();
            listen();
        } while (!orders.empty() && (obey(), true));
    }
    /// Until nobody has anything to say.
    void settle() {
        lead();
        tell_numbers();
        lead();
    }
    void tell(const std::string& name) {
        const auto& known = cluster.at("uid-" + name);
        evacuations->heard_leader();
        evacuations->take(EvacuationFacts{
            .vmi_uid = "uid-" + name, .vmi = known.vmi, .moves = known.moves, .slots = 2});
    }
    EvacuationResult carry_out(const EvacuationOrderMessage& order) {
        using migration::EvacuationStep;
        auto& one = cluster.at(order.vmi_uid);
        EvacuationResult result{.id = order.id, .outcome = migration::StepOutcome::done};
        switch (order.order.step) {
            case EvacuationStep::read_vmi:
                result.vmi = one.there ? std::optional{one.vmi} : std::nullopt;
                result.liveness_kill = one.ill;
                break;
            case EvacuationStep::list_moves:
                result.moves = one.moves;
                break;
            case EvacuationStep::evict:
                one.vmi.facts.marked_node = "n1";
                one.moves.push_back({.name = "k-" + std::to_string(one.moves.size() + 1),
                                     .phase = migration::MovePhase::scheduling});
                break;
            case EvacuationStep::create_move:
                one.moves.push_back({.name = "ours-" + std::to_string(one.moves.size() + 1),
                                     .phase = migration::MovePhase::scheduling});
                break;
            case EvacuationStep::cancel_mark:
                one.vmi.facts.marked_node.clear();
                break;
            case EvacuationStep::delete_move:
                std::erase_if(one.moves, [&order](const auto& move) {
                    return move.name == order.order.object;
                });
                break;
            default:
                break;
        }
        return result;
    }

    /// What virt-handler, who knows of these pods, is answered; nothing: the launchers must be
    /// asked.
    [[nodiscard]] std::optional<bool> allowed(const std::string& name,
                                              std::vector<std::string> pods = {}) {
        StopQuestion question{.vmi = {.uid = "uid-" + name,
                                      .phase = "Running",
                                      .node = "n1",
                                      .strategy = migration::EvictionStrategy::live_migrate,
                                      .migratable = true},
                              .strategy_set = true,
                              .pods = std::move(pods)};
        const auto answer = evacuations->answer(question, table());
        why = answer ? answer->why : std::string{};
        return answer ? std::optional{answer->allow} : std::nullopt;
    }
    [[nodiscard]] std::string state_of(const std::string& pod) const {
        const auto found = evacuations->followed().find(pod);
        return found == evacuations->followed().end()
                   ? "none"
                   : std::string{migration::to_string(found->second.state())};
    }
    [[nodiscard]] std::string reason_of(const std::string& pod) const {
        return evacuations->followed().at(pod).reason();
    }
    void pass(std::chrono::milliseconds time) { clock.advance(time); }
    /// Time passes, in which everybody does his work.
    void live(std::chrono::seconds time) {
        for (; time.count() > 0; time -= std::chrono::seconds{1}) {
            pass(std::chrono::seconds{1});
            settle();
        }
    }

    test::FakeClock clock;
    std::unique_ptr<prometheus::Registry> registry;
    std::unique_ptr<EvacuationMetrics> metrics;
    std::unique_ptr<Evacuations> evacuations;
    std::map<std::string, std::optional<launcher::Domain>> domains;
    launcher::DomainStats numbers;  ///< what each launcher tells
    launcher::LauncherTable known_launchers;
    std::map<std::string, FakeVm> cluster;  ///< by UID
    std::vector<EvacuationLine> lines;      ///< as told last
    std::vector<EvacuationOrderMessage> orders;
    std::vector<std::string> steps;  ///< all that were ordered
    std::string why;                 ///< of the last answer
    unsigned woken = 0;
};

}  // namespace scout::agent
