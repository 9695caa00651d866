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
    {{.name = "kubevirt-evacuation-a", .evacuation = true, .evicted_by_kubelet = true},
     Requester::node_pressure,
     false},
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
      .evicted_by_kubelet = true,
      .pod_deleted = true},
     Requester::node_pressure,
     false},
    {{.name = "virt-scout-x", .told_to_stop = true, .pod_deleted = true}, Requester::drain, false},
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

TEST(RequesterTest, NamesTheUserOrElseTheClient) {
    EXPECT_EQ(who_wanted({.name = "m", .user = "ann", .client = "kubectl-create"}).user, "ann");
    EXPECT_EQ(who_wanted({.name = "m", .client = "kubectl-create"}).user, "kubectl-create");
    EXPECT_EQ(who_wanted({.name = "m", .client = "virt-controller", .evacuation = true}).user, "");
}

TEST(RequesterTest, WordsGoBothWays) {
    for (const auto requester :
         {Requester::user, Requester::drain, Requester::descheduler, Requester::node_pressure,
          Requester::forecast, Requester::shutdown, Requester::launcher_update, Requester::hotplug,
          Requester::volume, Requester::cross_cluster}) {
        EXPECT_EQ(requester_named(to_string(requester)), requester);
    }
    EXPECT_FALSE(requester_named(""));
}

}  // namespace
}  // namespace scout::migration
