// SPDX-License-Identifier: Apache-2.0
#include "cluster/vm_protection.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "cluster/dump.h"
#include "cluster/move_policy.h"
#include "tests/support/test_data.h"

namespace scout::cluster {
namespace {

using kube::SharedText;
using migration::ProtectionVerdict;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

kube::Vmi running(const std::string& name, const std::string& node) {
    kube::Vmi vmi;
    vmi.meta = {.space = SharedText{"shop"}, .name = name, .uid = "uid of " + name, .version = "1"};
    vmi.phase = SharedText{"Running"};
    vmi.node = SharedText{node};
    vmi.eviction_strategy = SharedText{"LiveMigrate"};
    vmi.memory = SharedText{"4Gi"};
    kube::Condition migratable;
    migratable.type = SharedText{"LiveMigratable"};
    migratable.status = SharedText{"True"};
    vmi.conditions = {migratable};
    return vmi;
}

kube::Plugin our_plugin(const NodeNames& left_out) {
    kube::Plugin plugin;
    plugin.meta.name = hook_plugin_name;
    plugin.hooks.resize(1);
    plugin.hooks.front().socket = kube::SharedText{hook_socket};
    plugin.hooks.front().condition = hook_condition(left_out);
    return plugin;
}

kube::Node node(const std::string& name) {
    kube::Node node;
    node.meta.name = name;
    return node;
}

kube::ScoutConfig config(const std::string& mode) {
    kube::ScoutConfig config;
    config.meta.name = kube::ScoutConfig::name_in_force;
    config.evacuation_mode = SharedText{mode};
    return config;
}

/// A KubeVirt that asks, and one VM on n1.
Objects guarded_shop() {
    Objects objects;
    objects.nodes = {node("n1"), node("n2")};
    objects.kubevirts.resize(1);
    objects.kubevirts.front().phase = SharedText{"Deployed"};
    objects.kubevirts.front().feature_gates = {SharedText{"Plugins"}};
    objects.vmis = {running("web", "n1")};
    objects.plugins = {our_plugin({})};
    objects.configs = {config("act")};
    return objects;
}

kube::LauncherPod launcher_of(const kube::Vmi& vmi, const std::string& node,
                              std::chrono::seconds grace) {
    kube::LauncherPod pod;
    pod.meta.name = "virt-launcher-" + vmi.meta.name + "-" + node;
    pod.vmi_uid = vmi.meta.uid;
    pod.node = SharedText{node};
    pod.phase = SharedText{"Running"};
    pod.launcher_grace = grace;
    pod.grace = grace + 15s;
    return pod;
}

VmProtection only(const Objects& objects, const KubeletWords& kubelets = {}) {
    const auto all = vm_protections(objects, kubelets);
    EXPECT_THAT(all, SizeIs(1));
    return all.empty() ? VmProtection{} : all.front();
}

/// KubeVirt gives the move of web up halfway, and may be let pause it.
void escalate(Objects& all, const char* escalation) {
    auto& vmi = all.vmis.front();
    vmi.memory = SharedText{"16Gi"};
    vmi.labels = {{"app", "web"}, {"kubevirt.io/nodeName", "n1"}};
    all.kubevirts.front().migrations.completion_seconds_per_gib = 1;
    all.kubevirts.front().migrations.bandwidth = SharedText{"640M"};
    all.configs.front().evacuation_escalation = SharedText{escalation};
    all.namespaces.resize(1);
    all.namespaces.front().meta.name = "shop";
    all.namespaces.front().labels = {{"kubernetes.io/metadata.name", "shop"}};
}

struct Row {
    const char* what;
    std::function<void(Objects&)> change;
    ProtectionVerdict verdict;
    const char* why;
    const char* advice;
};

const std::vector<Row> obstacles{
    {"nothing", [](auto&) {}, ProtectionVerdict::guarded, "45 s", ""},
    {"KubeVirt lists no gate", [](auto& all) { all.kubevirts.front().feature_gates.clear(); },
     ProtectionVerdict::no_hook, "no feature gate Plugins", "featureGates"},
    {"the gate is listed as off",
     [](auto& all) { all.kubevirts.front().disabled_feature_gates = {SharedText{"Plugins"}}; },
     ProtectionVerdict::no_hook, "no feature gate Plugins", "featureGates"},
    {"mode observe", [](auto& all) { all.configs = {config("observe")}; },
     ProtectionVerdict::no_hook, "evacuation.mode is observe", "kubectl patch scoutconfig"},
    {"nobody says a mode, and nothing is there",
     [](auto& all) {
         all.configs.clear();
         all.plugins.clear();
     },
     ProtectionVerdict::no_hook, "no ScoutConfig and no Plugin virt-scout is known",
     "kubectl create -f daemonset/scoutconfig.yaml and then: kubectl patch scoutconfig"},
    {"a dump without the ScoutConfig", [](auto& all) { all.configs.clear(); },
     ProtectionVerdict::guarded, "45 s", ""},
    {"a ScoutConfig of another name", [](auto& all) { all.configs.front().meta.name = "other"; },
     ProtectionVerdict::guarded, "45 s", ""},
    {"no Plugin", [](auto& all) { all.plugins.clear(); }, ProtectionVerdict::no_hook,
     "no Plugin object virt-scout", "Protecting"},
    {"the Plugin of somebody else", [](auto& all) { all.plugins.front().meta.name = "other"; },
     ProtectionVerdict::no_hook, "no Plugin object virt-scout", "Protecting"},
    {"its node's agent is silent", [](auto& all) { all.plugins = {our_plugin({"n1"})}; },
     ProtectionVerdict::no_hook, "no agent that is alive", "agent on its node"},
    {"the same, behind somebody else's hook",
     [](auto& all) {
         all.plugins = {our_plugin({"n1"})};
         auto& hooks = all.plugins.front().hooks;
         hooks.insert(hooks.begin(), kube::NodeHook{});
     },
     ProtectionVerdict::no_hook, "no agent that is alive", "agent on its node"},
    {"another node's agent is silent", [](auto& all) { all.plugins = {our_plugin({"n2"})}; },
     ProtectionVerdict::guarded, "45 s", ""},
    {"its node is gone", [](auto& all) { all.nodes = {node("n2")}; }, ProtectionVerdict::no_hook,
     "no Node object", ""},
    {"nodes are not known", [](auto& all) { all.nodes.clear(); }, ProtectionVerdict::guarded,
     "45 s", ""},
    {"no KubeVirt object", [](auto& all) { all.kubevirts.clear(); }, ProtectionVerdict::unknown,
     "the KubeVirt object", "kubectl get kubevirts -A"},
    {"no KubeVirt object, whose strategy would count",
     [](auto& all) {
         all.kubevirts.clear();
         all.vmis.front().eviction_strategy = {};
     },
     ProtectionVerdict::unknown, "the VMI has no evictionStrategy", "kubectl get kubevirts -A"},
    {"strategy of the cluster",
     [](auto& all) {
         all.vmis.front().eviction_strategy = {};
         all.kubevirts.front().eviction_strategy = SharedText{"LiveMigrate"};
     },
     ProtectionVerdict::guarded, "45 s", ""},
    {"no strategy", [](auto& all) { all.vmis.front().eviction_strategy = {}; },
     ProtectionVerdict::strategy, "neither", "evictionStrategy: LiveMigrate"},
    {"not migratable",
     [](auto& all) {
         auto& condition = all.vmis.front().conditions.front();
         condition.status = SharedText{"False"};
         condition.reason = SharedText{"DisksNotLiveMigratable"};
         condition.message = SharedText{"disk a is ReadWriteOnce"};
     },
     ProtectionVerdict::not_migratable, "DisksNotLiveMigratable (disk a is ReadWriteOnce)", ""},
    {"shares files", [](auto& all) { all.vmis.front().shares_files = true; },
     ProtectionVerdict::not_migratable, "virtiofs shares end", ""},
    {"too big", [](auto& all) { all.vmis.front().memory = SharedText{"64Gi"}; },
     ProtectionVerdict::too_big, "at best",
     R"(terminationGracePeriodSeconds: 110 in the VM's template, from its next start on; or, from its next launcher on, a move's target too, virt-scout.io/launcher-grace-seconds: "125" as an annotation)"},
    {"too big, and its next launcher will have the time",
     [](auto& all) {
         all.vmis.front().memory = SharedText{"64Gi"};
         all.vmis.front().wanted_grace = SharedText{"300"};
     },
     ProtectionVerdict::too_big, "at best",
     "virt-scout.io/launcher-grace-seconds is set to 300, in force from its next launcher: migrate "
     "it once"},
    {"the same by its namespace, and not enough",
     [](auto& all) {
         all.vmis.front().memory = SharedText{"64Gi"};
         all.namespaces.resize(1);
         all.namespaces.front().meta.name = "shop";
         all.namespaces.front().labels = {{"virt-scout.io/launcher-grace-seconds", "60"}};
     },
     ProtectionVerdict::too_big, "at best",
     "is set to 60, in force from its next launcher: migrate it once; that is not enough: "
     "terminationGracePeriodSeconds: 110"},
    {"what was wanted and is no number counts for nothing",
     [](auto& all) {
         all.vmis.front().memory = SharedText{"64Gi"};
         all.vmis.front().wanted_grace = SharedText{"long"};
     },
     ProtectionVerdict::too_big, "at best", "terminationGracePeriodSeconds: 110"},
    {"too big for any annotation", [](auto& all) { all.vmis.front().memory = SharedText{"3Ti"}; },
     ProtectionVerdict::too_big, "at best",
     "terminationGracePeriodSeconds: 5305 in the VM's template, from its next start on"},
    {"too slow", [](auto& all) { all.kubevirts.front().migrations.bandwidth = SharedText{"1Mi"}; },
     ProtectionVerdict::too_big, "given up", "raise the bandwidth"},
    {"its memory is no quantity", [](auto& all) { all.vmis.front().memory = SharedText{"much"}; },
     ProtectionVerdict::unknown, "memory", ""},
    {"a launcher that was given more time",
     [](auto& all) {
         auto& vmi = all.vmis.front();
         vmi.memory = SharedText{"64Gi"};
         all.launchers = {launcher_of(vmi, "n2", 45s), launcher_of(vmi, "n1", 300s)};
     },
     ProtectionVerdict::guarded, "kills the guest after 300 s", ""},
    {"the one that has ended does not count",
     [](auto& all) {
         auto& vmi = all.vmis.front();
         all.launchers = {launcher_of(vmi, "n1", 300s)};
         all.launchers.front().phase = SharedText{"Failed"};
     },
     ProtectionVerdict::guarded, "45 s", ""},
    {"a policy that chooses it by its namespace",
     [](auto& all) {
         all.namespaces.resize(1);
         all.namespaces.front().meta.name = "shop";
         all.namespaces.front().labels = {{"env", "slow"}};
         all.policies.resize(1);
         all.policies.front().meta.name = "slow";
         all.policies.front().selectors = {.space = {{"env", "slow"}}, .vmi = {}};
         all.policies.front().settings.bandwidth = SharedText{"1Mi"};
     },
     ProtectionVerdict::too_big, "given up", "MigrationPolicy"},
    {"the same, and the namespace is not known",
     [](auto& all) {
         all.namespaces.clear();
         all.policies.resize(1);
         all.policies.front().meta.name = "slow";
         all.policies.front().selectors = {.space = {{"env", "slow"}}, .vmi = {}};
     },
     ProtectionVerdict::unknown, "by whose labels a policy may choose it",
     "kubectl get namespaces -A"},
    {"given up too early", [](auto& all) { escalate(all, "none"); }, ProtectionVerdict::too_big,
     "given up", "or spec.evacuation.escalation of the ScoutConfig"},
    {"the same, which escalation saves", [](auto& all) { escalate(all, "pause"); },
     ProtectionVerdict::guarded, "with pause, which evacuation.escalation allows", "raise"},
    {"the same, and its policy forbids it",
     [](auto& all) {
         escalate(all, "pause");
         all.policies.resize(1);
         all.policies.front().meta.name = "gold";
         all.policies.front().selectors = {.space = {}, .vmi = {{"app", "web"}}};
         all.policies.front().settings.allow_workload_disruption = false;
     },
     ProtectionVerdict::too_big, "but policy gold forbids pause", "raise"},
    {"the same, and its namespace is not known",
     [](auto& all) {
         escalate(all, "pause");
         all.namespaces.clear();
     },
     ProtectionVerdict::unknown, "namespace", ""},
    {"the policy of a move that was escalated before is as none",
     [](auto& all) {
         escalate(all, "none");
         all.policies.resize(1);
         all.policies.front().meta.name = move_policy_name("uid of web");
         all.policies.front().move_of = "uid of web";
         all.policies.front().selectors = {.space = {}, .vmi = {{"app", "web"}}};
         all.policies.front().settings.allow_workload_disruption = true;
     },
     ProtectionVerdict::too_big, "given up", "raise"},
    {"a mark waits", [](auto& all) { all.vmis.front().evacuation_node = SharedText{"n1"}; },
     ProtectionVerdict::guarded, "; a mark for its evacuation waits: see scoutctl stuck", ""},
    {"it is being moved",
     [](auto& all) {
         auto& vmi = all.vmis.front();
         vmi.evacuation_node = SharedText{"n1"};
         vmi.migration.emplace().uid = "m1";
         vmi.migration->target_node = SharedText{"n2"};
     },
     ProtectionVerdict::guarded, "; it is being moved now", ""},
    {"it was moved",
     [](auto& all) {
         auto& last = all.vmis.front().migration.emplace();
         last.uid = "m1";
         last.completed = true;
     },
     ProtectionVerdict::guarded, "45 s", ""},
    {"a large disk is copied too",
     [](auto& all) {
         all.vmis.front().copied_disks = {
             {.name = SharedText{"data"}, .size = SharedText{"100Gi"}}};
     },
     ProtectionVerdict::guarded, "in use of disk data (100Gi): nothing at best",
     "terminationGracePeriodSeconds: "},
};

TEST(VmProtectionTest, EachObstacleIsNamedWithWhatHelps) {
    for (const auto& row : obstacles) {
        SCOPED_TRACE(row.what);
        auto objects = guarded_shop();
        row.change(objects);

        const auto told = only(objects);

        EXPECT_EQ(told.vmi, "shop/web");
        EXPECT_EQ(told.answer.verdict, row.verdict)
            << to_string(told.answer.verdict) << ": " << told.answer.why;
        EXPECT_THAT(told.answer.why, HasSubstr(row.why));
        if (*row.advice == '\0') {
            EXPECT_THAT(told.advice, IsEmpty());
        } else {
            EXPECT_THAT(told.advice, HasSubstr(row.advice));
        }
    }
}

TEST(VmProtectionTest, WherePluginsWereNotReadNothingSaysThatNobodyIsAsked) {
    auto objects = guarded_shop();
    objects.plugins.clear();

    const auto all = vm_protections(objects, {}, false);

    ASSERT_THAT(all, SizeIs(1));
    EXPECT_EQ(all[0].answer.verdict, ProtectionVerdict::unknown);
    EXPECT_THAT(all[0].answer.why, HasSubstr("no Plugin object was read"));
    EXPECT_THAT(all[0].advice, HasSubstr("scoutconfigs,plugins.plugin.kubevirt.io"));
    objects.kubevirts.front().feature_gates.clear();
    EXPECT_EQ(vm_protections(objects, {}, false)[0].answer.verdict, ProtectionVerdict::no_hook)
        << "KubeVirt asks nobody";
}

TEST(VmProtectionTest, AnotherVmWithTheSameLabelsKeepsItFromBeingEscalated) {
    auto objects = guarded_shop();
    escalate(objects, "pause");
    objects.vmis.push_back(objects.vmis.front());
    auto& other = objects.vmis.back();
    other.meta.name = "twin";
    other.meta.uid = "uid of twin";
    other.labels = {{"app", "web"}, {"kubevirt.io/nodeName", "n1"}, {"more", ""}};

    const auto all = vm_protections(objects);

    ASSERT_THAT(all, SizeIs(2));
    EXPECT_EQ(all[0].answer.verdict, ProtectionVerdict::too_big);
    EXPECT_THAT(all[0].answer.why, HasSubstr("a policy would be for both"));
    EXPECT_EQ(all[1].answer.verdict, ProtectionVerdict::guarded) << "its labels are more";
}

TEST(VmProtectionTest, VmsThatDoNotRunAreNotThere) {
    auto objects = guarded_shop();
    objects.vmis.push_back(running("ended", "n1"));
    objects.vmis.back().phase = SharedText{"Succeeded"};
    objects.vmis.push_back(running("leaving", "n1"));
    objects.vmis.back().deletion = WallTime{1s};
    objects.vmis.push_back(running("waiting", ""));

    EXPECT_THAT(vm_protections(objects), SizeIs(1));
}

TEST(VmProtectionTest, WhatAgentsToldOfTheirKubeletsCounts) {
    const auto objects = guarded_shop();
    const KubeletWords hard{{"n1", {}}};
    EXPECT_EQ(only(objects, hard).answer.verdict, ProtectionVerdict::too_big);
    EXPECT_THAT(only(objects, hard).advice,
                AllOf(HasSubstr("evictionSoftGracePeriod"), HasSubstr("evictionMaxPodGracePeriod"),
                      HasSubstr("in the place of shutdownGracePeriod")));
    const KubeletWords elsewhere{{"n2", {}}};
    EXPECT_EQ(only(objects, elsewhere).answer.verdict, ProtectionVerdict::guarded);
    const KubeletWords soft{{"n1", {.soft = 300s, .shutdown = 300s}}};
    EXPECT_EQ(only(objects, soft).answer.verdict, ProtectionVerdict::guarded);
    EXPECT_EQ(only(objects, soft).answer.budget.limit, migration::StopLimit::launcher);
}

TEST(VmProtectionTest, ManyOfOneNodeDoNotAllFitAtOnce) {
    auto objects = guarded_shop();
    objects.vmis.clear();
    for (int i = 0; i < 40; ++i) {
        objects.vmis.push_back(running("vm-" + std::to_string(i), "n1"));
    }
    objects.vmis.push_back(running("alone", "n2"));

    std::size_t begun = 0;
    for (const auto& each : vm_protections(objects)) {
        EXPECT_EQ(each.answer.verdict, ProtectionVerdict::guarded);
        ASSERT_TRUE(each.with_others);
        begun += *each.with_others ? 1 : 0;
        EXPECT_TRUE(each.node == "n1" || *each.with_others);
    }
    // 5.5 s each, two at a time, in 35 s; and the one that has its node for itself.
    EXPECT_GE(begun, 6U);
    EXPECT_LE(begun, 15U);
}

TEST(VmProtectionTest, TellsOfTheRealDump) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto dump = read_dump({data / "kubevirt/live"});
    ASSERT_TRUE(dump) << dump.error().message;
    EXPECT_THAT(dump->objects.policies, SizeIs(2));
    EXPECT_THAT(dump->objects.namespaces, testing::Not(IsEmpty()));

    const auto all = vm_protections(dump->objects);

    ASSERT_THAT(all, SizeIs(9));
    for (const auto& each : all) {
        EXPECT_EQ(each.memory, 128ULL << 20U) << each.vmi;
        EXPECT_EQ(each.answer.budget.ends, 45s) << each.vmi;
        ASSERT_TRUE(each.answer.forecast) << each.vmi;
        EXPECT_TRUE(each.answer.forecast->pessimistic.moved())
            << each.vmi << ": pay-prod is applied, not gold-fast with its 217 KiB a second";
    }
}

}  // namespace
}  // namespace scout::cluster
