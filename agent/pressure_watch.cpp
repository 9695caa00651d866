// SPDX-License-Identifier: Apache-2.0
#include "agent/pressure_watch.h"

#include <algorithm>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <prometheus/counter.h>
#include <spdlog/spdlog.h>

#include "agent/node_reading.h"
#include "base/logging.h"

namespace scout::agent {
namespace {

using migration::PressureSignal;
using std::chrono::seconds;

constexpr seconds quiet_pods{30};
constexpr seconds close_pods{5};
constexpr std::chrono::minutes quiet_storage{5};
constexpr seconds close_storage{30};
constexpr seconds storage_wait{1};
constexpr seconds kubelet_look{60};
constexpr std::size_t most_pods = 1'000;
/// Files and folders in the volumes of all pods: of 200 launchers 250 each, read in half a second
/// if the disk is slow. Of pods behind that nothing is known.
constexpr std::size_t most_entries = 50'000;
// So much waiting is no everyday noise: a tenth of the time by some tasks, a hundredth by all.
constexpr double stalled_some = 0.1;
constexpr double stalled_full = 0.01;

bool is_stalled(const std::optional<pressure::Stall>& stall) {
    return stall && (stall->some >= stalled_some || stall->full >= stalled_full);
}

/// Appends one of several things, parted by semicolons.
void append(std::string& list, const std::string& entry) {
    list += (list.empty() || entry.empty() ? "" : "; ") + entry;
}

bool has_newcomer(const std::vector<LauncherPod>& before, const std::vector<LauncherPod>& now) {
    const auto is_new = [&before](const LauncherPod& pod) {
        return std::none_of(before.begin(), before.end(), [&pod](const LauncherPod& known) {
            return known.pod_uid == pod.pod_uid;
        });
    };
    return std::any_of(now.begin(), now.end(), is_new);
}

pressure::KubeletConfig default_config() {
    return pressure::parse_kubelet_config({}).value();
}

}  // namespace

PressureWatch::Reading PressureWatch::Order::carry_out() const {
    const auto pods_root = with_pods_memory ? std::optional{cgroup_root} : std::nullopt;
    Reading reading{
        .node = pressure::read_node(config.roots, pods_root), .usages = {}, .kubelet = {}};
    if (with_kubelet) {
        reading.kubelet = pressure::read_kubelet_files(config.kubelet);
    }
    if (with_pods) {
        read_usages(reading);
    }
    return reading;
}

/// A pod that is gone by now is no fault.
void PressureWatch::Order::read_usages(Reading& reading) const {
    const pressure::PodCgroups cgroups(config.roots.cgroups, cgroup_root);
    auto& usages = reading.usages.emplace();
    for (const auto& pod : pods) {
        if (auto usage = cgroups.read(pod.pod_uid)) {
            usages.emplace(pod.pod_uid, *std::move(usage));
        }
    }
}

PressureWatch::PressureWatch(PressureConfig config, Parts parts)
    : config_(std::move(config)),
      parts_(std::move(parts)),
      metrics_(parts_.registry),
      kubelet_(default_config()),
      pressure_(kubelet_.eviction) {}

Task<> PressureWatch::run() {
    asio::steady_timer timer(parts_.loop);
    for (;;) {
        co_await look();
        timer.expires_after(next_look());
        co_await timer.async_wait(as_result);
    }
}

Task<> PressureWatch::look() {
    metrics_.looks.Increment();
    if (looking_->exchange(true)) {
        take_fault("a look that began before still hangs: is a mount dead?");
        co_return;
    }
    const auto now = parts_.clock.steady();
    auto order = next_order(now);
    // Let go when the work is over, and also when it is never begun.
    std::shared_ptr<void> held(nullptr, [looking = looking_](void*) { *looking = false; });
    auto work = [order, held = std::move(held)]() mutable -> Result<Reading> {
        const auto over = std::move(held);
        return order.carry_out();
    };
    auto reading = co_await offload(parts_.pool, file_limit, std::move(work));
    if (!reading) {
        make_due_again(order, now);
        take_fault(std::move(reading.error().message));
        co_return;
    }
    if (order.with_storage) {
        co_await measure(std::move(order));
    }
    take_storages();
    take(*std::move(reading), now);
}

/// Waits a moment, as is enough where the inodes are in memory.
Task<> PressureWatch::measure(Order order) {
    if (walk_->under_way.exchange(true)) {
        co_return;
    }
    // What is done goes on until it is taken.
    std::shared_ptr<void> held(nullptr, [walk = walk_](void*) {
        if (!walk->done) {
            walk->under_way = false;
        }
    });
    auto work = [order = std::move(order), walk = walk_,
                 held = std::move(held)]() mutable -> Result<bool> {
        const auto over = std::move(held);
        auto entries_left = most_entries;
        walk->found.clear();
        for (const auto& pod : order.pods) {
            const auto storage =
                pressure::read_pod_storage(order.config.pods, pod.pod_uid, entries_left);
            if (storage) {
                walk->found.emplace(pod.pod_uid, *storage);
            }
        }
        walk->done = true;
        return true;
    };
    static_cast<void>(co_await offload(parts_.pool, storage_wait, std::move(work)));
}

void PressureWatch::take_storages() {
    if (walk_->done.exchange(false)) {
        launchers_.storages = std::move(walk_->found);
        walk_->under_way = false;
    }
}

PressureWatch::Order PressureWatch::next_order(SteadyTime now) {
    Order order{.config = config_, .cgroup_root = kubelet_.cgroup_root, .pods = {}};
    order.with_kubelet = now >= kubelet_due_;
    if (order.with_kubelet) {
        kubelet_due_ = now + kubelet_look;
    }
    order.with_pods_memory = limits_pods();
    const bool close = next_look() < migration::PressurePolicy{}.quiet_look;
    order.with_pods = now >= pods_due_ || (close && now >= pods_due_ - quiet_pods + close_pods);
    if (order.with_pods) {
        pods_due_ = now + quiet_pods;
        auto& pods = launchers_.pods;
        const auto known = std::move(pods);
        pods = parts_.launchers ? parts_.launchers() : std::vector<LauncherPod>{};
        pods.resize(std::min(pods.size(), most_pods));
        if (has_newcomer(known, pods)) {
            storage_due_ = now;
        }
    }
    order.with_storage =
        !config_.pods.empty() &&
        (now >= storage_due_ ||
         (is_filesystem_near() && now >= storage_due_ - quiet_storage + close_storage));
    if (order.with_storage) {
        storage_due_ = now + quiet_storage;
    }
    if (order.with_pods || order.with_storage) {
        order.pods = launchers_.pods;
    }
    return order;
}

/// What an order in vain was to read: until then nothing better is known than what was before.
void PressureWatch::make_due_again(const Order& order, SteadyTime now) {
    const auto make_due = [now](bool ordered, SteadyTime& due) {
        if (ordered) {
            due = now;
        }
    };
    make_due(order.with_kubelet, kubelet_due_);
    make_due(order.with_pods, pods_due_);
    make_due(order.with_storage, storage_due_);
}

/// Before the kubelet's configuration was looked at nobody knows where their cgroup is.
bool PressureWatch::limits_pods() const {
    const auto& thresholds = kubelet_.eviction.thresholds;
    return has_looked_at_kubelet() &&
           std::any_of(thresholds.begin(), thresholds.end(), [](const auto& threshold) {
               return threshold.signal == PressureSignal::allocatable_memory_available;
           });
}

bool PressureWatch::is_filesystem_near() const {
    const auto near = pressure_.near();
    return std::any_of(near.begin(), near.end(), migration::is_of_filesystem);
}

void PressureWatch::take(Reading reading, SteadyTime now) {
    if (reading.kubelet) {
        take_kubelet(*reading.kubelet);
    }
    if (reading.usages) {
        launchers_.usages = *std::move(reading.usages);
    }
    const auto& node = reading.node;
    launchers_.own_imagefs = node.own_imagefs;
    const auto changes =
        pressure_.add(now, node.room, is_stalled(node.memory_stall) || is_stalled(node.io_stall));
    std::string faults;
    for (const auto& [subject, why] : node.faults) {
        append(faults, subject);
        faults += ": " + why;
    }
    take_fault(std::move(faults));
    metrics_.take(pressure_.outlooks(), node);
    for (const auto& change : changes) {
        tell(change);
    }
    tell_shutdown(now);
    note_warnings();
    hand_over(now);
}

void PressureWatch::take_kubelet(const Result<pressure::KubeletFiles>& files) {
    std::string fault;
    bool news = !has_looked_at_kubelet();
    if (!files) {
        fault = files.error().message;
    } else if (files->main.empty() && files->drop_ins.empty()) {
        fault = "expected the kubelet's configuration at " + config_.kubelet.file.string() +
                ", found no file: set kubelet-config to what the kubelet has as --config, or "
                "kubelet-config-dir to what it has as --config-dir";
    } else if (files_ != *files) {
        if (auto config = pressure::parse_kubelet_config(*files)) {
            kubelet_ = *std::move(config);
            files_ = *files;
            news = true;
            pressure_.use(kubelet_.eviction);
            spdlog::info("kubelet's thresholds read thresholds={} max_pod_grace={}s files={}",
                         kubelet_.eviction.thresholds.size(),
                         kubelet_.eviction.max_pod_grace.count(),
                         files->main.size() + files->drop_ins.size());
        } else {
            fault = config.error().message;
        }
    }
    if (!fault.empty() && fault != kubelet_fault_) {
        spdlog::warn("kubelet's configuration is of no use, {} in force here error={}",
                     files_ ? "the one before is" : "kubelet's defaults are", log_value(fault));
    }
    kubelet_fault_ = std::move(fault);
    if (news && parts_.kubelet_looked_at) {
        parts_.kubelet_looked_at();
    }
}

void PressureWatch::take_fault(std::string fault) {
    metrics_.failed_looks.Increment(fault.empty() ? 0 : 1);
    if (!fault.empty() && fault != fault_) {
        spdlog::warn("the node's pressure is not known in full error={}", log_value(fault));
    }
    fault_ = std::move(fault);
    parts_.health.note("pressure is not known in full", trouble());
}

std::string PressureWatch::trouble() const {
    auto all = kubelet_fault_;
    append(all, fault_);
    return all;
}

}  // namespace scout::agent
