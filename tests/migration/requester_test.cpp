// SPDX-License-Identifier: Apache-2.0
#include "migration/requester.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace scout::migration {
namespace {

struct RequestCase {
    RequestFacts facts;
    Requester expected{};
    bool certain = true;
};

const std::vector<RequestCase> marked_moves{
    {{.name = "web-2-move"}, Requester::user},
    {{.name = "kubevirt-migrate-vm-x1"}, Requester::user},
    {{.name = "kubevirt-evacuation-a", .evacuation = true, .priority = "system-critical"},
     Requester::drain},
    {{.name = "kubevirt-evacuation-a", .evacuation = true}, Requester::drain},
    {{.name = "kubevirt-evacuation-a", .evacuation = true, .priority = "system-maintenance"},
     Requester::descheduler},
    {{.name = "kubevirt-evacuation-a", .evacuation = true, .of_now = true, .descheduled = true},
     Requester::descheduler},
    {{.name = "kubevirt-evacuation-a", .evacuation = true, .descheduled = true}, Requester::drain},
    {{.name = "kubevirt-evacuation-a", .evacuation = true, .ending = Cause::node_pressure},
     Requester::node_pressure,
     false},
    {{.name = "kubevirt-evacuation-a", .evacuation = true, .ending = Cause::own_limit},
     Requester::node_pressure,
     false},
    {{.name = "kubevirt-evacuation-a",
      .evacuation = true,
      .ending = Cause::taint,
      .told_to_stop = true,
      .pod_deleted = true},
     Requester::taint,
     false},
    {{.name = "kubevirt-evacuation-a",
      .evacuation = true,
      .ending = Cause::preemption,
      .pod_deleted = true},
     Requester::preemption,
     false},
    {{.name = "kubevirt-evacuation-a",
      .evacuation = true,
      .ending = Cause::api_eviction,
      .pod_deleted = true},
     Requester::drain,
     false},
    {{.name = "kubevirt-evacuation-a",
      .evacuation = true,
      .priority = "system-maintenance",
      .ending = Cause::api_eviction},
     Requester::descheduler},
    {{.name = "kubevirt-evacuation-a", .evacuation = true, .ending = Cause::garbage_collection},
     Requester::drain},
    {{.name = "kubevirt-evacuation-a", .evacuation = true, .node_shutting_down = true},
     Requester::shutdown,
     false},
    {{.name = "kubevirt-evacuation-a", .evacuation = true, .told_to_stop = true},
     Requester::node_pressure,
     false},
    {{.name = "kubevirt-evacuation-a",
      .evacuation = true,
      .priority = "system-maintenance",
      .told_to_stop = true},
     Requester::descheduler},
    {{.name = "kubevirt-evacuation-a",
      .evacuation = true,
      .told_to_stop = true,
      .pod_deleted = true},
     Requester::drain,
     false},
    {{.name = "kubevirt-evacuation-a",
      .evacuation = true,
      .ending = Cause::node_pressure,
      .pod_deleted = true},
     Requester::node_pressure,
     false},
    {{.name = "virt-scout-x", .told_to_stop = true, .pod_deleted = true}, Requester::drain, false},
    {{.name = "virt-scout-x", .ending = Cause::taint, .pod_deleted = true}, Requester::taint},
    {{.name = "virt-scout-x", .ending = Cause::preemption, .told_to_stop = true},
     Requester::preemption},
    {{.name = "virt-scout-x"}, Requester::node_pressure, false},
    {{.name = "virt-scout-x", .told_to_stop = true}, Requester::node_pressure},
    {{.name = "virt-scout-x", .node_shutting_down = true}, Requester::shutdown, false},
    {{.name = "virt-scout-x", .recorded = "forecast"}, Requester::forecast},
    {{.name = "virt-scout-forecast-x"}, Requester::forecast, false},
    {{.name = "kubevirt-evacuation-a"}, Requester::drain, false},
    {{.name = "u", .workload_update = true, .priority = "system-critical"},
     Requester::launcher_update},
    {{.name = "u", .workload_update = true, .priority = "user-triggered"}, Requester::hotplug},
    {{.name = "u", .workload_update = true, .volume_update = true, .priority = "user-triggered"},
     Requester::volume},
    {{.name = "u", .workload_update = true, .of_now = true, .volumes_pending = true},
     Requester::volume,
     false},
    {{.name = "u", .workload_update = true, .of_now = true, .hotplug_pending = true},
     Requester::hotplug,
     false},
    {{.name = "u", .workload_update = true, .hotplug_pending = true},
     Requester::launcher_update,
     false},
    {{.name = "u", .workload_update = true, .of_now = true, .launcher_outdated = true},
     Requester::launcher_update},
    {{.name = "kubevirt-workload-update-q"}, Requester::launcher_update, false},
    {{.name = "out", .crosses = true}, Requester::cross_cluster},
    {{.name = "a", .recorded = "forecast", .evacuation = true}, Requester::forecast},
    {{.name = "a", .recorded = "node-pressure", .evacuation = true}, Requester::node_pressure},
    {{.name = "a", .recorded = "moon", .evacuation = true}, Requester::drain}};

TEST(RequesterTest, EveryKindOfMigrationIsToldByItsMarks) {
    for (const auto& each : marked_moves) {
        const auto answer = who_wanted(each.facts);

        EXPECT_EQ(to_string(answer.requester), to_string(each.expected))
            << each.facts.name << each.facts.priority;
        EXPECT_EQ(answer.certain, each.certain) << each.facts.name << answer.why;
        EXPECT_FALSE(answer.why.empty()) << each.facts.name;
    }
}

/// A guess gives way to what the launcher's end tells; what somebody was seen to want does not.
TEST(RequesterTest, WhatALauncherEndsForPutsAGuessRight) {
    const auto asked = [](const char* recorded, Cause ending) {
        const RequestFacts facts{
            .name = "a", .recorded = recorded, .evacuation = true, .ending = ending};
        const auto wanted = to_string(who_wanted(facts).requester);
        EXPECT_EQ(is_outdone(recorded, ending), wanted != recorded) << recorded;
        return wanted;
    };
    EXPECT_EQ(asked("drain", Cause::taint), "taint");
    EXPECT_EQ(asked("node-pressure", Cause::preemption), "preemption");
    EXPECT_EQ(asked("drain", Cause::node_pressure), "node-pressure");
    EXPECT_EQ(asked("node-pressure", Cause::node_shutdown), "shutdown");
    EXPECT_EQ(asked("drain", Cause::api_eviction), "drain");
    EXPECT_EQ(asked("drain", Cause::unknown), "drain");
    EXPECT_EQ(asked("drain", Cause::owner_delete), "drain");
    EXPECT_EQ(asked("taint", Cause::node_pressure), "taint");
    EXPECT_EQ(asked("descheduler", Cause::api_eviction), "descheduler");
    EXPECT_EQ(asked("user", Cause::taint), "user");
    EXPECT_TRUE(is_outdone("", Cause::taint));
    EXPECT_FALSE(is_outdone("", Cause::unknown));
}

TEST(RequesterTest, NamesTheUserOrElseTheClient) {
    EXPECT_EQ(who_wanted({.name = "m", .user = "ann", .client = "kubectl-create"}).user, "ann");
    EXPECT_EQ(who_wanted({.name = "m", .client = "kubectl-create"}).user, "kubectl-create");
    EXPECT_EQ(who_wanted({.name = "m", .client = "virt-controller", .evacuation = true}).user, "");
}

TEST(RequesterTest, WordsGoBothWays) {
    for (const auto requester :
         {Requester::user, Requester::drain, Requester::descheduler, Requester::node_pressure,
          Requester::forecast, Requester::shutdown, Requester::taint, Requester::preemption,
          Requester::launcher_update, Requester::hotplug, Requester::volume,
          Requester::cross_cluster}) {
        EXPECT_EQ(requester_named(to_string(requester)), requester);
    }
    EXPECT_FALSE(requester_named(""));
}

}  // namespace
}  // namespace scout::migration
