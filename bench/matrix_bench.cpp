// SPDX-License-Identifier: Apache-2.0
// The class matrix beside the pairwise method of the host-model-migratability proposal: every pair
// of nodes, every feature of the source, one hash look-up each. `--full` runs the peer over all
// source nodes (minutes); without it over a sample of them, scaled, which is said in the row.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/fleet.h"
#include "bench/report.h"
#include "migration/labels.h"
#include "migration/matrix.h"

namespace {

using namespace scout;
using bench::duration;
using migration::Layer;
using migration::Matrix;

constexpr std::size_t nodes_in_full = 5'000;
constexpr std::size_t classes_in_full = 40;
constexpr std::size_t sampled_sources = 50;
constexpr std::size_t newcomers = 21;

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// What the proposal's controller holds of a node: its labels, hashed.
struct PairwiseNode {
    std::unordered_map<std::string, std::string> labels;
    std::vector<std::string> wanted;  ///< label keys that a target must carry
};

std::vector<PairwiseNode> pairwise_nodes(const std::vector<bench::Node>& fleet) {
    std::vector<PairwiseNode> nodes;
    for (const auto& node : fleet) {
        PairwiseNode out;
        out.labels.insert(node.labels.begin(), node.labels.end());
        for (const auto& [key, value] : node.labels) {
            if (key.starts_with(migration::label::cpu_feature)) {
                out.wanted.push_back(key);
            } else if (key.starts_with(migration::label::host_model)) {
                out.wanted.push_back(std::string{migration::label::known_model} +
                                     key.substr(migration::label::host_model.size()));
            }
        }
        nodes.push_back(std::move(out));
    }
    return nodes;
}

std::size_t pairwise_destinations(const PairwiseNode& source,
                                  const std::vector<PairwiseNode>& nodes) {
    std::size_t destinations = 0;
    for (const auto& target : nodes) {
        std::size_t missing = 0;
        for (const auto& key : source.wanted) {
            missing += target.labels.contains(key) ? 0 : 1;
        }
        destinations += missing == 0 && &target != &source ? 1 : 0;
    }
    return destinations;
}

Matrix build(const std::vector<std::vector<migration::LabelView>>& fleet,
             const migration::CpuMap& map) {
    Matrix matrix({.machine_type = "q35", .map = &map});
    for (const auto& labels : fleet) {
        matrix.add(labels, nullptr, "");
    }
    return matrix;
}

std::vector<std::vector<migration::LabelView>> views_of(const std::vector<bench::Node>& fleet) {
    std::vector<std::vector<migration::LabelView>> views;
    views.reserve(fleet.size());
    for (const auto& node : fleet) {
        views.push_back(node.views());
    }
    return views;
}

void full_matrix(bool whole_peer) {
    const auto fleet = bench::make_fleet(nodes_in_full, classes_in_full);
    const auto views = views_of(fleet);
    const auto map = bench::make_map();
    std::size_t levels = 0;
    const double ours = bench::best_cpu_seconds(5, [&] {
        const auto matrix = build(views, map);
        for (Matrix::NodeId node = 0; node < nodes_in_full; ++node) {
            levels += migration::migratability_level(matrix.destinations(node, Layer::stock),
                                                     nodes_in_full);
        }
    });
    const auto peers = pairwise_nodes(fleet);
    const std::size_t sources = whole_peer ? nodes_in_full : sampled_sources;
    std::size_t sum = 0;
    double peer = bench::cpu_seconds([&] {
        for (std::size_t i = 0; i < sources; ++i) {
            sum += pairwise_destinations(peers[i * (nodes_in_full / sources)], peers);
        }
    });
    peer *= static_cast<double>(nodes_in_full) / static_cast<double>(sources);
    const double ratio = peer / ours;
    std::string how = "pairwise " + duration(peer);
    if (!whole_peer) {
        how += " (from " + std::to_string(sampled_sources) + " sources)";
    }
    bench::row("full matrix, 5,000 nodes in 40 classes", duration(ours), how,
               std::to_string(static_cast<long>(ratio)) + " x", ">= 10000 x", ratio >= 1e4);
    std::fprintf(stderr, "check: levels %zu, pairwise destinations %zu\n", levels, sum);
}

void large_matrix() {
    constexpr std::size_t nodes = 100'000;
    constexpr std::size_t classes = 2'000;
    const auto prototypes = bench::make_fleet(classes, classes);
    std::vector<std::vector<migration::LabelView>> views;
    views.reserve(nodes);
    const auto of_class = views_of(prototypes);
    for (std::size_t i = 0; i < nodes; ++i) {
        views.push_back(of_class[i % classes]);
    }
    const auto map = bench::make_map();
    Matrix matrix({.machine_type = "q35", .map = &map});
    const double first = bench::cpu_seconds([&] { matrix = build(views, map); });
    bench::row("100,000 nodes in " + std::to_string(matrix.classes()) + " classes", duration(first),
               "-", "-", "< 2 s", first < 2);

    const auto others = bench::make_fleet(classes + newcomers, classes + newcomers);
    std::vector<double> adding;
    std::vector<double> removing;
    Matrix::NodeId id = 0;
    for (std::size_t i = classes; i < others.size(); ++i) {
        const auto labels = others[i].views();
        adding.push_back(bench::cpu_seconds([&] { id = matrix.add(labels, nullptr, ""); }));
        removing.push_back(bench::cpu_seconds([&] { matrix.remove(id); }));
    }
    const double added = median(adding);
    const double removed = median(removing);
    bench::row("one node of a new class added at 100,000 (median)", duration(added),
               duration(first) + " afresh", std::to_string(static_cast<long>(first / added)) + " x",
               "< 1 ms", added < 1e-3);
    bench::row("... and removed, its class with it (median)", duration(removed),
               duration(first) + " afresh",
               std::to_string(static_cast<long>(first / removed)) + " x", "< 1 ms", removed < 1e-3);
    const double known = bench::cpu_seconds([&] { id = matrix.add(views[7], nullptr, ""); });
    bench::row("one node of a known class added at 100,000", duration(known),
               duration(first) + " afresh", std::to_string(static_cast<long>(first / known)) + " x",
               "< 1 ms", known < 1e-3);
}

}  // namespace

int main(int argc, char** argv) {
    const bool whole_peer = argc > 1 && std::strcmp(argv[1], "--full") == 0;
    full_matrix(whole_peer);
    large_matrix();
    return 0;
}
