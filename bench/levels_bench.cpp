// SPDX-License-Identifier: Apache-2.0
// Levels of a fleet kept current, beside all of them judged anew at every change.
#include <algorithm>
#include <string>
#include <vector>

#include "bench/fleet.h"
#include "bench/report.h"
#include "cluster/level_keeper.h"
#include "cluster/levels.h"

namespace {

using namespace scout;
using bench::duration;

constexpr std::size_t nodes = 5'000;
constexpr std::size_t classes = 40;
constexpr std::size_t changes = 201;
const WallTime now{std::chrono::hours{500'000}};

kube::Node object_of(const bench::Node& node, std::size_t number) {
    std::vector<kube::Labels::Entry> labels;
    labels.reserve(node.labels.size());
    for (const auto& [key, value] : node.labels) {
        labels.emplace_back(key, value);
    }
    kube::Node out;
    out.meta.name = "node-" + std::to_string(number);
    out.labels = kube::Labels{std::move(labels)};
    return out;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// CPU seconds of one change, told labels included; `change` gets the number of the round.
template <class Change>
double cost(cluster::LevelKeeper& keeper, Change change) {
    std::vector<double> seconds;
    seconds.reserve(changes);
    for (std::size_t i = 0; i < changes; ++i) {
        seconds.push_back(bench::cpu_seconds([&] {
            change(i);
            static_cast<void>(keeper.take_changes());
        }));
    }
    return median(std::move(seconds));
}

void row(const char* what, double ours, double afresh, double most) {
    bench::row(what, duration(ours), duration(afresh) + " afresh",
               std::to_string(static_cast<long>(afresh / ours)) + " x", "< " + duration(most),
               ours < most);
}

std::vector<kube::Node> objects_of(const std::vector<bench::Node>& fleet) {
    std::vector<kube::Node> objects;
    objects.reserve(fleet.size());
    for (std::size_t i = 0; i < fleet.size(); ++i) {
        objects.push_back(object_of(fleet[i], i));
    }
    return objects;
}

void measure_changes(cluster::LevelKeeper& keeper, const std::vector<kube::Node>& objects,
                     double afresh) {
    row("one node's heartbeat", cost(keeper, [&](std::size_t i) { keeper.put(objects[i], now); }),
        afresh, 1e-3);
    row("one node ceases to count",
        cost(keeper,
             [&](std::size_t i) {
                 auto cordoned = objects[i];
                 cordoned.unschedulable = true;
                 keeper.put(cordoned, now);
                 keeper.pass(now + std::chrono::minutes{10});
             }),
        afresh, 20e-3);
    const auto newcomer = object_of(bench::make_fleet(classes + 1, classes + 1).back(), nodes);
    row("one node of a new class comes, or goes",
        cost(keeper,
             [&](std::size_t i) {
                 if (i % 2 == 0) {
                     keeper.put(newcomer, now);
                 } else {
                     keeper.remove(newcomer.meta.name);
                 }
             }),
        afresh, 20e-3);
}

}  // namespace

int main() {
    const auto objects = objects_of(bench::make_fleet(nodes, classes));
    const auto map = bench::make_map();
    cluster::LevelKeeper keeper({.map = &map}, {});
    std::size_t told = 0;
    const double afresh = bench::cpu_seconds([&] {
        for (const auto& node : objects) {
            keeper.put(node, now);
        }
        told = keeper.take_changes().size();
    });
    bench::row("5,000 nodes in 40 classes, levels of all", duration(afresh), "-", "-", "< 5 s",
               afresh < 5);
    measure_changes(keeper, objects, afresh);
    return told == nodes ? 0 : 1;
}
