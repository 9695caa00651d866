// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <thread>

#include <sys/types.h>

#include "tests/support/temporary_folder.h"

namespace scout::test {

/// A real D-Bus daemon without anybody on it; none where dbus-daemon is not installed.
class SystemBus {
public:
    [[nodiscard]] static std::unique_ptr<SystemBus> start();
    ~SystemBus();
    SystemBus(const SystemBus&) = delete;
    SystemBus& operator=(const SystemBus&) = delete;
    SystemBus(SystemBus&&) = delete;
    SystemBus& operator=(SystemBus&&) = delete;

    [[nodiscard]] std::filesystem::path socket() const { return folder_.path() / "bus"; }
    void stop();

private:
    SystemBus() = default;

    TemporaryFolder folder_;
    pid_t child_ = -1;
};

/// What logind tells on a bus, by its own names (org.freedesktop.login1(5)). It answers on a
/// thread of its own. Setters: any thread.
class FakeLoginManager {
public:
    explicit FakeLoginManager(const std::filesystem::path& socket);
    ~FakeLoginManager();
    FakeLoginManager(const FakeLoginManager&) = delete;
    FakeLoginManager& operator=(const FakeLoginManager&) = delete;
    FakeLoginManager(FakeLoginManager&&) = delete;
    FakeLoginManager& operator=(FakeLoginManager&&) = delete;

    /// Sets PreparingForShutdown and sends the signal.
    void prepare(bool begins);
    void set_longest_delay(std::chrono::microseconds delay) { longest_delay_us = delay.count(); }
    void set_kubelet_delays(bool delays) { kubelet_delays = delays; }

    std::atomic<bool> preparing{false};
    std::atomic<bool> kubelet_delays{true};
    std::atomic<std::int64_t> longest_delay_us{60'000'000};
    std::atomic<bool> refuses{false};  ///< answers questions with an error

private:
    void serve(const std::filesystem::path& socket);

    std::atomic<bool> signal_due_{false};
    std::atomic<bool> ready_{false};
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace scout::test
