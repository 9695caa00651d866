// SPDX-License-Identifier: Apache-2.0
#include "cluster/live.h"

#include <algorithm>
#include <exception>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/duration.h"
#include "base/task_scope.h"
#include "kube/http_transport.h"
#include "kube/informer.h"

namespace scout::cluster {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds look_every = 50ms;
/// With a server that fails from the start: it may be restarting.
constexpr std::chrono::milliseconds patience = 10s;
kube::ReflectorSettings reading() {
    kube::ReflectorSettings settings;
    settings.seed = std::random_device{}();
    return settings;
}

/// The objects of one kind while they are read.
template <class T>
class Kind {
public:
    Kind(kube::Transport& transport, const Clock& clock, kube::Resource resource,
         typename kube::Informer<T>::Decoder decoder, std::string labels = {})
        : name_(kube::display_name(resource)),
          informer_(transport, clock,
                    {.resource = std::move(resource), .selection = {.labels = std::move(labels)}},
                    decoder, reading()) {}

    void start(TaskScope& scope) {
        scope.spawn(name_, [this] { return informer_.run(); });
    }
    [[nodiscard]] bool forbidden() const {
        return informer_.reflector().state() == kube::ReflectorState::forbidden;
    }
    /// The server does not answer, or not as one.
    [[nodiscard]] bool failing() const {
        return informer_.reflector().state() == kube::ReflectorState::failing &&
               informer_.size() == 0;
    }
    /// Nothing more will come.
    [[nodiscard]] bool known() const { return informer_.synced() || forbidden(); }
    [[nodiscard]] const std::string& trouble() const { return informer_.reflector().trouble(); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] std::size_t size() const { return informer_.size(); }

    /// In the order of namespaces and names.
    [[nodiscard]] std::vector<T> take(Dump& dump) const {
        std::vector<T> objects;
        objects.reserve(informer_.size());
        informer_.each([&objects](const auto& object) { objects.push_back(*object); });
        std::sort(objects.begin(), objects.end(), [](const T& a, const T& b) {
            return std::tie(a.meta.space, a.meta.name) < std::tie(b.meta.space, b.meta.name);
        });
        if (informer_.reflector().state() == kube::ReflectorState::absent) {
            dump.left_out.push_back({.place = name_, .reason = "the cluster has no such kind"});
        } else if (!trouble().empty()) {
            dump.left_out.push_back({.place = name_, .reason = trouble()});
        }
        if (const auto unread = informer_.store_counters().undecodable; unread > 0) {
            dump.left_out.push_back(
                {.place = name_, .reason = std::to_string(unread) + " objects cannot be read"});
        }
        return objects;
    }

private:
    std::string name_;
    kube::Informer<T> informer_;
};

/// What a dump is of.
struct Kinds {
    Kinds(kube::Transport& transport, const Clock& clock)
        : nodes(transport, clock, kube::resources::nodes(), &kube::decode_node),
          kubevirts(transport, clock, kube::resources::kubevirts(), &kube::decode_kubevirt),
          vmis(transport, clock, kube::resources::virtual_machine_instances(), &kube::decode_vmi),
          migrations(transport, clock, kube::resources::migrations(), &kube::decode_migration),
          launchers(transport, clock, kube::resources::pods(), &kube::decode_launcher_pod,
                    kube::launcher_selector),
          profiles(transport, clock, kube::resources::cpu_profiles(), &decode_cpu_profile) {}

    /// Visit: (Kind&) for each of them.
    template <class Visit>
    void each(Visit visit) {
        visit(nodes);
        visit(kubevirts);
        visit(vmis);
        visit(migrations);
        visit(launchers);
        visit(profiles);
    }

    Kind<kube::Node> nodes;
    Kind<kube::KubeVirt> kubevirts;
    Kind<kube::Vmi> vmis;
    Kind<kube::Migration> migrations;
    Kind<kube::LauncherPod> launchers;
    Kind<CpuProfile> profiles;
};

/// Runs the loop until all is known that can be, or the time is over.
void run_until_known(asio::io_context& loop, Kinds& kinds, const Clock& clock,
                     std::chrono::milliseconds limit, const LiveProgress& progress) {
    const auto begin = clock.steady();
    bool known = false;
    while (!known && clock.steady() < begin + limit) {
        loop.run_for(look_every);
        known = true;
        kinds.each([&known, &progress](const auto& kind) {
            known = known && kind.known();
            if (progress && !kind.known()) {
                progress(kind.name(), kind.size());
            }
        });
        known = known || kinds.nodes.forbidden() ||
                (kinds.nodes.failing() && clock.steady() >= begin + patience);
    }
}

/// What the transport still waits for may go with it.
void close(asio::io_context& loop, TaskScope& scope) {
    asio::co_spawn(loop, scope.close(),
                   [&loop](const std::exception_ptr& /*none*/) { loop.stop(); });
    loop.restart();
    loop.run();
}

/// Why nothing can be said.
Status check(Kinds& kinds, std::chrono::milliseconds limit) {
    const auto& nodes = kinds.nodes;
    if (nodes.forbidden()) {
        return fail(Errc::refused, nodes.trouble());
    }
    Status known;
    const auto expect_known = [&known, limit](const auto& kind) {
        if (known && !kind.known()) {
            known = fail(kind.trouble().empty() ? Errc::timed_out : Errc::unavailable,
                         kind.trouble().empty()
                             ? kind.name() + ": the list was not complete within " + age_text(limit)
                             : kind.trouble());
        }
    };
    kinds.each(expect_known);
    return known;
}

}  // namespace

Result<Dump> read_cluster(const kube::ClusterAccess& access, const Clock& clock,
                          std::chrono::milliseconds limit, const LiveProgress& progress) {
    asio::io_context loop{1};
    kube::HttpTransport transport(loop.get_executor(), access, clock);
    Kinds kinds(transport, clock);
    TaskScope scope(loop.get_executor());
    kinds.each([&scope](auto& kind) { kind.start(scope); });
    run_until_known(loop, kinds, clock, limit, progress);
    close(loop, scope);
    if (auto known = check(kinds, limit); !known) {
        return fail(std::move(known.error()));
    }
    Dump dump;
    dump.moment = clock.wall();
    dump.objects = {.nodes = kinds.nodes.take(dump),
                    .kubevirts = kinds.kubevirts.take(dump),
                    .vmis = kinds.vmis.take(dump),
                    .migrations = kinds.migrations.take(dump),
                    .launchers = kinds.launchers.take(dump),
                    .profiles = kinds.profiles.take(dump)};
    return dump;
}

}  // namespace scout::cluster
