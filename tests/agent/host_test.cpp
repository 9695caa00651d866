// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/host_history.h"
#include "agent/host_identity.h"
#include "agent/node_reading.h"
#include "tests/support/fake_hypervisor.h"
#include "tests/support/temporary_folder.h"

namespace scout::agent {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(HostIdentityTest, HidesTheMachineIdAndStaysTheSame) {
    const test::TemporaryFolder root;
    const test::TemporaryFolder state;
    const std::string machine_id = "0123456789abcdef0123456789abcdef";
    root.write("etc/machine-id", machine_id + "\n");

    const auto first = host_identity(root.path(), state.path());

    ASSERT_TRUE(first);
    EXPECT_EQ(first->size(), 32U);
    EXPECT_NE(*first, machine_id);
    EXPECT_EQ(host_identity(root.path(), state.path()).value(), *first);
}

TEST(HostIdentityTest, KeepsAnIdOfItsOwnWhereTheMachineHasNone) {
    const test::TemporaryFolder root;
    const test::TemporaryFolder state;
    root.write("etc/machine-id", "uninitialized\n");

    const auto first = host_identity(root.path(), state.path());

    ASSERT_TRUE(first);
    EXPECT_EQ(host_identity(root.path(), state.path()).value(), *first);
    EXPECT_FALSE(host_identity(root.path(), state.path() / "absent"));
}

TEST(HostHistoryTest, TellsWhatChangedSinceTheLastProbeAlsoAfterARestart) {
    const test::TemporaryFolder state;
    hypervisor::HostFingerprint before{
        .microcode = "0x1", .kernel = "6.1", .source = "qemu:///embed", .profile_digest = "d"};

    EXPECT_THAT(record_probe(state.path(), before).changes, IsEmpty());
    EXPECT_THAT(record_probe(state.path(), before).changes, IsEmpty());
    before.microcode = "0x2";
    const auto recorded = record_probe(state.path(), before);

    ASSERT_EQ(recorded.changes.size(), 1U);
    EXPECT_THAT(recorded.changes[0], HasSubstr("0x2"));
    EXPECT_TRUE(recorded.stored);
    EXPECT_THAT(record_probe(state.path(), before).changes, IsEmpty());
}

TEST(HostHistoryTest, StartsAnewOverADamagedRecord) {
    const test::TemporaryFolder state;
    state.write("fingerprint.json", "{\"kernel\":");

    const auto recorded = record_probe(state.path(), {.kernel = "6.1"});

    EXPECT_FALSE(recorded.set_aside.empty());
    EXPECT_THAT(recorded.changes, IsEmpty());
    EXPECT_TRUE(record_probe(state.path(), {.kernel = "6.1"}).set_aside.empty());
}

TEST(NodeReadingTest, TakesTheLabellersFilesWhereTheyAre) {
    const test::TemporaryFolder folder;

    EXPECT_FALSE(read_labeller(folder.path(), "/").value());

    folder.write("virsh_domcapabilities.xml",
                 test::example_domain_capabilities("Cascadelake-Server", "vmx"));
    const auto reading = read_labeller(folder.path(), folder.path()).value().value();
    EXPECT_EQ(reading.source, "labeller");
    EXPECT_EQ(reading.profile->host_model.value().name, "Cascadelake-Server");

    folder.write("virsh_domcapabilities.xml", "<capabilities/>");
    EXPECT_FALSE(read_labeller(folder.path(), folder.path()));
}

TEST(NodeReadingTest, NamesTheSourceOfAUri) {
    EXPECT_EQ(source_of("qemu:///embed?root=/x"), "embedded");
    EXPECT_EQ(source_of("qemu:///embedded"), "libvirt") << "libvirt knows no such driver";
    EXPECT_EQ(source_of("qemu:///system"), "system");
    EXPECT_EQ(source_of("test:///default"), "libvirt");
}

}  // namespace
}  // namespace scout::agent
