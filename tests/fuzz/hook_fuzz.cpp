// SPDX-License-Identifier: Apache-2.0
// What virt-handler sends with a call of the node hook: any bytes are a question or refused in
// words, and what a question says is short enough to be shown and kept.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>

#include <prometheus/registry.h>

#include "agent/hook_payload.h"

namespace {

using namespace scout;

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

class StandingClock final : public Clock {
public:
    [[nodiscard]] SteadyTime steady() const override { return SteadyTime{std::chrono::hours{9}}; }
    [[nodiscard]] WallTime wall() const override { return {}; }
};

/// A node with one launcher that was told to stop, of the VMI that the question names.
launcher::LauncherTable table_of(const agent::StopQuestion& question, SteadyTime now) {
    launcher::LauncherTable table;
    table.found({{.pod_uid = "p", .state = launcher::SocketState::ready, .device = 1, .inode = 1}},
                now);
    launcher::Domain domain{.name = "vm1",
                            .space = "ns1",
                            .vmi_uid = question.vmi.uid,
                            .uuid = "u",
                            .status = "Running",
                            .marked = true};
    for (const auto& asked : table.take_due(now)) {
        table.answered(asked, domain, now);
    }
    return table;
}

void ask(const agent::StopQuestion& question) {
    const StandingClock clock;
    prometheus::Registry registry;
    agent::EvacuationMetrics metrics{registry};
    agent::Evacuations evacuations{{.node = "n1"}, clock, metrics, [] {}};
    const auto table = table_of(question, clock.steady());
    const auto unruled = evacuations.answer(question, table);
    expect(unruled && unruled->allow);
    evacuations.heard_leader();
    evacuations.take(agent::EvacuationRules{.mode = agent::EvacuationMode::act});
    const auto answer = evacuations.answer(question, table);
    expect(answer.has_value());
    expect(answer->allow == answer->why.empty());
    // Whatever the payload says, only one that is to be stopped here is held.
    const auto& vmi = question.vmi;
    expect(answer->allow || !vmi.deleting);
    evacuations.turn(table);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto question = agent::read_stop_question(text);
    if (!question) {
        expect(!question.error().message.empty());
        return 0;
    }
    expect(!question->vmi.uid.empty());
    expect(question->pods.size() <= 64);
    if (agent::why_allowed(*question).empty()) {
        expect(!question->vmi.deleting && question->vmi.phase == "Running");
        ask(*question);
    }
    return 0;
}
