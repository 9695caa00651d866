// SPDX-License-Identifier: Apache-2.0
#include "aggregator/agents_port.h"

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/this_coro.hpp>
#include <spdlog/spdlog.h>

#include "aggregator/fleet.h"
#include "aggregator/grpc_server.h"
#include "aggregator/reports_service.h"
#include "base/files.h"
#include "base/logging.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds try_again = 10s;
/// Of the 5 s that a stop may take.
constexpr std::chrono::milliseconds shutdown_limit = 1s;
constexpr std::chrono::milliseconds write_limit = 10s;

/// The key first: a certificate without its key would be of no use. Blocking.
Status write_files(const wire::TlsFiles& files, const CertifiedKey& pair) {
    std::error_code ignored;
    std::filesystem::create_directories(files.key.parent_path(), ignored);
    auto written = write_file_atomically(files.key, pair.key);
    return written ? write_file_atomically(files.certificate, pair.chain) : written;
}

}  // namespace

AgentsPort::AgentsPort(const asio::any_io_executor& loop, BlockingPool& pool, Fleet& fleet,
                       TokenOwners& owners, AgentCertificates& certificates, Settings settings,
                       EvacuationDesk* desk, LauncherStandings* standings)
    : loop_(loop),
      pool_(pool),
      fleet_(fleet),
      owners_(owners),
      certificates_(certificates),
      settings_(std::move(settings)),
      desk_(desk),
      standings_(standings),
      alarm_(loop) {}

AgentsPort::~AgentsPort() = default;

void AgentsPort::use(const CertifiedKey& certificate) {
    fresh_ = certificate;
    alarm_.ring();
}

void AgentsPort::should_be_open(bool open) {
    if (std::exchange(wanted_, open) != open) {
        trouble_.clear();
        alarm_.ring();
    }
}

Task<> AgentsPort::run() {
    for (;;) {
        if (fresh_) {
            co_await take_certificate();
        }
        if (wanted_ && certified_ && server_ == nullptr) {
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

/// gRPC takes certificates from files, and looks at them by itself.
Task<> AgentsPort::take_certificate() {
    const auto taken = std::exchange(fresh_, std::nullopt);
    if (!taken) {
        co_return;
    }
    const auto& pair = *taken;
    if (const auto& tls = settings_.security.tls; tls && settings_.writes_certificate) {
        auto write = [files = *tls, pair] { return write_files(files, pair); };
        const auto written = co_await offload(pool_, write_limit, std::move(write));
        if (!written) {
            say(written.error());
            // Unless another one came meanwhile.
            if (!fresh_) {
                fresh_ = pair;
            }
            co_return;
        }
    }
    certified_ = true;
}

void AgentsPort::open() {
    auto reports = std::make_shared<ReportsService>(loop_, fleet_, Proof::token, &owners_,
                                                    &certificates_, desk_, standings_);
    auto server = GrpcServer::start(loop_, settings_.endpoint, settings_.security, {reports.get()});
    if (!server) {
        say(server.error());
        return;
    }
    trouble_.clear();
    reports_ = std::move(reports);
    server_ = std::move(*server);
    spdlog::info("open to agents grpc={}", server_->endpoint().target());
}

void AgentsPort::say(const Error& trouble) {
    if (trouble_ != trouble.message) {
        trouble_ = trouble.message;
        spdlog::error("agents cannot report, tried again reason={}", log_value(trouble_));
    }
}

Task<> AgentsPort::close() {
    co_await reports_->stop();
    std::vector<std::shared_ptr<GrpcServer>> servers{server_};
    const bool ended = co_await GrpcServer::end(std::move(servers), &pool_, shutdown_limit);
    past_ += reports_->sessions().counters();
    if (!ended) {
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
