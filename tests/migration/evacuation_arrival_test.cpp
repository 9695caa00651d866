// SPDX-License-Identifier: Apache-2.0
// Launchers that were told to stop before anybody here knew of them.
#include "tests/migration/evacuation_fixture.h"

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using State = EvacuationState;
using Step = EvacuationStep;

class EvacuationArrivalTest : public EvacuationFixture {};

/// Its guest has come, and KubeVirt has not written down yet that it did.
TEST_F(EvacuationArrivalTest, ATargetThatIsMarkedBeforeItsVmiIsSwitchedOverIsNotTakenForMoved) {
    auto there = movable();
    there.node = "n2";
    mark();
    expect_read(there);
    EXPECT_EQ(machine.state(), State::suspected);
    EXPECT_TRUE(vetoes());
    EXPECT_FALSE(next());
    EXPECT_EQ(machine.wake(now), now + 250ms);
    pass(250ms);
    expect_read(there);
    pass(500ms);
    expect_read(movable());
    EXPECT_EQ(machine.state(), State::held);
    machine.saw_vmi(there, now);
    EXPECT_EQ(machine.state(), State::moved) << "now it was here";
}

TEST_F(EvacuationArrivalTest, ATargetWhoseVmiIsDeletedMeanwhileIsReleased) {
    auto there = movable();
    there.node = "n2";
    there.deleting = true;
    mark();
    expect_read(there);
    EXPECT_EQ(machine.state(), State::released);
}

/// An agent that began later knows nothing of the vetoes before, after which virt-handler waits.
TEST_F(EvacuationArrivalTest, AReleaseIsToldAlsoWhereOnlyTheAgentBeforeHeldIt) {
    machine.was_asked_before();
    mark();
    auto unwanted = movable();
    unwanted.strategy = EvictionStrategy::none;
    expect_read(unwanted);
    EXPECT_EQ(machine.state(), State::released);
    expect(Step::touch, StepOutcome::done);
    EXPECT_FALSE(next());
}

}  // namespace
}  // namespace scout::migration
