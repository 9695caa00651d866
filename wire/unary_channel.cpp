// SPDX-License-Identifier: Apache-2.0
#include "wire/unary_channel.h"

#include <algorithm>
#include <new>

#include <boost/asio/post.hpp>
#include <grpcpp/channel.h>
#include <spdlog/spdlog.h>

namespace scout::wire {
namespace {

constexpr std::chrono::seconds drain_limit{1};

}  // namespace

void LoopDoor::post(std::function<void()> function) {
    const std::lock_guard guard(lock_);
    if (loop_) {
        asio::post(*loop_, std::move(function));
    }
}

void LoopDoor::close() {
    const std::lock_guard guard(lock_);
    loop_.reset();
}

CallHome::CallHome(asio::any_io_executor loop)
    : loop_(std::move(loop)), door_(std::make_shared<LoopDoor>(loop_)) {}

CallHome::~CallHome() {
    door_->close();
    for (auto& [channel, calls] : retired_) {
        if (!calls->wait_for_none(drain_limit)) {
            spdlog::warn("gRPC does not let go of a cancelled call");
            static_cast<void>(new (std::nothrow) std::shared_ptr<grpc::Channel>(channel));
        }
    }
}

void CallHome::retire(std::shared_ptr<grpc::Channel> channel, std::shared_ptr<LiveCalls> calls) {
    std::erase_if(retired_, [](const Retired& each) { return each.calls->none(); });
    if (!calls->none()) {
        retired_.push_back({.channel = std::move(channel), .calls = std::move(calls)});
    }
}

}  // namespace scout::wire
