// SPDX-License-Identifier: Apache-2.0
#include "aggregator/protection_count.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "aggregator/kubevirts.h"
#include "base/logging.h"
#include "cluster/migration_numbers.h"
#include "cluster/move_policy.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds look_every = 1s;
constexpr std::chrono::milliseconds work_limit = 60s;
/// Of the time that a count takes; so it takes half a percent of a core.
constexpr int pause_factor = 200;

/// The objects of one moment, for the pool.
struct Moment {
    template <class T>
    using Pointers = std::vector<std::shared_ptr<const T>>;

    Moment(const ClusterObjects& objects, const Registry* registry)
        : kubevirts(kubevirts_of(objects.kubevirts)),
          config(objects.configs.find({}, kube::ScoutConfig::name_in_force)),
          plugin(objects.plugins.find({}, cluster::hook_plugin_name)) {
        take(objects.vmis, vmis);
        take(objects.launchers, launchers);
        take(objects.namespaces, namespaces);
        take(objects.nodes, nodes);
        objects.policies.each([this](const auto& policy) {
            if (!cluster::is_move_policy(*policy)) {
                policies.push_back(cluster::plain_policy(*policy));
            }
        });
        if (registry != nullptr) {
            take_kubelets(*registry);
        }
    }
    void take_kubelets(const Registry& registry) {
        for (const auto& [name, node] : registry.nodes()) {
            const auto* const told = node.pressure.report.get();
            if (told != nullptr && told->graces && node.freshness == Freshness::fresh) {
                kubelets.emplace(name, *told->graces);
            }
        }
    }

    template <class T>
    static void take(const kube::Informer<T>& informer, Pointers<T>& out) {
        out.reserve(informer.size());
        informer.each([&out](const auto& object) { out.push_back(object); });
    }

    [[nodiscard]] ProtectionCount::Counts count() const;

    std::vector<kube::KubeVirt> kubevirts;
    std::shared_ptr<const kube::ScoutConfig> config;
    std::shared_ptr<const kube::Plugin> plugin;
    std::vector<migration::MigrationPolicy> policies;
    Pointers<kube::Vmi> vmis;
    Pointers<kube::LauncherPod> launchers;
    Pointers<kube::LabelledObject> namespaces;
    Pointers<kube::Node> nodes;
    cluster::KubeletWords kubelets;
};

ProtectionCount::Counts Moment::count() const {
    const cluster::ProtectionRules rules(cluster::kubevirt_in_force(kubevirts), config.get(),
                                         plugin.get(), policies);
    cluster::VmNeighbours neighbours(&kubelets);
    for (const auto& vmi : vmis) {
        neighbours.add(*vmi);
    }
    for (const auto& pod : launchers) {
        neighbours.add(*pod);
    }
    for (const auto& space : namespaces) {
        neighbours.add(*space);
    }
    for (const auto& node : nodes) {
        neighbours.add(*node);
    }
    ProtectionCount::Counts counts{};
    for (const auto& vmi : vmis) {
        if (cluster::is_running(*vmi)) {
            const auto verdict = rules.judge(*vmi, neighbours.of(*vmi)).answer.verdict;
            ++counts.at(static_cast<std::size_t>(verdict));
        }
    }
    return counts;
}

}  // namespace

ProtectionCount::ProtectionCount(const asio::any_io_executor& loop, ClusterObjects& objects,
                                 std::function<bool()> leads, BlockingPool& pool,
                                 const Clock& clock)
    : objects_(objects), leads_(std::move(leads)), pool_(pool), clock_(clock), alarm_(loop) {
    const auto mark = [this](auto& informer) {
        informer.on_change([this](const auto& /*change*/) { changed_ = true; });
    };
    mark(objects.vmis);
    mark(objects.launchers);
    mark(objects.namespaces);
    mark(objects.nodes);
    mark(objects.policies);
    mark(objects.plugins);
    mark(objects.configs);
    mark(objects.kubevirts);
}

void ProtectionCount::hear(const Registry& registry) {
    registry_ = &registry;
}

/// A kind that has not been read would make a wrong count.
bool ProtectionCount::may_count() const {
    const bool plugins = objects_.plugins.synced() ||
                         objects_.plugins.reflector().state() == kube::ReflectorState::absent;
    return leads_() && objects_.vmis.synced() && objects_.launchers.synced() &&
           objects_.namespaces.synced() && objects_.nodes.synced() && objects_.policies.synced() &&
           objects_.configs.synced() && objects_.kubevirts.synced() && plugins;
}

Task<> ProtectionCount::run() {
    for (;;) {
        co_await turn();
        const bool goes_on = co_await alarm_.wait(look_every);
        if (!goes_on) {
            co_return;
        }
    }
}

Task<> ProtectionCount::turn() {
    if (!may_count()) {
        counts_.reset();
        changed_ = true;
        co_return;
    }
    const auto began = clock_.steady();
    if (!changed_ || (not_before_ && began < *not_before_)) {
        co_return;
    }
    changed_ = false;
    auto moment = std::make_shared<const Moment>(objects_, registry_);
    auto work = [moment]() -> Result<Counts> { return moment->count(); };
    moment.reset();
    const auto counted = co_await offload(pool_, work_limit, std::move(work));
    const auto ended = clock_.steady();
    not_before_ =
        ended + std::max<SteadyTime::duration>(count_every, (ended - began) * pause_factor);
    if (counted) {
        counts_ = *counted;
        co_return;
    }
    changed_ = true;
    if (counted.error().code != Errc::cancelled) {
        spdlog::warn("VMs that would not be moved are not counted, tried again reason={}",
                     log_value(counted.error().message));
    }
}

}  // namespace scout::aggregator
