// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
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
#include "cluster/dump.h"
#include "cluster/live.h"
#include "kube/http_transport.h"
#include "kube/informer.h"

// Shared by the sources that read a cluster once.

namespace scout::cluster {

inline constexpr std::chrono::milliseconds look_every{50};
/// With a server that fails from the start: it may be restarting.
inline constexpr std::chrono::milliseconds patience{10'000};

[[nodiscard]] inline kube::ReflectorSettings reading() {
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
    [[nodiscard]] std::vector<T> take(std::vector<LeftOut>& left_out) const {
        std::vector<T> objects;
        objects.reserve(informer_.size());
        informer_.each([&objects](const auto& object) { objects.push_back(*object); });
        std::sort(objects.begin(), objects.end(), [](const T& a, const T& b) {
            return std::tie(a.meta.space, a.meta.name) < std::tie(b.meta.space, b.meta.name);
        });
        if (informer_.reflector().state() == kube::ReflectorState::absent) {
            left_out.push_back({.place = name_, .reason = "the cluster has no such kind"});
        } else if (!informer_.synced() && !trouble().empty()) {
            left_out.push_back({.place = name_, .reason = trouble()});
        }
        if (const auto unread = informer_.store_counters().undecodable; unread > 0) {
            left_out.push_back(
                {.place = name_, .reason = std::to_string(unread) + " objects cannot be read"});
        }
        return objects;
    }

private:
    std::string name_;
    kube::Informer<T> informer_;
};

/// Runs the loop until all is known that can be, or the time is over.
template <class Kinds>
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
inline void close(asio::io_context& loop, TaskScope& scope) {
    asio::co_spawn(loop, scope.close(),
                   [&loop](const std::exception_ptr& /*none*/) { loop.stop(); });
    loop.restart();
    loop.run();
}

/// Why nothing can be said.
template <class Kinds>
[[nodiscard]] Status check(Kinds& kinds, std::chrono::milliseconds limit) {
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

/// Reads what `Kinds` holds: nodes, without which nothing can be said, and others. It has the
/// member `nodes`, and each(visit) for all of its kinds. Made of transport and clock.
template <class Kinds, class Take>
[[nodiscard]] Status read_kinds(const kube::ClusterAccess& access, const Clock& clock,
                                std::chrono::milliseconds limit, const LiveProgress& progress,
                                Take take) {
    asio::io_context loop{1};
    kube::HttpTransport transport(loop.get_executor(), access, clock);
    Kinds kinds(transport, clock);
    TaskScope scope(loop.get_executor());
    kinds.each([&scope](auto& kind) { kind.start(scope); });
    run_until_known(loop, kinds, clock, limit, progress);
    close(loop, scope);
    if (auto known = check(kinds, limit); !known) {
        return known;
    }
    take(kinds);
    return {};
}

/// The same, what was read as objects: AllKinds has take(left_out) too.
template <class AllKinds>
[[nodiscard]] Result<Dump> read_objects(const kube::ClusterAccess& access, const Clock& clock,
                                        std::chrono::milliseconds limit,
                                        const LiveProgress& progress) {
    Dump dump;
    const auto take = [&dump](const AllKinds& kinds) { dump.objects = kinds.take(dump.left_out); };
    if (auto known = read_kinds<AllKinds>(access, clock, limit, progress, take); !known) {
        return fail(std::move(known.error()));
    }
    dump.moment = clock.wall();
    return dump;
}

}  // namespace scout::cluster
