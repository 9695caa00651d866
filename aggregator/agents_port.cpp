// SPDX-License-Identifier: Apache-2.0
#include "aggregator/agents_port.h"

#include <chrono>
#include <utility>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/this_coro.hpp>
#include <spdlog/spdlog.h>

#include "aggregator/fleet.h"
#include "aggregator/grpc_server.h"
#include "aggregator/reports_service.h"
#include "base/logging.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds try_again = 10s;
/// Of the 5 s that a stop may take.
constexpr std::chrono::milliseconds shutdown_limit = 1s;

}  // namespace

AgentsPort::AgentsPort(const asio::any_io_executor& loop, BlockingPool& pool, Fleet& fleet,
                       TokenOwners& owners, Settings settings)
    : loop_(loop),
      pool_(pool),
      fleet_(fleet),
      owners_(owners),
      settings_(std::move(settings)),
      alarm_(loop) {}

AgentsPort::~AgentsPort() = default;

void AgentsPort::should_be_open(bool open) {
    if (std::exchange(wanted_, open) != open) {
        alarm_.ring();
    }
}

Task<> AgentsPort::run() {
    for (;;) {
        if (wanted_ && server_ == nullptr) {
            open();
        } else if (!wanted_ && server_ != nullptr) {
            co_await close();
        }
        const bool goes_on = co_await alarm_.wait(try_again);
        if (!goes_on) {
            break;
        }
    }
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    if (server_ != nullptr) {
        co_await close();
    }
}

void AgentsPort::open() {
    auto reports = std::make_shared<ReportsService>(loop_, fleet_, Proof::token, &owners_);
    auto server = GrpcServer::start(loop_, settings_.endpoint, settings_.security, {reports.get()});
    if (!server) {
        if (trouble_ != server.error().message) {
            trouble_ = std::move(server.error().message);
            spdlog::error("agents cannot report, tried again reason={}", log_value(trouble_));
        }
        return;
    }
    trouble_.clear();
    reports_ = std::move(reports);
    server_ = std::move(*server);
    spdlog::info("open to agents grpc={}", server_->endpoint().target());
}

Task<> AgentsPort::close() {
    co_await server_->stop_accepting();
    past_ += reports_->sessions().counters();
    co_await reports_->stop();
    auto shut = [server = server_]() -> Status {
        GrpcServer::shut_down({server}, shutdown_limit);
        return {};
    };
    // The calls that it waits for end on this loop.
    const auto done = co_await offload(pool_, shutdown_limit + 500ms, std::move(shut));
    if (!done) {
        spdlog::warn("gRPC did not stop in time reason={}", log_value(done.error().message));
        retired_.push_back(std::move(reports_));
    }
    server_.reset();
    reports_.reset();
    spdlog::info("closed to agents");
}

void AgentsPort::tick() {
    if (reports_ != nullptr) {
        reports_->tick();
    }
}

std::size_t AgentsPort::streams() const {
    return reports_ == nullptr ? 0 : reports_->sessions().size();
}

ReportCounters AgentsPort::counters() const {
    auto all = past_;
    if (reports_ != nullptr) {
        all += reports_->sessions().counters();
    }
    return all;
}

}  // namespace scout::aggregator
