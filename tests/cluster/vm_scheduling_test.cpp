// SPDX-License-Identifier: Apache-2.0
#include "cluster/vm_scheduling.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/scheduling_objects.h"
#include "cluster/vm_placement.h"
#include "tests/cluster/node_objects.h"
#include "tests/support/profiles.h"

namespace scout::cluster {
namespace {

using migration::Placement;
using migration::Verdict;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
namespace scheduling = migration::scheduling;

constexpr std::int64_t gibi = std::int64_t{1} << 30;
constexpr const char* host = "kubernetes.io/hostname";

kube::SharedText text(std::string_view value) {
    return kube::SharedText{value};
}

/// VM shop/web of host-model on node a; b and c are like it. Its launcher asks for 2 cores.
class VmSchedulingTest : public testing::Test {
protected:
    VmSchedulingTest() {
        for (const char* name : {"a", "b", "c"}) {
            auto labels = test::plain_labels();
            labels[host] = name;
            objects.nodes.push_back(test::node_object(name, labels));
            NodeRoom room;
            room.meta.name = name;
            room.allocatable =
                scheduling::Resources{{"cpu", 4000}, {"memory", 8 * gibi}, {"pods", 10}};
            told.rooms.push_back(room);
        }
        objects.kubevirts.push_back(test::kubevirt_object());
        kube::Vmi vmi;
        vmi.meta = {.space = text("shop"), .name = "web", .uid = "u", .version = "1"};
        vmi.phase = text("Running");
        vmi.node = text("a");
        vmi.architecture = text("amd64");
        vmi.cpu_model = text("host-model");
        vmi.machine = text("q35");
        objects.vmis.push_back(vmi);
        VmiWishes wishes;
        wishes.meta = vmi.meta;
        wishes.pod.labels = {{"app", "web"}};
        told.wishes.push_back(wishes);
        kube::LauncherPod launcher;
        launcher.meta = {.space = text("shop"), .name = "l", .uid = "p", .version = "1"};
        launcher.node = text("a");
        launcher.phase = text("Running");
        launcher.vmi_name = "web";
        launcher.vmi_uid = "u";
        objects.launchers.push_back(launcher);
        auto& pod = add("l", "a");
        pod.meta = launcher.meta;
        pod.launcher = true;
        pod.pod.requests = {{"cpu", 2000}};
        pod.when_new = pod.pod.requests;
        add("other", "b");
    }
    ScheduledPod& add(const std::string& name, const std::string& node) {
        auto& pod = told.pods.emplace_back();
        pod.meta = {.space = text("shop"), .name = name, .uid = name, .version = "1"};
        pod.pod.space = "shop";
        pod.pod.name = name;
        pod.pod.node = node;
        return pod;
    }
    kube::Vmi& vmi() { return objects.vmis.front(); }
    scheduling::Pod& wishes() { return told.wishes.front().pod; }
    [[nodiscard]] Placement place(const migration::MoveWish& wish = {}) {
        objects.scheduling = std::make_shared<const SchedulingObjects>(told);
        return place_vmi(objects, vmi(), {}, &map, wish);
    }
    /// "b: resources", "b: can"
    [[nodiscard]] std::vector<std::string> answers(const migration::MoveWish& wish = {}) {
        std::vector<std::string> out;
        for (const auto& [node, answer] : place(wish).nodes) {
            if (answer.verdict == Verdict::can) {
                out.push_back(node + ": can");
            }
            for (const auto& reason : answer.reasons) {
                out.push_back(node + (answer.verdict == Verdict::unknown ? "?: " : ": ") +
                              std::string{to_string(reason.code)});
            }
        }
        return out;
    }

    migration::CpuMap map = scout::test::small_map();
    Objects objects;
    SchedulingObjects told;
};

TEST_F(VmSchedulingTest, WhatItsLauncherTakesMustBeFreeThere) {
    EXPECT_THAT(answers(), ElementsAre("b: can", "c: can"));
    EXPECT_THAT(place().notes, Not(Contains(HasSubstr("not judged: free"))));

    add("big", "b").pod.requests = {{"cpu", 3000}};
    EXPECT_THAT(answers(), ElementsAre("b: resources", "c: can"));
}

TEST_F(VmSchedulingTest, APodThatEndedTakesNothing) {
    auto& pod = add("big", "b");
    pod.pod.requests = {{"cpu", 3000}};
    pod.final = true;

    EXPECT_THAT(answers(), ElementsAre("b: can", "c: can"));
}

TEST_F(VmSchedulingTest, TaintsAndTheVmsOwnTolerations) {
    objects.nodes[1].taints = {{.key = text("dedicated"),
                                .value = text("vms"),
                                .effect = text("NoSchedule"),
                                .added = {}}};
    EXPECT_THAT(answers(), ElementsAre("b: taint", "c: can"));

    wishes().tolerations = {{"dedicated", "Exists", {}, {}}};
    EXPECT_THAT(answers(), ElementsAre("b: can", "c: can"));
}

TEST_F(VmSchedulingTest, WhatAdmissionGaveItsLauncherItGivesTheNextOne) {
    objects.nodes[1].taints = {{.key = text("node.kubernetes.io/not-ready"),
                                .value = {},
                                .effect = text("NoExecute"),
                                .added = {}},
                               {.key = text("node.kubernetes.io/memory-pressure"),
                                .value = {},
                                .effect = text("NoSchedule"),
                                .added = {}}};
    told.pods.front().pod.tolerations = {
        {"node.kubernetes.io/not-ready", "Exists", {}, "NoExecute"},
        {"dedicated", "Exists", {}, {}}};
    EXPECT_THAT(answers(), ElementsAre("b: taint", "c: can"));

    told.pods.front().pod.tolerations.push_back(
        {"node.kubernetes.io/memory-pressure", "Exists", {}, "NoSchedule"});
    EXPECT_THAT(answers(), ElementsAre("b: can", "c: can"));
}

TEST_F(VmSchedulingTest, ACordonAndMissingLabelsAreToldOnce) {
    test::cordon(objects.nodes[1], WallTime{});
    auto labels = test::plain_labels();
    labels.erase("machine-type.node.kubevirt.io/q35");
    labels[host] = "c";
    objects.nodes[2].labels = test::kube_labels(labels);

    const auto placement = place();
    for (const auto& [node, answer] : placement.nodes) {
        std::vector<std::string> stock;
        for (const auto& reason : answer.reasons) {
            if (reason.layer == migration::Layer::stock) {
                stock.emplace_back(to_string(reason.code));
            }
        }
        EXPECT_THAT(stock,
                    node == "b" ? ElementsAre("unschedulable") : ElementsAre("machine-type"));
    }
}

TEST_F(VmSchedulingTest, ItsOwnAffinityIsJudgedAndIsNoDemandThatIsNot) {
    vmi().other_demands = {"nodeAffinity"};
    wishes().node_terms = {{.expressions = {{host, "In", {"c"}}}, .fields = {}}};

    EXPECT_THAT(answers(), ElementsAre("b: node-affinity", "c: can"));
}

TEST_F(VmSchedulingTest, DevicesAreResourcesIfItsLauncherTellsThem) {
    vmi().other_demands = {"gpus", "launchSecurity"};
    told.pods.front().when_new["nvidia.com/A10"] = 1;
    told.rooms[1].allocatable->emplace("nvidia.com/A10", 1);
    EXPECT_THAT(answers(), ElementsAre("b: can", "c: resources"));

    told.pods.erase(told.pods.begin());
    EXPECT_THAT(answers(), ElementsAre("b?: not-comparable", "b?: not-comparable",
                                       "c?: not-comparable", "c?: not-comparable"));
}

TEST_F(VmSchedulingTest, AnotherPodOfTheVmKeepsItAway) {
    add("target", "b").pod.labels = {{"kubevirt.io/created-by", "u"}};

    EXPECT_THAT(answers(), ElementsAre("b: pod-anti-affinity", "c: can"));
}

TEST_F(VmSchedulingTest, TheTargetOfItsOwnMigrationIsNotInItsWay) {
    auto& target = add("target", "b").pod;
    target.labels = {{"kubevirt.io/created-by", "u"}, {"kubevirt.io/migrationJobUID", "m"}};
    target.requests = {{"cpu", 3000}};
    kube::Migration move;
    move.meta = {.space = text("shop"), .name = "move", .uid = "m", .version = "1"};
    move.vmi_name = text("web");
    move.phase = text("Scheduling");
    objects.migrations.push_back(move);
    EXPECT_THAT(answers(), ElementsAre("b: can", "c: can"));
    const auto shared = SchedulingView(objects);
    EXPECT_TRUE(shared.has_target_of(vmi()));
    EXPECT_EQ(place_vmi(objects, vmi(), {}, &map, {}, &shared).nodes.at(0).comparison.verdict,
              Verdict::can);

    objects.migrations[0].phase = text("Failed");
    EXPECT_THAT(answers(), ElementsAre("b: pod-anti-affinity", "b: resources", "c: can"))
        << "left behind, it takes its place";
    vmi().migration.emplace().target_node = text("b");
    EXPECT_THAT(answers(), ElementsAre("b: can", "c: can")) << "by its status alone, too";
    vmi().migration->completed = true;
    EXPECT_THAT(answers(), ElementsAre("b: pod-anti-affinity", "b: resources", "c: can"));
}

TEST_F(VmSchedulingTest, OtherPodsThatKeepAwayFromItsLabels) {
    scheduling::PodTerm term{.pods = scheduling::LabelSelector{{{"app", "web"}}, {}},
                             .spaces = {},
                             .space_labels = {},
                             .topology = host};
    add("jealous", "c").pod.anti_affinity = {term};

    EXPECT_THAT(answers(), ElementsAre("b: can", "c: pod-anti-affinity"));
}

TEST_F(VmSchedulingTest, NodesThatKubeVirtWouldNotChooseDoNotCountForItsSpread) {
    // Of equal nodes only those count that its rendered selectors match.
    auto labels = test::plain_labels();
    labels.erase("machine-type.node.kubevirt.io/q35");
    labels[host] = "c";
    objects.nodes[2].labels = test::kube_labels(labels);
    wishes().spread.push_back({.topology = host,
                               .pods = scheduling::LabelSelector{{{"app", "web"}}, {}},
                               .label_keys = {}});
    add("twin", "b").pod.labels = {{"app", "web"}};
    told.pods.front().pod.labels = {{"app", "web"}};

    EXPECT_THAT(answers(), Contains("b: can"));
}

TEST_F(VmSchedulingTest, NorDoThoseThatItsMigrationDoesNotAskFor) {
    wishes().spread.push_back({.topology = host,
                               .pods = scheduling::LabelSelector{{{"app", "web"}}, {}},
                               .label_keys = {}});
    add("twin", "b").pod.labels = {{"app", "web"}};
    told.pods.front().pod.labels = {{"app", "web"}};
    const migration::NodeSelectorTerm only_b{.expressions = {},
                                             .fields = {{"metadata.name", "In", {"b"}}}};

    EXPECT_THAT(answers(), ElementsAre("b: topology-spread", "c: can"));
    EXPECT_THAT(answers({.added = {}, .term = only_b}), ElementsAre("b: can", "c: selector"));
    EXPECT_THAT(answers({.added = {{host, "b"}}}), ElementsAre("b: can", "c: selector"));
}

TEST_F(VmSchedulingTest, WhatNobodyToldIsSaid) {
    told.wishes.front().pod.claims = {"disk"};
    EXPECT_THAT(place().notes, Contains(HasSubstr("the claims disk are not known")));

    for (auto& room : told.rooms) {
        room.allocatable.reset();
    }
    EXPECT_THAT(place().notes, Contains(HasSubstr("no node tells what it has for pods")));

    told.rooms.front().allocatable = scheduling::Resources{{"cpu", 1000}};
    std::erase_if(told.pods, [](const auto& pod) { return !pod.launcher; });
    EXPECT_THAT(place().notes, Contains(HasSubstr("of all pods only launchers are known")));

    told.pods.clear();
    EXPECT_THAT(place().notes, Contains(HasSubstr("no pods are known")));
    EXPECT_THAT(answers(), ElementsAre("b: can", "c: can"));
}

TEST_F(VmSchedulingTest, WhatOneNodeDoesNotTellLeavesThatNodeOpen) {
    told.rooms[1].allocatable.reset();
    EXPECT_THAT(answers(), ElementsAre("b?: not-comparable", "c: can"));
}

TEST_F(VmSchedulingTest, WithoutItsLauncherNoNodeIsCertain) {
    told.pods.erase(told.pods.begin());
    EXPECT_THAT(answers(), ElementsAre("b?: not-comparable", "c?: not-comparable"));
}

TEST_F(VmSchedulingTest, WhileItsMemoryIsChangedNoNodeIsCertain) {
    vmi().conditions.push_back({.type = text("HotMemoryChange"),
                                .status = text("True"),
                                .reason = {},
                                .message = {},
                                .since = {}});
    add("big", "b").pod.requests = {{"cpu", 3000}};
    EXPECT_THAT(answers(), ElementsAre("b: resources", "c?: not-comparable"));
}

TEST_F(VmSchedulingTest, WishesThatCannotBeReadLeaveAllOpen) {
    told.wishes.clear();
    told.all_wishes = false;
    EXPECT_THAT(answers(), ElementsAre("b?: not-comparable", "c?: not-comparable"));
}

TEST_F(VmSchedulingTest, AVmThatToleratesCordonsGoesThere) {
    test::cordon(objects.nodes[1], WallTime{});
    wishes().tolerations = {{{}, "Exists", {}, {}}};
    EXPECT_THAT(answers(), ElementsAre("b: can", "c: can"));
}

TEST_F(VmSchedulingTest, WhatItsLauncherToleratesAndTheVmDoesNotIsOpen) {
    objects.nodes[1].taints = {
        {.key = text("dedicated"), .value = {}, .effect = text("NoSchedule"), .added = {}}};
    told.pods.front().pod.tolerations = {{"dedicated", "Exists", {}, {}}};
    EXPECT_THAT(answers(), ElementsAre("b?: not-comparable", "c: can"));
}

TEST_F(VmSchedulingTest, WhatItsLauncherAsksForAndNobodyElseIsOpen) {
    told.pods.front().pod.node_selector = {{host, "c"}, {"cpu-vendor.node.kubevirt.io/X", "true"}};
    EXPECT_THAT(answers(), ElementsAre("b?: not-comparable", "c: can"));
}

TEST_F(VmSchedulingTest, TheLabelsOfItsLaunchersAreKnownToOtherPods) {
    for (const auto& [key, value] :
         migration::Labels{{"vm.kubevirt.io/name", "web"}, {"vmi.kubevirt.io/id", "web"}}) {
        scheduling::PodTerm term;
        term.pods.emplace().labels.emplace(key, value);
        term.topology = host;
        add("jealous of " + key, "b").pod.anti_affinity = {term};
    }
    EXPECT_THAT(answers(), ElementsAre("b: pod-anti-affinity", "c: can"));
}

TEST_F(VmSchedulingTest, ReservationsOfItsDisksKeepOthersAway) {
    scheduling::PodTerm term;
    term.pods.emplace().labels.emplace("pr.kubevirt.io/lun", "1");
    term.topology = host;
    told.pods.front().pod.anti_affinity = {term};
    told.pods.front().pod.labels["pr.kubevirt.io/lun"] = "1";
    add("sharer", "c").pod.labels = {{"pr.kubevirt.io/lun", "1"}};
    EXPECT_THAT(answers(), ElementsAre("b: can", "c: pod-anti-affinity"));
}

TEST_F(VmSchedulingTest, KeysOfLabelsAreMergedAsWhenThePodIsMade) {
    wishes().labels["rev"] = "2";
    scheduling::PodTerm term;
    term.pods.emplace().labels.emplace("tier", "cache");
    term.topology = host;
    term.label_keys = {"rev", "none"};
    wishes().affinity = {term};
    add("cache", "b").pod.labels = {{"tier", "cache"}, {"rev", "1"}};
    EXPECT_THAT(answers(), ElementsAre("b: pod-affinity", "c: pod-affinity"));

    wishes().affinity.front().label_keys.clear();
    wishes().affinity.front().unlike_label_keys = {"rev"};
    EXPECT_THAT(answers(), ElementsAre("b: can", "c: pod-affinity"));
}

TEST_F(VmSchedulingTest, AnEmptyTermIsGivenWhatKubeVirtRejects) {
    wishes().node_terms.emplace(1);
    EXPECT_THAT(answers(), ElementsAre("b: can", "c: can"));
}

TEST_F(VmSchedulingTest, ClaimsThatItLeavesOrThatAreMadeAnewDoNotTie) {
    VolumeClaim claim;
    claim.meta = {.space = text("shop"), .name = "old", .uid = {}, .version = {}};
    claim.claim.volume = "pv";
    claim.claim.bound = true;
    told.claims = {claim};
    PersistentVolume volume;
    volume.meta.name = "pv";
    volume.volume.node_terms = {{.expressions = {{host, "In", {"a"}}}, .fields = {}}};
    told.volumes = {volume};
    told.pods.front().pod.claims = {"old"};
    EXPECT_THAT(answers(), ElementsAre("b: volume", "c: volume"));

    told.wishes.front().moved_away = {"old"};
    EXPECT_THAT(answers(), ElementsAre("b: can", "c: can"));

    told.pods.front().pod.claims = {"persistent-state-for-web"};
    told.claims.front().meta.name = "persistent-state-for-web";
    EXPECT_THAT(answers(), ElementsAre("b?: not-comparable", "c?: not-comparable"));
    told.claims.front().claim.shared = true;
    EXPECT_THAT(answers(), ElementsAre("b: volume", "c: volume"));
}

TEST_F(VmSchedulingTest, AClaimOfARunningVmThatWasNotToldIsOpen) {
    wishes().claims = {"disk"};
    VolumeClaim other;
    other.meta = {.space = text("bank"), .name = "other", .uid = {}, .version = {}};
    told.claims = {other};
    EXPECT_THAT(answers(), ElementsAre("b?: not-comparable", "c?: not-comparable"));
}

TEST_F(VmSchedulingTest, ThousandsOfTermsAreNotLookedAtOneByOne) {
    scheduling::PodTerm term;
    term.pods.emplace().labels.emplace("app", "db");
    term.topology = host;
    wishes().anti_affinity.assign(20'000, term);
    add("db", "b").pod.labels = {{"app", "db"}};
    EXPECT_THAT(answers(), ElementsAre("b: pod-anti-affinity", "c?: not-comparable"));
}

TEST_F(VmSchedulingTest, WhereItsVolumeIsItMustStay) {
    wishes().claims = {"disk"};
    VolumeClaim claim;
    claim.meta = {.space = text("shop"), .name = "disk", .uid = {}, .version = {}};
    claim.claim.volume = "pv";
    claim.claim.bound = true;
    told.claims = {claim};
    PersistentVolume volume;
    volume.meta.name = "pv";
    volume.volume.node_terms = {{.expressions = {{host, "In", {"a", "c"}}}, .fields = {}}};
    told.volumes = {volume};

    EXPECT_THAT(answers(), ElementsAre("b: volume", "c: can"));
}

TEST_F(VmSchedulingTest, AVmThatCannotBeMovedIsNotPlaced) {
    vmi().phase = text("Succeeded");

    EXPECT_THAT(answers(), ElementsAre("b: not-running", "c: not-running"));
    EXPECT_THAT(place().notes, IsEmpty());
}

}  // namespace
}  // namespace scout::cluster
