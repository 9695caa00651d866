// SPDX-License-Identifier: Apache-2.0
#include "aggregator/document_nodes.h"

#include <filesystem>
#include <string>

#include "tests/aggregator/fleet_fixture.h"
#include "tests/support/temporary_folder.h"

namespace scout::aggregator {
namespace {

constexpr const char* small_xml = R"(<domainCapabilities>
  <domain>kvm</domain><machine>q35</machine><arch>x86_64</arch>
  <cpu>
    <mode name='host-model' supported='yes'>
      <model fallback='forbid'>Small</model><vendor>Intel</vendor>
    </mode>
    <mode name='custom' supported='yes'><model usable='yes' vendor='Intel'>Small</model></mode>
  </cpu>
</domainCapabilities>)";

class DocumentNodesTest : public FleetFixture {
protected:
    test::TemporaryFolder folder;
};

TEST_F(DocumentNodesTest, FolderGivesANodeForEachFileAndLabellerFolder) {
    folder.write("b.xml", small_xml);
    folder.write("a.xml", "<domainCapabilities>");
    folder.write("node-c/virsh_domcapabilities.xml", small_xml);
    folder.write("notes.txt", "not a document");
    folder.write("empty-folder/notes.txt", "nothing here");

    const auto nodes = read_document_nodes(folder.path()).value();

    ASSERT_EQ(nodes.size(), 3U);
    EXPECT_EQ(nodes[0].name, "a");
    EXPECT_FALSE(nodes[0].documents);
    EXPECT_FALSE(nodes[0].error.empty());
    EXPECT_EQ(nodes[1].name, "b");
    ASSERT_TRUE(nodes[1].documents) << nodes[1].error;
    EXPECT_EQ(nodes[1].documents->profile.host_model->name, "Small");
    EXPECT_EQ(nodes[2].name, "node-c");
    EXPECT_TRUE(nodes[2].documents) << nodes[2].error;
}

TEST_F(DocumentNodesTest, OneFileOrOneLabellerFolderIsOneNode) {
    const auto file = folder.write("host.xml", small_xml);
    folder.write("node-c/virsh_domcapabilities.xml", small_xml);

    EXPECT_EQ(read_document_nodes(file).value().front().name, "host");
    const auto labeller = read_document_nodes(folder.path() / "node-c/").value();
    ASSERT_EQ(labeller.size(), 1U);
    EXPECT_EQ(labeller.front().name, "node-c");
    EXPECT_EQ(read_document_nodes(folder.path() / "none").error().code, Errc::not_found);
}

TEST_F(DocumentNodesTest, NodesJoinTheFleetWithTheirSourceAndFaults) {
    folder.write("good.xml", small_xml);
    folder.write("bad.xml", "<domainCapabilities>");
    const auto nodes = read_document_nodes(folder.path()).value();
    for (const auto& node : nodes) {
        ASSERT_TRUE(add_document_node(node, "sample", clock.steady(), fleet.registry()));
    }

    EXPECT_EQ(node("good").host.source, "sample");
    EXPECT_NE(node("good").profile, nullptr);
    EXPECT_EQ(node("bad").profile, nullptr);
    EXPECT_FALSE(node("bad").host.probe_error.empty());
    EXPECT_EQ(fleet.matrix().matrix().nodes(), 1U);
}

TEST_F(DocumentNodesTest, SecondDocumentOfOneNameIsRefused) {
    const auto first = read_document_nodes(folder.write("one/host.xml", small_xml)).value();
    const auto second = read_document_nodes(folder.write("two/host.xml", small_xml)).value();
    ASSERT_TRUE(add_document_node(first.front(), "file", clock.steady(), fleet.registry()));

    const auto added = add_document_node(second.front(), "file", clock.steady(), fleet.registry());

    ASSERT_FALSE(added);
    EXPECT_NE(added.error().message.find("one/host.xml"), std::string::npos);
    EXPECT_NE(added.error().message.find("two/host.xml"), std::string::npos);
}

}  // namespace
}  // namespace scout::aggregator
