// SPDX-License-Identifier: Apache-2.0
// What a migration adds to the selectors of its target pod (dossier §5.4, steps 2 to 4; §6.3).
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "migration/label_profile.h"
#include "migration/target_pod.h"

namespace scout::migration {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::Not;

const std::string feature{label::cpu_feature};
const std::string known{label::known_model};
const std::string vendor{label::vendor};

/// A host-model VM that never moved.
MovingVm host_model_vm() {
    MovingVm vm;
    vm.node = "n1";
    vm.vm_selectors = {{"disk", "ssd"}};
    vm.cluster_selectors = {{"pool", "vms"}};
    vm.arch = "amd64";
    vm.machine_type = "q35";
    vm.cpu_model = "host-model";
    vm.tsc_hz = 2'000'000'000;
    vm.pod = Labels{{"kubevirt.io/schedulable", "true"}, {"hyperv.node.kubevirt.io/synic", "true"}};
    vm.source = Labels{{std::string{label::host_model} + "Large", "true"},
                       {std::string{label::required_feature} + "avx", "true"},
                       {vendor + "Intel", "true"}};
    return vm;
}

TEST(AddedSelectorTest, WhatThePodAsksForByItselfStays) {
    auto vm = host_model_vm();
    const auto own_of = [](TargetPod pod) {
        pod.stock.vendors.clear();  // asked for only where no other is
        return selectors_of(pod);
    };
    const auto own = own_of(target_pod(vm));

    EXPECT_EQ(own, (Labels{{"disk", "ssd"},
                           {"pool", "vms"},
                           {"kubernetes.io/arch", "amd64"},
                           {"kubevirt.io/schedulable", "true"},
                           {"hyperv.node.kubevirt.io/synic", "true"},
                           {"machine-type.node.kubevirt.io/q35", "true"},
                           {"scheduling.node.kubevirt.io/tsc-frequency-2000000000", "true"},
                           {known + "Large", "true"},
                           {feature + "avx", "true"}}));
    for (const auto& [key, value] : own) {
        vm.added.insert_or_assign(key, "other");
    }
    EXPECT_EQ(own_of(target_pod(vm)), own);
    EXPECT_THAT(target_pod(vm).stock.vendors, ElementsAre("Intel"));
}

TEST(AddedSelectorTest, OtherKeysAreAskedForToo) {
    auto vm = host_model_vm();
    vm.added = {{"zone", "b"}, {feature + "aes", "true"}, {known + "Small", "true"}};

    const auto pod = target_pod(vm);

    EXPECT_THAT(pod.selectors, Contains(std::pair<const std::string, std::string>{"zone", "b"}));
    EXPECT_THAT(pod.selectors, Contains(Key(feature + "aes")));
    EXPECT_THAT(pod.selectors, Contains(Key(known + "Small")));
    EXPECT_EQ(pod.stock.host_model, "Large") << "H is made of the source, whatever is added";
    EXPECT_FALSE(pod.frozen);
}

TEST(AddedSelectorTest, FrozenAndStaleKeysWin) {
    auto vm = host_model_vm();
    vm.pod = Labels{{known + "Old", "true"}, {feature + "f1", "true"}};
    vm.added = {{known + "Old", "false"}, {feature + "f1", "false"}, {feature + "f2", "true"}};

    const auto pod = target_pod(vm);

    EXPECT_EQ(pod.stale, (Labels{{known + "Old", "true"}, {feature + "f1", "true"}}));
    EXPECT_THAT(pod.selectors, Not(Contains(Key(known + "Old"))));
    EXPECT_THAT(pod.selectors, Contains(Key(feature + "f2")));
}

TEST(AddedSelectorTest, NamedModelIsThePodsOwn) {
    auto vm = host_model_vm();
    vm.cpu_model = "Small";
    vm.required = {"aes"};
    vm.added = {{"cpu-model.node.kubevirt.io/Small", "false"}, {feature + "aes", "false"}};

    EXPECT_THAT(target_pod(vm).selectors, Not(Contains(Key(feature + "aes"))));
    EXPECT_THAT(selectors_of(target_pod(vm)), Contains(std::pair<const std::string, std::string>{
                                                  "cpu-model.node.kubevirt.io/Small", "true"}));
}

/// Dossier §6.3: it suppresses the automatic one.
TEST(AddedSelectorTest, VendorThatIsAddedStandsInPlaceOfTheSources) {
    auto vm = host_model_vm();
    vm.added = {{vendor + "AMD", "true"}};

    const auto pod = target_pod(vm);

    EXPECT_THAT(pod.stock.vendors, IsEmpty());
    EXPECT_FALSE(pod.stock.vendor_not_told);
    EXPECT_THAT(pod.selectors, Contains(Key(vendor + "AMD")));

    vm.vm_selectors[vendor + "Intel"] = "true";
    EXPECT_THAT(target_pod(vm).selectors, Contains(Key(vendor + "Intel")));
}

}  // namespace
}  // namespace scout::migration
