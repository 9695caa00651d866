// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/node_documents.h"

#include <gtest/gtest.h>

namespace scout::hypervisor {
namespace {

HostDocuments sample() {
    HostDocuments documents;
    documents.uri = "qemu:///embed";
    documents.virt_type = "kvm";
    MachineDocument q35;
    q35.arch = "x86_64";
    q35.machine = "q35";
    q35.xml = R"(<domainCapabilities>
  <domain>kvm</domain><machine>pc-q35-7.2</machine><arch>x86_64</arch>
  <cpu>
    <mode name='host-model' supported='yes'>
      <model fallback='forbid'>EPYC</model><vendor>AMD</vendor>
      <feature policy='require' name='x2apic'/>
    </mode>
    <mode name='custom' supported='yes'><model usable='yes' vendor='AMD'>EPYC</model></mode>
  </cpu>
</domainCapabilities>)";
    documents.domain_capabilities.push_back(q35);
    documents.supported_features =
        "<cpu mode='custom' match='exact'><model>EPYC</model>"
        "<feature name='cx8'/><feature name='fpu'/><feature name='mmx'/>"
        "<feature policy='require' name='x2apic'/><feature policy='require' name='svm'/></cpu>";
    documents.libvirt_version = "9.0.0";
    documents.hypervisor_version = "7.2.22";
    return documents;
}

TEST(NodeDocumentsTest, MakeAProfileWithTheVersionsBesideIt) {
    const auto node = to_node_documents(sample());

    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->profile.host_model->name, "EPYC");
    EXPECT_EQ(node->profile.supported,
              (migration::FeatureSet{"cx8", "fpu", "mmx", "svm", "x2apic"}));
    EXPECT_EQ(node->facts.libvirt_version, "9.0.0");
    EXPECT_EQ(node->facts.hypervisor_version, "7.2.22");
}

TEST(NodeDocumentsTest, NameTheProbeWhoseDocumentsCannotBeUsed) {
    auto documents = sample();
    documents.domain_capabilities.front().xml = "<domainCapabilities>";
    const auto broken = to_node_documents(documents);
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, Errc::invalid);
    EXPECT_NE(broken.error().message.find("qemu:///embed"), std::string::npos);

    documents.domain_capabilities.clear();
    EXPECT_EQ(to_node_documents(documents).error().code, Errc::invalid);
}

}  // namespace
}  // namespace scout::hypervisor
