// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/guest_watch.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <libvirt/libvirt.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/unique_fd.h"
#include "libvirt_glue/handles.h"
#include "tests/libvirt_glue/live_fixture.h"
#include "tests/support/temporary_folder.h"

namespace scout::libvirt_glue {
namespace {

using namespace std::chrono_literals;
using hypervisor::Reach;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* uuid_one = "11111111-2222-3333-4444-555555555501";
constexpr const char* uuid_two = "11111111-2222-3333-4444-555555555502";

LibvirtConfig test_driver() {
    LibvirtConfig config;
    config.uri = "test:///default";
    config.seed = 7;
    return config;
}

std::string domain_xml(const std::string& name, const std::string& uuid) {
    return "<domain type='test'><name>" + name + "</name><uuid>" + uuid +
           "</uuid><memory unit='KiB'>65536</memory>"
           "<os><type arch='i686'>hvm</type></os></domain>";
}

/// libvirt's test driver: all connections of one process share one host with one guest, "test".
class TestDriverTest : public ::testing::Test {
protected:
    TestDriverTest() : live(test_driver()) {
        EXPECT_TRUE(live.run_until_connected());
        other.reset(virConnectOpen("test:///default"));
        EXPECT_NE(other, nullptr);
    }

    DomainHandle define(const std::string& name, const std::string& uuid) {
        return DomainHandle(virDomainDefineXML(other.get(), domain_xml(name, uuid).c_str()));
    }

    LiveHypervisor live;
    ConnectHandle other;
};

TEST_F(TestDriverTest, TellsTheGuestsThatAreThereFoundByResync) {
    EXPECT_THAT(live.told(), ElementsAre("added test running resync"));
    EXPECT_THAT(live.reaches, ElementsAre(Reach::connected));
    ASSERT_NE(live.guest("test"), nullptr);
    EXPECT_EQ(live.guest("test")->memory_kib, 8388608U);
    EXPECT_EQ(live.guest("test")->cpu_error, "");
    EXPECT_EQ(live.hypervisor->counters().resyncs, 1U);
}

TEST_F(TestDriverTest, DeliversTheLifeOfAGuest) {
    const auto guest = define("web", uuid_one);
    ASSERT_NE(guest, nullptr);
    ASSERT_TRUE(live.run_until_told("added web shutoff event"));
    ASSERT_EQ(virDomainCreate(guest.get()), 0);
    ASSERT_TRUE(live.run_until_found("state-changed web running"));
    ASSERT_EQ(virDomainSuspend(guest.get()), 0);
    ASSERT_TRUE(live.run_until_found("state-changed web paused"));
    ASSERT_EQ(virDomainDestroy(guest.get()), 0);
    ASSERT_TRUE(live.run_until_found("state-changed web shutoff"));
    ASSERT_TRUE(live.run_until([&] { return live.guest("web")->memory_kib == 65536U; }));
    ASSERT_EQ(virDomainUndefine(guest.get()), 0);
    ASSERT_TRUE(live.run_until_told("removed web shutoff event"));

    EXPECT_EQ(live.event("removed web shutoff event").uuid, uuid_one);
    EXPECT_EQ(live.guest("web"), nullptr);
}

TEST_F(TestDriverTest, FollowsATransientGuestToItsEnd) {
    const DomainHandle guest(
        virDomainCreateXML(other.get(), domain_xml("job", uuid_one).c_str(), 0));
    ASSERT_NE(guest, nullptr);
    ASSERT_TRUE(live.run_until_told("added job running event"));
    ASSERT_TRUE(live.run_until([&] { return live.guest("job")->memory_kib != 0; }));
    EXPECT_FALSE(live.guest("job")->persistent);

    ASSERT_EQ(virDomainDestroy(guest.get()), 0);

    ASSERT_TRUE(live.run_until_told("removed job shutoff event"));
    EXPECT_EQ(live.guest("job"), nullptr);
}

TEST_F(TestDriverTest, TakesANewUuidUnderAnOldNameForAnotherGuest) {
    auto guest = define("web", uuid_one);
    ASSERT_EQ(virDomainUndefine(guest.get()), 0);
    guest = define("web", uuid_two);
    ASSERT_NE(guest, nullptr);

    ASSERT_TRUE(live.run_until(
        [&] { return live.guest("web") != nullptr && live.guest("web")->uuid == uuid_two; }));

    EXPECT_THAT(live.told(), Contains("removed web shutoff event"));
    ASSERT_EQ(virDomainUndefine(guest.get()), 0);
}

TEST_F(TestDriverTest, ReadsTheWholeListWhenAsked) {
    const auto status = live.ask(live.hypervisor->resync());

    EXPECT_TRUE(status);
    EXPECT_EQ(live.hypervisor->counters().resyncs, 2U);
    EXPECT_THAT(live.told(), ElementsAre("added test running resync"));
}

TEST_F(TestDriverTest, StopsTellingOnceTheSubscriptionEnded) {
    std::size_t heard = 0;
    auto subscription = live.hypervisor->subscribe([&](const auto&) { ++heard; });
    auto guest = define("web", uuid_one);
    ASSERT_TRUE(live.run_until_told("added web shutoff event"));
    EXPECT_GE(heard, 1U);

    subscription.reset();
    const auto before = heard;
    ASSERT_EQ(virDomainUndefine(guest.get()), 0);
    ASSERT_TRUE(live.run_until_told("removed web shutoff event"));

    EXPECT_EQ(heard, before);
}

TEST(UnreachableTest, SaysSinceWhenNothingIsKnownAndKeepsTrying) {
    LibvirtConfig config;
    config.uri = "qemu+unix:///system?socket=/nonexistent/libvirt-sock";
    config.first_back_off = 1ms;
    config.last_back_off = 20ms;
    LiveHypervisor live(config);

    ASSERT_TRUE(live.run_until([&] { return live.hypervisor->connection().attempts >= 3; }));

    EXPECT_EQ(live.hypervisor->connection().reach, Reach::connecting);
    EXPECT_THAT(live.hypervisor->connection().reason, HasSubstr("/nonexistent/libvirt-sock"));
    const auto guests = live.hypervisor->guests();
    ASSERT_FALSE(guests);
    EXPECT_EQ(guests.error().code, Errc::unavailable);
    EXPECT_THAT(guests.error().message, HasSubstr("no contact since"));
    EXPECT_EQ(live.ask(live.hypervisor->resync()).error().code, Errc::unavailable);
    EXPECT_TRUE(live.seen.empty());
}

TEST(StuckLibvirtTest, CostsOneThreadAndACounterUntilItComesBack) {
    const test::TemporaryFolder folder;
    const auto path = (folder.path() / "sock").string();
    UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener.get(), 8), 0);
    LibvirtConfig config;
    config.uri = "qemu+unix:///system?socket=" + path;
    config.call_limit = 200ms;
    config.first_back_off = 5ms;
    config.last_back_off = 5ms;
    LiveHypervisor live(config);

    ASSERT_TRUE(live.run_until([&] { return live.hypervisor->connection().attempts >= 5; }));

    EXPECT_EQ(live.hypervisor->counters().stuck_calls, 1U);
    EXPECT_EQ(live.pool.abandoned(), 1U);
    EXPECT_THAT(live.hypervisor->connection().reason, HasSubstr("has not come back"));
    auto free_thread = [] { return Result<int>(7); };
    EXPECT_EQ(live.ask(offload(live.pool, 10s, std::move(free_thread))).value(), 7);

    // The daemon dies: the call returns, and the next attempt is a real one again.
    listener.reset();
    ASSERT_TRUE(live.run_until(
        [&] { return live.hypervisor->connection().reason.find(path) != std::string::npos; }));
    EXPECT_EQ(live.hypervisor->counters().stuck_calls, 1U);
    live.stop();
}

}  // namespace
}  // namespace scout::libvirt_glue
