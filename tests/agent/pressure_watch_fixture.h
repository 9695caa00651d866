// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "agent/pressure_watch.h"
#include "tests/pressure/node_tree.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"

namespace scout::agent {

inline const std::string head =
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
inline const std::string memory_alone = head + "evictionHard: {memory.available: 100Mi}\n";
inline constexpr double mebibyte = 1024;  // in KiB
inline constexpr double gibibyte = 1024 * mebibyte;

using Curve = std::function<double(double seconds)>;

/// A node that the test makes of files, and its kubelet's configuration.
class PressureWatchFixture : public testing::Test {
protected:
    PressureWatchFixture() {
        spdlog::set_default_logger(std::make_shared<spdlog::logger>(
            "test", std::make_shared<spdlog::sinks::ostream_sink_st>(log)));
    }
    ~PressureWatchFixture() override {
        EXPECT_TRUE(pool.stop(std::chrono::seconds{5}));
        spdlog::set_default_logger(before);
    }

    void make(const std::string& kubelet_config = memory_alone) {
        config_file = tree.folder().write("kubelet/config.yaml", kubelet_config);
        watch = std::make_unique<PressureWatch>(
            PressureConfig{.roots = tree.roots(),
                           .pods = tree.roots().kubelet / "pods",
                           .kubelet = {.file = config_file, .file_must_be = false, .folder = {}}},
            PressureWatch::Parts{.loop = loop.get_executor(),
                                 .pool = pool,
                                 .clock = clock,
                                 .registry = registry,
                                 .health = health,
                                 .launchers = [this] { return launchers; },
                                 .login = [this] { return login; },
                                 .tell = [this] { ++told; }});
    }
    void look() { test::run_until_done(loop, watch->look()); }
    void look_after(std::chrono::seconds time) {
        clock.advance(time);
        look();
    }

    /// Follows what is left of the memory, in KiB; answers when warnings began, in seconds.
    std::vector<double> follow(const Curve& left, double seconds) {
        std::vector<double> begun;
        bool warned = false;
        for (double at = 0; at < seconds;) {
            tree.set_memory(static_cast<std::uint64_t>(left(at)));
            look();
            const bool now = watch->pressure().outlooks().at(0).warned;
            if (now && !std::exchange(warned, now)) {
                begun.push_back(at);
            }
            warned = now;
            const auto wait = watch->next_look() + std::chrono::milliseconds{3};
            clock.advance(wait);
            at += std::chrono::duration<double>(wait).count();
        }
        return begun;
    }
    std::string metrics() const {
        return prometheus::TextSerializer{}.Serialize(registry.Collect());
    }

    void write_pod(const std::string& uid, pressure::QosClass qos, const std::string& used,
                   const std::string& limit) const {
        const auto place = std::filesystem::path{"cgroup"} /
                           pod_cgroup("", pressure::CgroupDriver::systemd, qos, uid);
        tree.folder().write(place / "memory.current", used);
        tree.folder().write(place / "memory.stat", "inactive_file 0\n");
        tree.folder().write(place / "memory.max", limit);
        tree.folder().write(place / "pids.current", "40\n");
    }

    /// Each uses 1000 bytes more than the one before.
    void add_launchers(int count) {
        for (int i = 1; i <= count; ++i) {
            const auto uid = "aa-" + std::to_string(i);
            const auto used = std::to_string(1000 * i) + "\n";
            write_pod(uid, pressure::QosClass::burstable, used, "max\n");
            launchers.push_back(
                {.pod_uid = uid, .guest = "shop/" + uid, .vm_grace = std::chrono::seconds{120}});
        }
    }

    std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
    std::ostringstream log;
    test::NodeTree tree;
    std::filesystem::path config_file;
    asio::io_context loop{1};
    BlockingPool pool{1};
    test::FakeClock clock;
    prometheus::Registry registry;
    daemon::Health health;
    std::vector<LauncherPod> launchers;
    std::optional<migration::LoginManager> login;
    std::size_t told = 0;
    std::unique_ptr<PressureWatch> watch;
};

}  // namespace scout::agent
