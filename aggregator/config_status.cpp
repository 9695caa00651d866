// SPDX-License-Identifier: Apache-2.0
#include "aggregator/config_status.h"

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

std::shared_ptr<const kube::ScoutConfig> config_in_force(
    const kube::Informer<kube::ScoutConfig>& configs) {
    return configs.find({}, kube::ScoutConfig::name_in_force);
}

ConfigStatus::ConfigStatus(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                           const Clock& clock, cluster::LevelSettings given)
    : sources_(sources), client_(client), clock_(clock), given_(std::move(given)), alarm_(loop) {
    sources_.configs.on_change([this](const auto& /*change*/) { alarm_.ring(); });
    sources_.configs.on_synced([this] { alarm_.ring(); });
    sources_.kubevirts.on_change([this](const auto& /*change*/) { alarm_.ring(); });
    sources_.kubevirts.on_synced([this] { alarm_.ring(); });
    sources_.elector.on_change([this](bool /*leads*/) { alarm_.ring(); });
}

cluster::SettingsInForce ConfigStatus::settings() const {
    const auto kubevirts = kubevirts_of(sources_.kubevirts);
    return cluster::settings_in_force(given_, config_in_force(sources_.configs).get(),
                                      cluster::kubevirt_in_force(kubevirts));
}

Task<> ConfigStatus::run() {
    for (;;) {
        if (sources_.configs.synced() && sources_.kubevirts.synced()) {
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

void ConfigStatus::say() {
    auto now = settings();
    if (said_ && *said_ == now) {
        return;
    }
    spdlog::info("settings in force scout_config={} settings={}",
                 config_in_force(sources_.configs) ? "default" : "none",
                 log_value(cluster::summary(now)));
    for (const auto& fault : now.faults) {
        spdlog::warn("the ScoutConfig is not obeyed as a whole fault={}", log_value(fault));
    }
    said_ = std::move(now);
}

/// Nothing is written without leadership, nor where the status tells what is in force already.
Task<Status> ConfigStatus::write() {
    const auto options = leader_call(sources_.elector.may_write_for(), write_limit);
    const auto config = config_in_force(sources_.configs);
    if (!options || !config) {
        co_return Status{};
    }
    auto body = cluster::status_body(*config, settings(), clock_.wall());
    if (body.empty()) {
        co_return Status{};
    }
    kube::Target target{.resource = kube::resources::scout_configs(),
                        .object = {.space = {}, .name = config->meta.name},
                        .subresource = "status"};
    kube::ApplyOptions apply;
    apply.force = true;
    auto answer =
        co_await client_.apply(std::move(target), std::move(body), std::move(apply), *options);
    co_return kube::plain(kube::without_body(std::move(answer)));
}

}  // namespace scout::aggregator
