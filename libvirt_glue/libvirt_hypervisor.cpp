// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/libvirt_hypervisor.h"

#include <optional>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "libvirt_glue/embed_uri.h"
#include "libvirt_glue/guest_watch.h"
#include "libvirt_glue/host_prober.h"

namespace scout::libvirt_glue {
namespace {

using namespace std::chrono_literals;
using hypervisor::Connection;
using hypervisor::Counters;
using hypervisor::GuestEvent;
using hypervisor::GuestState;
using hypervisor::HostDocuments;
using hypervisor::Reach;
using hypervisor::Subscription;

constexpr std::size_t uri_limit = 1024;

/// Guests come from a GuestWatch; the embedded driver has none, and no watch then.
class LibvirtHypervisor final : public hypervisor::Hypervisor {
public:
    LibvirtHypervisor(const LibvirtConfig& config, const asio::any_io_executor& loop,
                      BlockingPool& pool, const Clock& clock)
        : loop_(loop), prober_(config, pool) {
        if (is_embed_uri(config.uri)) {
            not_kept_.reach = Reach::not_kept;
            not_kept_.since = clock.wall();
        } else {
            watch_.emplace(config, loop, pool, clock);
        }
    }

    Task<Result<HostDocuments>> probe() override { return prober_.probe(); }

    Result<std::vector<GuestState>> guests() const override {
        return watch_ ? watch_->guests() : Result<std::vector<GuestState>>();
    }

    Task<Status> resync() override {
        if (!watch_) {
            co_return Status{};
        }
        co_return co_await watch_->resync();
    }

    Subscription subscribe(std::function<void(const GuestEvent&)> handler) override {
        return watch_ ? watch_->subscribe(std::move(handler)) : Subscription();
    }

    Subscription watch_connection(std::function<void(const Connection&)> handler) override {
        return watch_ ? watch_->watch_connection(std::move(handler)) : Subscription();
    }

    Connection connection() const override { return watch_ ? watch_->connection() : not_kept_; }

    Counters counters() const override {
        auto counters = watch_ ? watch_->counters() : Counters{};
        counters.stuck_calls += prober_.stuck_calls();
        return counters;
    }

    Task<> run() override {
        if (watch_) {
            co_await watch_->run();
            co_return;
        }
        asio::steady_timer forever(loop_, asio::steady_timer::time_point::max());
        co_await forever.async_wait(as_result);
    }

private:
    asio::any_io_executor loop_;
    HostProber prober_;
    std::optional<GuestWatch> watch_;
    Connection not_kept_;
};

}  // namespace

std::vector<std::string> validate(const LibvirtConfig& config) {
    std::vector<std::string> faults;
    if (config.uri.empty() || config.uri.size() > uri_limit ||
        config.uri.find(":/") == std::string::npos) {
        faults.push_back("uri: expected a URI such as qemu:///embed, found '" +
                         config.uri.substr(0, uri_limit) + "'");
    } else if (is_embed_uri(config.uri)) {
        const auto root = embed_root(with_embed_root(config.uri, config.embed_root));
        if (!root) {
            faults.push_back("uri, embed-root: " + root.error().message);
        }
        if (config.probe_command.empty()) {
            faults.emplace_back("probe-command: expected a program, found none");
        }
    }
    const auto positive = [&faults](const char* key, std::chrono::milliseconds span) {
        if (span < 1ms || span > 24h) {
            faults.push_back(std::string(key) + ": expected 1 ms to 24 h, found " +
                             std::to_string(span.count()) + " ms");
        }
    };
    positive("probe-limit", config.probe_limit);
    positive("call-limit", config.call_limit);
    positive("first-back-off", config.first_back_off);
    positive("last-back-off", config.last_back_off);
    positive("keepalive-interval", config.keepalive_interval);
    if (config.last_back_off < config.first_back_off) {
        faults.emplace_back("last-back-off: expected at least first-back-off, found less");
    }
    return faults;
}

std::unique_ptr<hypervisor::Hypervisor> make_hypervisor(LibvirtConfig config,
                                                        asio::any_io_executor loop,
                                                        BlockingPool& pool, const Clock& clock) {
    return std::make_unique<LibvirtHypervisor>(config, loop, pool, clock);
}

}  // namespace scout::libvirt_glue
