// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <grpcpp/server.h>

#include "kubevirt/cmd_info.grpc.pb.h"
#include "kubevirt/cmd_v1.grpc.pb.h"

namespace scout::test {

/// A launcher that behaves: the cmd services on a unix socket at its place below a folder of pods.
/// Its switches may be set by any thread, between calls and while they go on.
class FakeLauncher {
public:
    /// Listens under `socket_name` in the pod's folder, which is made.
    FakeLauncher(const std::filesystem::path& pods, const std::string& pod_uid,
                 const std::string& socket_name = "launcher-sock");
    ~FakeLauncher();
    FakeLauncher(const FakeLauncher&) = delete;
    FakeLauncher& operator=(const FakeLauncher&) = delete;
    FakeLauncher(FakeLauncher&&) = delete;
    FakeLauncher& operator=(FakeLauncher&&) = delete;

    void answer(std::string domain);  ///< of GetDomain
    void answer_stats(std::string stats);
    void fail_with(grpc::Status status);  ///< of every Cmd call; OK: no more
    void refuse(std::string message);     ///< every Cmd call has success=false; empty: no more
    void speak(std::vector<std::uint32_t> versions);
    void hang(bool hangs);  ///< calls are not answered until this is taken back
    void set_dirty_rate(std::int64_t rate);

    [[nodiscard]] unsigned handshakes() const noexcept { return handshakes_; }
    [[nodiscard]] unsigned asked() const noexcept { return asked_; }  ///< Cmd calls
    [[nodiscard]] std::string authority() const;                      ///< of the last call
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

private:
    class CmdService;
    class InfoService;
    struct Words;

    std::filesystem::path folder_;
    std::unique_ptr<Words> words_;
    std::unique_ptr<CmdService> cmd_;
    std::unique_ptr<InfoService> info_;
    std::unique_ptr<grpc::Server> server_;
    std::atomic<unsigned> handshakes_{0};
    std::atomic<unsigned> asked_{0};
};

/// Where a pod's socket lies.
[[nodiscard]] std::filesystem::path sockets_of(const std::filesystem::path& pods,
                                               const std::string& pod_uid);

}  // namespace scout::test
