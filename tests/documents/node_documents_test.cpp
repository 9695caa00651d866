// SPDX-License-Identifier: Apache-2.0
#include "documents/node_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace scout::documents {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* host = R"(<domainCapabilities><domain>kvm</domain><arch>x86_64</arch><cpu>
  <mode name='host-model' supported='yes'><model>Small</model><vendor>AMD</vendor></mode>
  </cpu></domainCapabilities>)";

TEST(NodeDocumentsTest, PutsTheLabellersFilesTogether) {
    const test::TemporaryFolder folder;
    folder.write("virsh_domcapabilities.xml", host);
    folder.write("supported_features.xml",
                 "<cpu><feature name='cx8'/><feature name='fpu'/>"
                 "<feature name='mmx'/><feature policy='require' name='svm'/></cpu>");
    folder.write("capabilities.xml",
                 "<capabilities><host><cpu><counter name='tsc' frequency='5' scaling='yes'/></cpu>"
                 "</host><guest><arch name='x86_64'><machine>q35</machine></arch></guest>"
                 "</capabilities>");

    const auto node = read_labeller_folder(folder.path()).value();

    EXPECT_EQ(node.profile.host_model->name, "Small");
    EXPECT_TRUE(node.profile.supported_listed);
    EXPECT_THAT(node.profile.supported, ElementsAre("cx8", "fpu", "mmx", "svm"));
    EXPECT_THAT(node.profile.machines, ElementsAre("q35"));
    EXPECT_EQ(node.facts.tsc_hz, 5U);
    EXPECT_TRUE(node.facts.tsc_scalable);
}

TEST(NodeDocumentsTest, NeedsOnlyTheDomainCapabilities) {
    const test::TemporaryFolder folder;
    const auto file = folder.write("virsh_domcapabilities.xml", host);

    EXPECT_FALSE(read_labeller_folder(folder.path()).value().profile.supported_listed);
    EXPECT_EQ(read_node_documents(file).value().profile.vendor, "AMD");
    EXPECT_EQ(read_node_documents(folder.path()).value().profile.vendor, "AMD");
}

TEST(NodeDocumentsTest, TakesTheHostsArchitectureWhereTheDomainCapabilitiesNameNone) {
    constexpr const char* capabilities =
        "<capabilities><host><cpu><arch>s390x</arch></cpu></host></capabilities>";

    EXPECT_EQ(assemble("<domainCapabilities/>", "", capabilities).value().profile.arch, "s390x");
    EXPECT_EQ(assemble("<domainCapabilities/>", "", "").value().profile.arch, "");
    EXPECT_EQ(assemble(host, "", capabilities).value().profile.arch, "x86_64");
}

TEST(NodeDocumentsTest, RefusesAListOfSupportedFeaturesThatWasNotExpanded) {
    const auto message = [](const char* arch, const std::string& features) {
        const auto node = assemble(
            "<domainCapabilities><arch>" + std::string{arch} + "</arch></domainCapabilities>",
            "<cpu><model>Small</model>" + features + "</cpu>", "");
        return node ? std::string{} : node.error().message;
    };
    const std::string most = "<feature name='fpu'/><feature name='mmx'/>";

    EXPECT_THAT(message("x86_64", "<feature name='svm'/>"), HasSubstr("--features"));
    EXPECT_THAT(message("x86_64", most), HasSubstr("supported features"));
    EXPECT_EQ(message("x86_64", most + "<feature name='cx8'/>"), "");
    EXPECT_THAT(message("s390x", "<feature name='zarch'/>"), HasSubstr("esan3"));
    EXPECT_EQ(message("s390x", "<feature name='zarch'/><feature name='esan3'/>"), "");
    EXPECT_EQ(message("aarch64", "<feature name='sve'/>"), "");
}

TEST(NodeDocumentsTest, NamesTheFileThatIsMissingOrWrong) {
    const test::TemporaryFolder folder;
    EXPECT_THAT(read_labeller_folder(folder.path()).error().message,
                HasSubstr("virsh_domcapabilities.xml"));

    folder.write("virsh_domcapabilities.xml", host);
    folder.write("supported_features.xml", "<capabilities/>");
    EXPECT_THAT(read_labeller_folder(folder.path()).error().message,
                HasSubstr("supported features"));

    folder.write("supported_features.xml", "");
    EXPECT_THAT(read_labeller_folder(folder.path()).error().message,
                AllOf(HasSubstr("supported_features.xml"), HasSubstr("empty")));
    folder.write("supported_features.xml", "<cpu/>");
    folder.write("capabilities.xml", "");
    EXPECT_THAT(read_labeller_folder(folder.path()).error().message,
                AllOf(HasSubstr("capabilities.xml"), HasSubstr("empty")));

    const auto wrong = folder.write("caps.xml", "<capabilities/>");
    EXPECT_THAT(read_document(wrong).error().message, HasSubstr("caps.xml"));
    EXPECT_EQ(read_document(folder.path() / "absent").error().code, Errc::not_found);
}

}  // namespace
}  // namespace scout::documents
