// SPDX-License-Identifier: Apache-2.0
// Real pressure in a real cgroup: a child of this test grows in a cgroup that is made for it as a
// kubelet would, up to its limit, and what is read follows it.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "migration/pressure_trend.h"
#include "pressure/pod_cgroups.h"

namespace scout::pressure {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;
constexpr std::uint64_t limit = 256 * mebibyte;
constexpr std::uint64_t step = 8 * mebibyte;
constexpr std::size_t steps = 20;

constexpr bool has_thread_sanitizer() {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    return true;
#endif
#endif
    return false;
}

bool put(const std::filesystem::path& file, const std::string& text) {
    std::ofstream stream(file);
    stream << text << std::flush;
    return stream.good();
}

/// The cgroup of one pod below a kubelet's root of its own, gone with the test.
class RealPod {
public:
    RealPod() {
        const auto version = cgroup_version(cgroups);
        if (!version) {
            why_not = version.error().message;
            return;
        }
        v2_ = *version == CgroupVersion::v2;
        auto place = v2_ ? cgroups : cgroups / "memory";
        const auto below = pod_cgroup(root, CgroupDriver::cgroupfs, QosClass::guaranteed, uid);
        for (const auto& name : below) {
            if (v2_) {
                put(place / "cgroup.subtree_control", "+memory");
            }
            place /= name;
            std::error_code error;
            if (!std::filesystem::create_directory(place, error) && error) {
                why_not = place.string() + " cannot be made: " + error.message();
                return;
            }
            made_.push_back(place);
        }
        folder_ = place;
        if (!put(place / (v2_ ? "memory.max" : "memory.limit_in_bytes"), std::to_string(limit))) {
            why_not = place.string() + ": no memory controller that can be written to";
        }
    }
    ~RealPod() {
        for (auto place = made_.rbegin(); place != made_.rend(); ++place) {
            ::rmdir(place->c_str());
        }
    }
    RealPod(const RealPod&) = delete;
    RealPod& operator=(const RealPod&) = delete;
    RealPod(RealPod&&) = delete;
    RealPod& operator=(RealPod&&) = delete;

    [[nodiscard]] bool take(pid_t process) const {
        return put(folder_ / "cgroup.procs", std::to_string(process));
    }

    const std::filesystem::path cgroups = "/sys/fs/cgroup";
    const std::string uid = "aaaaaaaa-0000-4000-8000-" + std::to_string(::getpid());
    const std::string root = "/virt-scout-test-" + std::to_string(::getpid());
    std::string why_not;

private:
    bool v2_ = false;
    std::filesystem::path folder_;
    std::vector<std::filesystem::path> made_;
};

/// A child that takes a step of memory for each byte that it gets, and answers each.
class Grower {
public:
    Grower() {
        if (::pipe(to_child_.data()) != 0 || ::pipe(from_child_.data()) != 0) {
            return;
        }
        child_ = ::fork();
        if (child_ == 0) {
            ::close(to_child_[1]);
            ::close(from_child_[0]);
            grow();
        }
        // So that a child that dies ends the waiting for it.
        ::close(to_child_[0]);
        ::close(from_child_[1]);
    }
    ~Grower() {
        ::close(to_child_[1]);
        ::close(from_child_[0]);
        if (child_ > 0) {
            ::waitpid(child_, nullptr, 0);
        }
    }
    Grower(const Grower&) = delete;
    Grower& operator=(const Grower&) = delete;
    Grower(Grower&&) = delete;
    Grower& operator=(Grower&&) = delete;

    [[nodiscard]] pid_t process() const noexcept { return child_; }
    [[nodiscard]] bool grow_once() const {
        char byte = 1;
        return ::write(to_child_[1], &byte, 1) == 1 && ::read(from_child_[0], &byte, 1) == 1;
    }

private:
    [[noreturn]] void grow() const {
        char byte = 0;
        while (::read(to_child_[0], &byte, 1) == 1) {
            auto* const memory = static_cast<char*>(std::malloc(step));
            if (memory != nullptr) {
                std::fill_n(memory, step, static_cast<char>(byte + 1));
                byte = memory[step / 2];
            }
            if (::write(from_child_[1], &byte, 1) != 1) {
                break;
            }
        }
        ::_exit(0);
    }

    std::array<int, 2> to_child_{-1, -1};
    std::array<int, 2> from_child_{-1, -1};
    pid_t child_ = -1;
};

TEST(RealCgroupTest, WhatAPodUsesAndWhenItsLimitComesAreSeen) {
    if (has_thread_sanitizer()) {
        GTEST_SKIP() << "ThreadSanitizer keeps four bytes for each, which run into the pod's limit";
    }
    const RealPod pod;
    if (!pod.why_not.empty()) {
        GTEST_SKIP() << "no cgroup to make pressure in: " << pod.why_not;
    }
    const Grower grower;
    ASSERT_TRUE(pod.take(grower.process()));
    const PodCgroups cgroups(pod.cgroups, pod.root);
    migration::PressureTrend trend;
    SteadyTime now{1h};
    std::uint64_t before = 0;

    for (std::size_t i = 0; i < steps; ++i) {
        ASSERT_TRUE(grower.grow_once());
        const auto usage = cgroups.read(pod.uid);
        ASSERT_TRUE(usage) << usage.error().message;
        EXPECT_EQ(usage->qos, QosClass::guaranteed);
        EXPECT_EQ(usage->memory_request(), limit);
        EXPECT_GE(usage->working_set, before + step / 2);
        EXPECT_LE(usage->working_set, limit);
        before = usage->working_set;
        // Two looks for each block of the trend, at the rate of a step in two seconds and a half.
        trend.add(now, limit - usage->working_set);
        now += 2500ms;
    }

    const auto forecast = trend.until(0);
    ASSERT_TRUE(forecast);
    const double seconds = std::chrono::duration<double>(forecast->in).count();
    const double expected = static_cast<double>(limit - before) / static_cast<double>(step) * 2.5;
    EXPECT_NEAR(seconds, expected, expected / 4);
    EXPECT_GT(forecast->confidence, 0.85);
}

}  // namespace
}  // namespace scout::pressure
