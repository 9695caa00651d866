// SPDX-License-Identifier: Apache-2.0
#include "aggregator/live_settings.h"

#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "aggregator/kubevirts.h"
#include "aggregator/leader_call.h"
#include "base/logging.h"
#include "cluster/objects.h"
#include "kube/resource.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds write_limit = 10s;
/// A write that failed; also when another one overwrote the status.
constexpr auto look_again = 60s;

}  // namespace

LiveSettings::LiveSettings(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                           const Clock& clock, cluster::LevelSettings given)
    : sources_(sources),
      client_(client),
      clock_(clock),
      given_(std::move(given)),
      current_(cluster::settings_in_force(given_, nullptr, nullptr)),
      alarm_(loop) {
    sources_.configs.on_change([this](const auto& /*change*/) { take_change(); });
    sources_.configs.on_synced([this] { take_list(); });
    sources_.kubevirts.on_change([this](const auto& /*change*/) { take_change(); });
    sources_.kubevirts.on_synced([this] { take_list(); });
    sources_.elector.on_change([this](bool /*leads*/) { alarm_.ring(); });
}

bool LiveSettings::synced() const noexcept {
    return sources_.configs.synced() && sources_.kubevirts.synced();
}

bool LiveSettings::grows_stale() const noexcept {
    return sources_.configs.reflector().grows_stale() ||
           sources_.kubevirts.reflector().grows_stale();
}

std::shared_ptr<const kube::ScoutConfig> LiveSettings::config() const {
    return sources_.configs.find({}, kube::ScoutConfig::name_in_force);
}

void LiveSettings::take_change() {
    const auto kubevirts = kubevirts_of(sources_.kubevirts);
    auto now =
        cluster::settings_in_force(given_, config().get(), cluster::kubevirt_in_force(kubevirts));
    if (current_ != now) {
        current_ = std::move(now);
        tell();
    }
    // The status may have to be written all the same: it is of another generation.
    alarm_.ring();
}

void LiveSettings::take_list() {
    if (synced()) {
        tell();
        alarm_.ring();
    }
}

void LiveSettings::tell() {
    for (const auto& handler : handlers_) {
        handler();
    }
}

void LiveSettings::tell_protection(cluster::Protection protection) {
    if (protection_ != protection) {
        protection_ = std::move(protection);
        alarm_.ring();
    }
}

Task<> LiveSettings::run() {
    for (;;) {
        if (synced()) {
            say();
            const auto written = co_await write();
            if (!written && written.error().code != Errc::cancelled) {
                spdlog::warn("the ScoutConfig's status is not written, tried again reason={}",
                             log_value(written.error().message));
            }
        }
        const bool goes_on = co_await alarm_.wait(look_again);
        if (!goes_on) {
            co_return;
        }
    }
}

void LiveSettings::say() {
    if (said_ == current_) {
        return;
    }
    said_ = current_;
    spdlog::info("settings in force scout_config={} settings={}", config() ? "default" : "none",
                 log_value(cluster::summary(current_)));
    for (const auto& fault : current_.faults) {
        spdlog::warn("the ScoutConfig is not obeyed as a whole fault={}", log_value(fault));
    }
}

/// Nothing is written without leadership, nor where the status tells what is in force already.
Task<Status> LiveSettings::write() {
    const auto options = leader_call(sources_.elector.may_write_for(), write_limit);
    const auto told = config();
    if (!options || !told) {
        co_return Status{};
    }
    auto body = cluster::status_body(*told, current_, protection_, clock_.wall());
    if (body.empty()) {
        co_return Status{};
    }
    kube::Target target{.resource = kube::resources::scout_configs(),
                        .object = {.space = {}, .name = told->meta.name},
                        .subresource = "status"};
    kube::ApplyOptions apply;
    apply.force = true;
    auto answer =
        co_await client_.apply(std::move(target), std::move(body), std::move(apply), *options);
    co_return kube::plain(kube::without_body(std::move(answer)));
}

}  // namespace scout::aggregator
