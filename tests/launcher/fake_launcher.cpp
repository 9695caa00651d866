// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/fake_launcher.h"

#include <stdexcept>
#include <utility>

#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include "launcher/launcher_sockets.h"

namespace scout::test {

namespace cmd = kubevirt::cmd::v1;
namespace info = kubevirt::cmd::info;

struct FakeLauncher::Words {
    std::mutex lock;
    std::condition_variable changed;
    std::string domain;
    std::string stats;
    std::string refusal;
    std::string authority;
    grpc::Status status;
    std::vector<std::uint32_t> versions{1};
    std::int64_t dirty_rate = 0;
    bool hangs = false;

    /// Waits while it hangs, but not for a caller that has gone.
    void wait(grpc::ServerContext& context) {
        std::unique_lock guard(lock);
        const auto told = context.ExperimentalGetAuthority();
        authority.assign(told.data(), told.size());
        while (hangs && !context.IsCancelled()) {
            changed.wait_for(guard, std::chrono::milliseconds{10});
        }
    }
    grpc::Status take(cmd::Response& response) {
        const std::lock_guard guard(lock);
        response.set_success(refusal.empty());
        response.set_message(refusal);
        return status;
    }
    template <class T>
    T get(const T& value) {
        const std::lock_guard guard(lock);
        return value;
    }
    template <class T>
    void set(T& target, T value) {
        const std::lock_guard guard(lock);
        target = std::move(value);
        changed.notify_all();
    }
};

class FakeLauncher::CmdService final : public cmd::Cmd::Service {
public:
    CmdService(Words& words, std::atomic<unsigned>& asked) : words_(words), asked_(asked) {}

    grpc::Status GetDomain(grpc::ServerContext* context, const cmd::EmptyRequest* /*request*/,
                           cmd::DomainResponse* response) override {
        const auto status = begin(*context, *response->mutable_response());
        response->set_domain(words_.get(words_.domain));
        return status;
    }
    grpc::Status GetDomainStats(grpc::ServerContext* context, const cmd::EmptyRequest* /*request*/,
                                cmd::DomainStatsResponse* response) override {
        const auto status = begin(*context, *response->mutable_response());
        response->set_domainstats(words_.get(words_.stats));
        return status;
    }
    grpc::Status Ping(grpc::ServerContext* context, const cmd::EmptyRequest* /*request*/,
                      cmd::Response* response) override {
        return begin(*context, *response);
    }
    grpc::Status GetQemuVersion(grpc::ServerContext* context, const cmd::EmptyRequest* /*request*/,
                                cmd::QemuVersionResponse* response) override {
        response->set_version("QEMU 9.1.0");
        return begin(*context, *response->mutable_response());
    }
    grpc::Status GetDomainDirtyRateStats(grpc::ServerContext* context,
                                         const cmd::EmptyRequest* /*request*/,
                                         cmd::DirtyRateStatsResponse* response) override {
        response->set_dirtyratembs(words_.get(words_.dirty_rate));
        return begin(*context, *response->mutable_response());
    }

private:
    grpc::Status begin(grpc::ServerContext& context, cmd::Response& response) {
        ++asked_;
        words_.wait(context);
        return words_.take(response);
    }

    Words& words_;
    std::atomic<unsigned>& asked_;
};

class FakeLauncher::InfoService final : public info::CmdInfo::Service {
public:
    InfoService(Words& words, std::atomic<unsigned>& handshakes)
        : words_(words), handshakes_(handshakes) {}

    grpc::Status Info(grpc::ServerContext* context, const info::CmdInfoRequest* /*request*/,
                      info::CmdInfoResponse* response) override {
        ++handshakes_;
        words_.wait(*context);
        for (const auto version : words_.get(words_.versions)) {
            response->add_supportedcmdversions(version);
        }
        return grpc::Status::OK;
    }

private:
    Words& words_;
    std::atomic<unsigned>& handshakes_;
};

FakeLauncher::FakeLauncher(const std::filesystem::path& pods, const std::string& pod_uid,
                           const std::string& socket_name)
    : folder_(sockets_of(pods, pod_uid)),
      words_(std::make_unique<Words>()),
      cmd_(std::make_unique<CmdService>(*words_, asked_)),
      info_(std::make_unique<InfoService>(*words_, handshakes_)) {
    std::filesystem::create_directories(folder_);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + (folder_ / socket_name).string(),
                             grpc::InsecureServerCredentials());
    builder.SetMaxSendMessageSize(-1);
    builder.RegisterService(cmd_.get());
    builder.RegisterService(info_.get());
    server_ = builder.BuildAndStart();
    if (!server_) {
        throw std::runtime_error("no server at " + folder_.string());
    }
}

FakeLauncher::~FakeLauncher() {
    hang(false);
    server_->Shutdown(std::chrono::system_clock::now());
}

void FakeLauncher::answer(std::string domain) {
    words_->set(words_->domain, std::move(domain));
}
void FakeLauncher::answer_stats(std::string stats) {
    words_->set(words_->stats, std::move(stats));
}
void FakeLauncher::fail_with(grpc::Status status) {
    words_->set(words_->status, std::move(status));
}
void FakeLauncher::refuse(std::string message) {
    words_->set(words_->refusal, std::move(message));
}
void FakeLauncher::speak(std::vector<std::uint32_t> versions) {
    words_->set(words_->versions, std::move(versions));
}
void FakeLauncher::hang(bool hangs) {
    words_->set(words_->hangs, hangs);
}
void FakeLauncher::set_dirty_rate(std::int64_t rate) {
    words_->set(words_->dirty_rate, rate);
}
std::string FakeLauncher::authority() const {
    return words_->get(words_->authority);
}

std::filesystem::path sockets_of(const std::filesystem::path& pods, const std::string& pod_uid) {
    return pods / pod_uid / launcher::sockets_folder;
}

}  // namespace scout::test
