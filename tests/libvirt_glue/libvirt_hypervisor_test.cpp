// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/libvirt_hypervisor.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>

#include "base/files.h"
#include "libvirt_glue/probe_answer.h"
#include "tests/libvirt_glue/live_fixture.h"
#include "tests/support/temporary_folder.h"

namespace scout::libvirt_glue {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// An embedded hypervisor whose probing child is a script.
class FakeChildTest : public ::testing::Test {
protected:
    Result<hypervisor::HostDocuments> probe(const std::string& script,
                                            std::chrono::milliseconds limit = 20s) {
        LibvirtConfig config;
        config.embed_root = folder.path() / "root";
        config.probe_command = {"/bin/sh", "-c", script, "child"};
        config.probe_limit = limit;
        LiveHypervisor live(config);
        return live.ask(live.hypervisor->probe());
    }

    test::TemporaryFolder folder;
};

TEST_F(FakeChildTest, GetsTheUriAndTheDeviceAndAnswers) {
    hypervisor::HostDocuments documents;
    documents.uri = "qemu:///embed";
    documents.domain_capabilities = {{"x86_64", "q35", "<domainCapabilities/>", false}};
    const auto file = folder.write("answer", format_answer(documents));

    const auto answer =
        probe("echo \"$1 $2\" > " + (folder.path() / "got").string() + "; cat " + file.string());

    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(*answer, documents);
    EXPECT_EQ(read_file(folder.path() / "got").value(),
              "qemu:///embed?root=" + (folder.path() / "root").string() + " /dev/kvm\n");
}

TEST_F(FakeChildTest, PassesOnTheErrorThatTheChildAnswers) {
    const auto file = folder.write("answer", format_answer(fail(Errc::unavailable, "no driver")));

    const auto answer = probe("cat " + file.string());

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::unavailable);
    EXPECT_EQ(answer.error().message, "no driver");
}

TEST_F(FakeChildTest, SurvivesGarbageACrashFloodAndSilence) {
    EXPECT_EQ(probe("echo no answer of ours").error().code, Errc::invalid);
    EXPECT_EQ(probe("true").error().code, Errc::invalid);
    EXPECT_EQ(probe("kill -KILL $$").error().code, Errc::unavailable);
    EXPECT_EQ(probe("head -c 99999999 /dev/zero").error().code, Errc::invalid);
    const auto silent = probe("sleep 300", 200ms);
    EXPECT_EQ(silent.error().code, Errc::timed_out);
    EXPECT_THAT(silent.error().message, HasSubstr("probe in a child process"));
}

TEST(LibvirtHypervisorTest, ProbesOneAtATime) {
    LibvirtConfig config;
    config.probe_command = {"/bin/sh", "-c", "sleep 300"};
    config.probe_limit = 300ms;
    LiveHypervisor live(config);
    std::optional<Result<hypervisor::HostDocuments>> first;
    asio::co_spawn(live.loop, live.hypervisor->probe(),
                   [&](std::exception_ptr, auto answer) { first = std::move(answer); });
    live.loop.run_one_for(100ms);

    EXPECT_EQ(live.ask(live.hypervisor->probe()).error().code, Errc::refused);

    ASSERT_TRUE(live.run_until([&] { return first.has_value(); }));
    EXPECT_EQ(first->error().code, Errc::timed_out);
    EXPECT_EQ(live.ask(live.hypervisor->probe()).error().code, Errc::timed_out);
}

TEST(LibvirtHypervisorTest, KeepsNoGuestsBehindTheEmbeddedDriver) {
    LiveHypervisor live(LibvirtConfig{});

    EXPECT_EQ(live.hypervisor->connection().reach, hypervisor::Reach::not_kept);
    EXPECT_THAT(live.hypervisor->guests().value(), IsEmpty());
    EXPECT_TRUE(live.ask(live.hypervisor->resync()));
}

TEST(LibvirtHypervisorTest, SaysWhenADriverCannotTellWhatItRuns) {
    LibvirtConfig config;
    config.uri = "test:///default";
    LiveHypervisor live(config);

    const auto answer = live.ask(live.hypervisor->probe());

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::invalid);
    EXPECT_THAT(answer.error().message, HasSubstr("test:///default"));
    EXPECT_THAT(answer.error().message, HasSubstr("not supported"));
}

TEST(LibvirtHypervisorTest, SaysWhenThereIsNoLibvirtToProbe) {
    LibvirtConfig config;
    config.uri = "qemu+unix:///system?socket=/nonexistent/libvirt-sock";
    LiveHypervisor live(config);

    const auto answer = live.ask(live.hypervisor->probe());

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::unavailable);
}

TEST(LibvirtConfigTest, ListsAllFaultsWithTheirKeys) {
    EXPECT_THAT(validate(LibvirtConfig{}), IsEmpty());

    LibvirtConfig config;
    config.embed_root = "relative";
    config.call_limit = 0ms;
    config.first_back_off = 10s;
    config.last_back_off = 1s;
    EXPECT_THAT(validate(config), ElementsAre(HasSubstr("embed-root"), HasSubstr("call-limit"),
                                              HasSubstr("last-back-off")));

    config = LibvirtConfig{};
    config.uri = "system";
    EXPECT_THAT(validate(config), ElementsAre(HasSubstr("uri: expected a URI")));
}

}  // namespace
}  // namespace scout::libvirt_glue
