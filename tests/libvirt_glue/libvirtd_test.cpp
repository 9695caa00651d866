// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <libvirt/libvirt.h>

#include "libvirt_glue/handles.h"
#include "libvirt_glue/node_documents.h"
#include "tests/libvirt_glue/libvirtd_sandbox.h"
#include "tests/libvirt_glue/live_fixture.h"

/// A real libvirtd and a real QEMU guest.
namespace scout::libvirt_glue {
namespace {

using namespace std::chrono_literals;
using hypervisor::Reach;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

/// Emulated: a guest under KVM does not start on every nested host that has the device.
std::string guest_xml(const std::string& name) {
    return "<domain type='qemu'><name>" + name +
           "</name><memory unit='MiB'>32</memory><vcpu>1</vcpu>"
           "<os><type arch='x86_64' machine='q35'>hvm</type></os>"
           "<cpu mode='custom' match='exact'><model>Westmere</model></cpu>"
           "<devices><emulator>/usr/bin/qemu-system-x86_64</emulator>"
           "<controller type='usb' model='none'/><memballoon model='none'/></devices></domain>";
}

class LibvirtdTest : public ::testing::Test {
protected:
    static void SetUpTestSuite() { missing = LibvirtdSandbox::missing_part(); }

    void SetUp() override {
        if (!missing.empty()) {
            GTEST_SKIP() << missing;
        }
        sandbox.emplace();
        ASSERT_TRUE(sandbox->start()) << sandbox->log();
        config.uri = sandbox->uri();
        config.first_back_off = 100ms;
        config.last_back_off = 500ms;
        config.keepalive_interval = 1s;
        config.keepalive_count = 2;
        live = std::make_unique<LiveHypervisor>(config);
        ASSERT_TRUE(live->run_until_connected()) << live->hypervisor->connection().reason;
        admin.reset(virConnectOpen(config.uri.c_str()));
        ASSERT_NE(admin, nullptr);
    }

    DomainHandle define(const std::string& name) {
        return DomainHandle(virDomainDefineXML(admin.get(), guest_xml(name).c_str()));
    }

    void expect_events_of_tiny() {
        admin.reset(virConnectOpen(config.uri.c_str()));
        ASSERT_NE(admin, nullptr);
        const DomainHandle tiny(virDomainLookupByName(admin.get(), "tiny"));
        ASSERT_NE(tiny, nullptr);
        ASSERT_EQ(virDomainSuspend(tiny.get()), 0);
        EXPECT_TRUE(live->run_until_told("state-changed tiny paused event"));
        ASSERT_EQ(virDomainDestroy(tiny.get()), 0);
        EXPECT_TRUE(live->run_until_told("state-changed tiny shutoff event"));
    }

    static inline std::string missing;
    std::optional<LibvirtdSandbox> sandbox;
    LibvirtConfig config;
    std::unique_ptr<LiveHypervisor> live;
    ConnectHandle admin;
};

TEST_F(LibvirtdTest, ReadsTheCpuThatAGuestReallyGot) {
    const auto guest = define("tiny");
    ASSERT_NE(guest, nullptr) << sandbox->log();
    ASSERT_EQ(virDomainCreate(guest.get()), 0) << sandbox->log();
    ASSERT_TRUE(live->run_until([&] {
        const auto* tiny = live->guest("tiny");
        return tiny != nullptr && tiny->state == "running" && tiny->cpu.has_value() &&
               tiny->cpu->machine != "q35";
    }));

    const auto tiny = *live->guest("tiny");
    EXPECT_EQ(tiny.memory_kib, 32768U);
    EXPECT_TRUE(tiny.persistent);
    EXPECT_EQ(tiny.cpu->mode, migration::CpuMode::custom);
    EXPECT_EQ(tiny.cpu->model, "Westmere");
    // libvirt adds what QEMU really gave.
    EXPECT_FALSE(tiny.cpu->require.empty() && tiny.cpu->disable.empty());
    EXPECT_EQ(tiny.cpu->virt_type, "qemu");
    EXPECT_EQ(tiny.cpu->arch, "x86_64");
    EXPECT_TRUE(tiny.cpu->machine.starts_with("pc-q35-")) << tiny.cpu->machine;

    ASSERT_EQ(virDomainReset(guest.get(), 0), 0);
    EXPECT_TRUE(live->run_until_told("rebooted tiny running event"));
    ASSERT_EQ(virDomainDestroy(guest.get()), 0);
    ASSERT_TRUE(live->run_until_told("state-changed tiny shutoff event"));
    EXPECT_EQ(live->event("state-changed tiny shutoff event").detail, "destroyed");
}

TEST_F(LibvirtdTest, ProbesTheDaemonInAPoolThread) {
    const auto documents = live->ask(live->hypervisor->probe());

    ASSERT_TRUE(documents) << documents.error().message;
    EXPECT_EQ(documents->uri, config.uri);
    const auto node = hypervisor::to_node_documents(*documents);
    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->profile.arch, "x86_64");
}

TEST_F(LibvirtdTest, FindsByResyncWhatWasUndefinedWhileTheDaemonWasAway) {
    const auto web = define("web");
    const auto tiny = define("tiny");
    ASSERT_NE(tiny, nullptr);
    ASSERT_EQ(virDomainCreate(tiny.get()), 0) << sandbox->log();
    ASSERT_TRUE(live->run_until_told("added web shutoff event"));
    ASSERT_TRUE(live->run_until_told("state-changed tiny running event"));
    live->seen.clear();

    const auto before = live->clock.wall();
    sandbox->kill();
    ASSERT_TRUE(live->run_until_told("state-changed web unknown event"));
    EXPECT_EQ(live->hypervisor->connection().reach, Reach::unreachable);
    sandbox->forget("web");
    const auto again = live->clock.steady() + 3s;
    ASSERT_TRUE(live->run_until([&] { return live->clock.steady() > again; }));

    EXPECT_THAT(live->told(), ::testing::UnorderedElementsAre("state-changed tiny unknown event",
                                                              "state-changed web unknown event"));
    ASSERT_NE(live->guest("web"), nullptr);
    EXPECT_EQ(live->guest("web")->state, "unknown");
    EXPECT_GE(live->guest("web")->since, before);
    EXPECT_LE(live->guest("web")->since, before + 2s);
    EXPECT_EQ(live->guest("web")->since, live->hypervisor->connection().since);

    live->seen.clear();
    ASSERT_TRUE(sandbox->start()) << sandbox->log();
    ASSERT_TRUE(live->run_until_connected()) << live->hypervisor->connection().reason;
    ASSERT_TRUE(live->run_until_told("removed web unknown resync"));
    EXPECT_THAT(live->told(),
                ElementsAre("removed web unknown resync", "state-changed tiny running resync"));
    EXPECT_EQ(live->hypervisor->counters().reconnects, 1U);

    expect_events_of_tiny();
}

TEST_F(LibvirtdTest, TakesASilentDaemonForUnreachableNotForGone) {
    const auto web = define("web");
    ASSERT_TRUE(live->run_until_told("added web shutoff event"));

    sandbox->freeze();
    ASSERT_TRUE(live->run_until_told("state-changed web unknown event"));
    EXPECT_THAT(live->told(), Not(Contains("removed web unknown resync")));
    sandbox->thaw();

    ASSERT_TRUE(live->run_until_connected());
    EXPECT_TRUE(live->run_until_told("state-changed web shutoff resync"));
}

}  // namespace
}  // namespace scout::libvirt_glue
