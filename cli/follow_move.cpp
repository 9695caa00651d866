// SPDX-License-Identifier: Apache-2.0
#include "cli/follow_move.h"

#include <csignal>
#include <exception>
#include <random>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace scout::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto look_every = 1s;
constexpr auto tell_every = 15s;
constexpr auto patience = 30s;  // with a server that answers nothing
constexpr auto lag = 5s;        // of the VMI behind the migration

kube::Reflector::Subject one(kube::Resource resource, const std::string& space,
                             const std::string& name) {
    return {.resource = std::move(resource),
            .selection = {.space = space, .labels = {}, .fields = "metadata.name=" + name}};
}

kube::ReflectorSettings seeded() {
    kube::ReflectorSettings settings;
    settings.seed = std::random_device{}();
    return settings;
}

}  // namespace

MoveFollower::MoveFollower(kube::Transport& transport, const Clock& clock, asio::io_context& loop,
                           const kube::Migration& move, Tell tell)
    : clock_(clock),
      loop_(loop),
      uid_(move.meta.uid),
      space_(move.meta.space.str()),
      name_(move.meta.name),
      vmi_name_(move.vmi_name.str()),
      tell_(std::move(tell)),
      moves_(transport, clock, one(kube::resources::migrations(), space_, name_),
             &kube::decode_migration, seeded()),
      vmis_(transport, clock, one(kube::resources::virtual_machine_instances(), space_, vmi_name_),
            &kube::decode_vmi, seeded()),
      scope_(loop.get_executor()),
      signals_(loop, SIGINT, SIGTERM) {}

FollowedMove MoveFollower::run() {
    begun_ = clock_.steady();
    well_at_ = begun_;
    moves_.on_change([this](const auto& /*change*/) { look(); });
    vmis_.on_change([this](const auto& /*change*/) { look(); });
    scope_.spawn("migration", [this] { return moves_.run(); });
    scope_.spawn("VMI", [this] { return vmis_.run(); });
    scope_.spawn("time", [this] { return tick(); });
    signals_.async_wait([this](const boost::system::error_code& error, int /*signal*/) {
        if (!error) {
            out_.interrupted = true;
            end();
        }
    });
    loop_.restart();
    loop_.run();
    out_.took = std::chrono::floor<std::chrono::seconds>(clock_.steady() - begun_);
    return std::move(out_);
}

Task<> MoveFollower::tick() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (;;) {
        timer.expires_after(look_every);
        const auto [error] = co_await timer.async_wait(as_result);
        if (error) {
            co_return;
        }
        look();
    }
}

void MoveFollower::look() {
    if (ending_) {
        return;
    }
    const auto now = clock_.steady();
    const bool synced = moves_.synced() && vmis_.synced();
    const auto& trouble = moves_.reflector().trouble().empty() ? vmis_.reflector().trouble()
                                                               : moves_.reflector().trouble();
    if (synced && trouble.empty()) {
        well_at_ = now;
    } else if (now - well_at_ > patience) {
        out_.lost = trouble.empty() ? "the API server does not answer" : trouble;
        end();
        return;
    }
    if (!synced) {
        return;
    }
    const auto seen = moves_.find(space_, name_);
    const bool gone = !seen || seen->meta.uid != uid_;
    last_ = gone ? last_ : seen;
    if (!last_) {
        out_.lost = "it is not there any more";
        end();
        return;
    }
    const auto vmi = vmis_.find(space_, vmi_name_);
    auto progress = cluster::move_progress(*last_, vmi.get());
    if (last_->is_final() && !final_since_) {
        final_since_ = now;
    }
    progress.ended = progress.ended || gone || (final_since_ && now - *final_since_ > lag);
    const bool ended = progress.ended;
    tell(std::move(progress));
    if (ended) {
        end();
    }
}

void MoveFollower::tell(cluster::MoveProgress progress) {
    const auto now = clock_.steady();
    out_.progress = std::move(progress);
    if (told_ != out_.progress || now - told_at_ >= tell_every) {
        told_ = out_.progress;
        told_at_ = now;
        tell_(out_.progress, std::chrono::floor<std::chrono::seconds>(now - begun_));
    }
}

void MoveFollower::end() {
    if (!std::exchange(ending_, true)) {
        signals_.cancel();
        asio::co_spawn(loop_, scope_.close(),
                       [this](const std::exception_ptr& /*none*/) { loop_.stop(); });
    }
}

}  // namespace scout::cli
