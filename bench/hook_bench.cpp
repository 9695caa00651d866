// SPDX-License-Identifier: Apache-2.0
// What virt-handler waits for at the node hook, with launchers that were told to stop and a leader
// that never answers, beside an empty answer of gRPC on a unix socket: each call on a connection of
// its own, as virt-handler makes them, the two in turn.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>

#include "agent/protection.h"
#include "bench/report.h"
#include "kubevirt/node_hook.grpc.pb.h"
#include "launcher/launcher_guests.h"
#include "tests/launcher/domain_texts.h"
#include "tests/launcher/fake_launcher.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait_until.h"

namespace {

using namespace scout;
namespace hooks = kubevirt::hooks::plugins::v1alpha1;

constexpr int launchers = 50;
constexpr int calls_each = 40;
constexpr double most = 1.5;

class Echo final : public hooks::NodeHookService::CallbackService {
    grpc::ServerUnaryReactor* ExecuteNodeHook(grpc::CallbackServerContext* context,
                                              const hooks::ExecuteNodeHookRequest*,
                                              hooks::ExecuteNodeHookResponse*) override {
        auto* const reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }
};

std::string name_of(int number) {
    return "vm-" + std::to_string(number);
}

/// Of the size that small VMIs have.
hooks::ExecuteNodeHookRequest request_of(int number) {
    std::string filler;
    for (int i = 0; i < 60; ++i) {
        filler += ",\"example.org/annotation-" + std::to_string(i) + "\":\"" +
                  std::string(60, 'x') + "\"";
    }
    hooks::ExecuteNodeHookRequest request;
    request.set_hookpoint("PreVMStop");
    request.set_vmi(R"({"metadata":{"name":")" + name_of(number) +
                    R"(","namespace":"shop","annotations":{"a":"b")" + filler + R"(},"uid":"uid-)" +
                    name_of(number) +
                    R"("},"spec":{"evictionStrategy":"LiveMigrate"},"status":{"phase":"Running",)"
                    R"("nodeName":"n1","activePods":{"pod-)" +
                    std::to_string(number) + R"(":"n1"},"conditions":[)" +
                    R"({"type":"LiveMigratable","status":"True"}]}})");
    request.mutable_node_context()->set_node_name("n1");
    return request;
}

struct Answer {
    double seconds;
    bool ok;
};

Answer call(const std::string& socket, const hooks::ExecuteNodeHookRequest& request) {
    const auto begun = std::chrono::steady_clock::now();
    grpc::ChannelArguments arguments;
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = hooks::NodeHookService::NewStub(grpc::CreateCustomChannel(
        "unix://" + socket, grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    hooks::ExecuteNodeHookResponse response;
    const auto status = stub->ExecuteNodeHook(&context, request, &response);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    return {.seconds = took.count(), .ok = status.ok()};
}

/// A node's agent as far as the hook goes, on a loop of its own.
class Node {
public:
    explicit Node(const test::TemporaryFolder& folder) : socket_(folder.path() / "hook.sock") {
        for (int i = 0; i < launchers; ++i) {
            test::DomainParts parts;
            parts.name = name_of(i);
            parts.uuid = "uuid-" + name_of(i);
            parts.grace = R"({"DeletionGracePeriodSeconds":600,"MarkedForGracefulShutdown":true})";
            servers_.push_back(std::make_unique<test::FakeLauncher>(folder.path() / "pods",
                                                                    "pod-" + std::to_string(i)));
            servers_.back()->answer(test::domain_text(parts));
        }
        guests_ = std::make_unique<launcher::LauncherGuests>(
            launcher::LauncherConfig{.pods_dir = folder.path() / "pods"}, loop_.get_executor(),
            pool_, clock_);
        protection_ = std::make_unique<agent::Protection>(
            agent::Protection::Options{.evacuations = {.node = "n1"}, .hook_socket = socket_},
            agent::Protection::Parts{.loop = loop_.get_executor(),
                                     .clock = clock_,
                                     .pool = pool_,
                                     .launchers = *guests_,
                                     .registry = registry_,
                                     .has_leader = true,
                                     .tell = [this] { take_messages(); }});
        scope_.spawn("launchers", [this] { return guests_->run(); });
        protection_->evacuations().heard_leader();
        protection_->evacuations().take(agent::EvacuationRules{.mode = agent::EvacuationMode::act});
        protection_->spawn(scope_);
        thread_ = std::thread([this] { loop_.run(); });
    }
    // NOLINTNEXTLINE(bugprone-exception-escape): a fault may end the benchmark
    ~Node() {
        auto all = [](Node* self) -> Task<> {
            co_await self->scope_.close();
            co_await self->protection_->stop();
        };
        std::promise<void> done;
        asio::co_spawn(loop_, all(this), [&done](const std::exception_ptr&) { done.set_value(); });
        done.get_future().wait();
        thread_.join();
        protection_.reset();
        guests_.reset();
        static_cast<void>(pool_.stop(std::chrono::seconds{5}));
    }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    Node(Node&&) = delete;
    Node& operator=(Node&&) = delete;

    [[nodiscard]] const std::string& socket() const noexcept { return socket_; }

private:
    /// The leader hears all and answers nothing.
    void take_messages() {
        while (protection_->evacuations().next()) {
        }
    }

    std::string socket_;
    std::vector<std::unique_ptr<test::FakeLauncher>> servers_;
    asio::io_context loop_{1};
    SystemClock clock_;
    BlockingPool pool_{2};
    prometheus::Registry registry_;
    std::unique_ptr<launcher::LauncherGuests> guests_;
    std::unique_ptr<agent::Protection> protection_;
    TaskScope scope_{loop_.get_executor()};
    std::thread thread_;
};

double percentile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void row(const char* what, const std::vector<double>& ours, const std::vector<double>& echo,
         double share) {
    const double mine = percentile(ours, share);
    const double peer = percentile(echo, share);
    char ratio[16];
    std::snprintf(ratio, sizeof ratio, "%.2f x", mine / peer);
    bench::row(what, bench::duration(mine), bench::duration(peer) + " empty gRPC answer", ratio,
               "<= 1.5 x", mine <= most * peer);
}

}  // namespace

int main() {
    spdlog::set_level(spdlog::level::off);
    const test::TemporaryFolder folder;
    Echo echo;
    grpc::ServerBuilder builder;
    const std::string plain = folder.path() / "echo.sock";
    builder.AddListeningPort("unix://" + plain, grpc::InsecureServerCredentials());
    builder.RegisterService(&echo);
    const auto server = builder.BuildAndStart();
    const Node node(folder);
    const auto first = request_of(0);
    if (!test::wait_until([&node, &first] { return !call(node.socket(), first).ok; }) ||
        !call(plain, first).ok) {
        return 1;
    }
    std::vector<double> ours;
    std::vector<double> theirs;
    unsigned held = 0;
    for (int i = 0; i < launchers * calls_each; ++i) {
        const auto request = request_of(i % launchers);
        const auto answer = call(node.socket(), request);
        held += answer.ok ? 0 : 1;
        ours.push_back(answer.seconds);
        theirs.push_back(call(plain, request).seconds);
    }
    row("node hook p50, 50 launchers, a silent leader", ours, theirs, 0.50);
    row("node hook p99, 50 launchers, a silent leader", ours, theirs, 0.99);
    return held == launchers * calls_each ? 0 : 1;
}
