// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "libvirt_glue/kvm_device.h"
#include "libvirt_glue/node_documents.h"
#include "libvirt_glue/probe_child.h"
#include "tests/libvirt_glue/live_fixture.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait_until.h"

/// The real embedded driver, asked by this program started again as the agent starts itself.
namespace scout::libvirt_glue {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Why the embedded driver can't be asked on this machine; empty if it can.
std::string missing_part() {
    bool driver = false;
    bool emulator = false;
    for (const std::filesystem::path folder :
         {"/usr/lib/x86_64-linux-gnu/libvirt", "/usr/lib/aarch64-linux-gnu/libvirt",
          "/usr/lib/s390x-linux-gnu/libvirt", "/usr/lib64/libvirt", "/usr/lib/libvirt"}) {
        driver =
            driver || std::filesystem::exists(folder / "connection-driver/libvirt_driver_qemu.so");
    }
    for (const std::filesystem::path program :
         {"/usr/bin/qemu-system-x86_64", "/usr/bin/qemu-system-aarch64",
          "/usr/bin/qemu-system-s390x", "/usr/libexec/qemu-kvm"}) {
        emulator = emulator || std::filesystem::exists(program);
    }
    if (!driver) {
        return "libvirt's QEMU driver is not installed";
    }
    return emulator ? "" : "QEMU is not installed";
}

/// Processes that have the text in their command line, this one left out.
std::vector<int> processes_with(const std::string& text) {
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const auto name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos ||
            name == std::to_string(::getpid())) {
            continue;
        }
        const auto line = read_file(entry.path() / "cmdline");
        if (line && line->find(text) != std::string::npos) {
            found.push_back(static_cast<int>(found.size()));
        }
    }
    return found;
}

class EmbeddedProbeTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (const auto missing = missing_part(); !missing.empty()) {
            GTEST_SKIP() << missing;
        }
        config.embed_root = folder.path() / "root";
    }

    Result<hypervisor::HostDocuments> probe() {
        LiveHypervisor live(config);
        std::optional<Result<hypervisor::HostDocuments>> answer;
        asio::co_spawn(live.loop, live.hypervisor->probe(),
                       [&](std::exception_ptr, auto got) { answer = std::move(got); });
        while (!answer) {
            live.run_until([&] { return answer.has_value(); });
        }
        return std::move(*answer);
    }

    test::TemporaryFolder folder;
    LibvirtConfig config;
};

TEST_F(EmbeddedProbeTest, TellsWhatThisHostCanRunAndWhetherKvmIsUsed) {
    const auto documents = probe();
    ASSERT_TRUE(documents) << documents.error().message;
    EXPECT_FALSE(documents->libvirt_version.empty());
    EXPECT_FALSE(documents->hypervisor_version.empty());
    EXPECT_EQ(documents->virt_type, documents->kvm_note.empty() ? "kvm" : "qemu");
    if (!kvm_fault("/dev/kvm").empty()) {
        EXPECT_EQ(documents->kvm_note, kvm_fault("/dev/kvm"));
    }
    if (documents->arch == "x86_64") {
        ASSERT_EQ(documents->domain_capabilities.size(), 2U);
        EXPECT_EQ(documents->domain_capabilities.front().machine, "q35");
        EXPECT_FALSE(documents->supported_features.empty());
    }

    const auto node = hypervisor::to_node_documents(*documents);

    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->profile.virt_type, documents->virt_type);
    EXPECT_FALSE(node->profile.machines.empty());
    EXPECT_THAT(processes_with(folder.path().string()), IsEmpty());

    // The second probe is answered from libvirt's cache and amounts to the same. Not compared
    // whole: without firmware tables libvirt makes up a host UUID each time.
    const auto again = hypervisor::to_node_documents(probe().value()).value();
    EXPECT_EQ(digest(again.profile), digest(node->profile));
}

TEST_F(EmbeddedProbeTest, AsksForEmulationWhereKvmCannotBeUsed) {
    config.kvm_device = folder.path() / "no-such-device";

    const auto documents = probe();

    ASSERT_TRUE(documents) << documents.error().message;
    EXPECT_EQ(documents->virt_type, "qemu");
    EXPECT_THAT(documents->kvm_note, HasSubstr("no-such-device can't be opened"));
}

TEST_F(EmbeddedProbeTest, LeavesNoProcessBehindAtTheTimeLimit) {
    config.probe_limit = 700ms;

    const auto documents = probe();

    ASSERT_FALSE(documents) << "QEMU was asked in less than 0.7 s";
    EXPECT_EQ(documents.error().code, Errc::timed_out);
    EXPECT_THAT(processes_with(folder.path().string()), IsEmpty());
}

TEST_F(EmbeddedProbeTest, LeavesNoProcessBehindWhenTheAgentDies) {
    const auto uri = "qemu:///embed?root=" + config.embed_root.string();
    const pid_t agent = ::fork();
    ASSERT_GE(agent, 0);
    if (agent == 0) {
        if (::fork() == 0) {
            ::execl("/proc/self/exe", "probe", "--probe-child", uri.c_str(), nullptr);
            ::_exit(127);
        }
        for (;;) {
            ::pause();
        }
    }
    const auto root = config.embed_root.string();
    ASSERT_TRUE(test::wait_until([&] { return !processes_with(root + "/lib/qemu").empty(); }))
        << "no QEMU seen";

    ::kill(agent, SIGKILL);
    ::waitpid(agent, nullptr, 0);

    EXPECT_TRUE(test::wait_until([&] { return processes_with(root).empty(); }));
}

TEST_F(EmbeddedProbeTest, SaysWhichFolderCannotBeUsed) {
    config.embed_root = folder.write("file", "");

    const auto documents = probe();

    ASSERT_FALSE(documents);
    EXPECT_THAT(documents.error().message, HasSubstr(config.embed_root.string()));
}

TEST(ProbeChildTest, RefusesWrongArguments) {
    const std::array<const char*, 3> right{"agent", "--probe-child", "qemu:///embed"};
    EXPECT_TRUE(is_probe_child(3, right.data()));
    EXPECT_EQ(probe_child_main(2, right.data()), 2);
    const std::array<const char*, 2> other{"agent", "--config"};
    EXPECT_FALSE(is_probe_child(2, other.data()));
    EXPECT_FALSE(is_probe_child(1, other.data()));
}

}  // namespace
}  // namespace scout::libvirt_glue

int main(int argc, char** argv) {
    if (scout::libvirt_glue::is_probe_child(argc, argv)) {
        return scout::libvirt_glue::probe_child_main(argc, argv);
    }
    ::testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
