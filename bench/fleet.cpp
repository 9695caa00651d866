// SPDX-License-Identifier: Apache-2.0
#include "bench/fleet.h"

#include <map>

#include "migration/labels.h"

namespace scout::bench {
namespace {

constexpr std::size_t features_of_a_node = 148;
constexpr std::size_t known_models = 50;
constexpr std::size_t required_features = 30;

using LabelMap = std::map<std::string, std::string>;

void put(LabelMap& labels, std::string_view prefix, const std::string& name) {
    labels[std::string{prefix} + name] = "true";
}

/// Class k lacks a few features that others have, so that the matrix is neither full nor empty.
LabelMap class_labels(std::size_t k) {
    using namespace migration;
    LabelMap labels;
    std::size_t left = features_of_a_node;
    for (std::size_t i = 0; left > 0; ++i) {
        const bool absent = (i * 7 + k) % 37 == 0 || (i + k / 37) % 53 == 0;
        if (!absent) {
            put(labels, label::cpu_feature, "avx512-part" + std::to_string(i));
            --left;
        }
    }
    for (std::size_t i = 0; i < known_models; ++i) {
        put(labels, label::known_model, "Server-Model-v" + std::to_string(i));
        put(labels, label::cpu_model, "Server-Model-v" + std::to_string(i));
    }
    for (std::size_t i = 0; i < required_features; ++i) {
        const std::size_t feature = (i * 5 + k * 3) % features_of_a_node;
        put(labels, label::required_feature, "avx512-part" + std::to_string(feature));
    }
    put(labels, label::host_model, "Server-Model-v" + std::to_string(k % known_models));
    put(labels, label::vendor, "Intel");
    put(labels, label::machine_type, "q35");
    labels[std::string{label::arch}] = "amd64";
    labels[std::string{label::schedulable}] = "true";
    return labels;
}

}  // namespace

std::vector<Node> make_fleet(std::size_t nodes, std::size_t classes) {
    std::vector<LabelMap> of_class;
    of_class.reserve(classes);
    for (std::size_t k = 0; k < classes; ++k) {
        of_class.push_back(class_labels(k));
    }
    std::vector<Node> fleet;
    fleet.reserve(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
        LabelMap labels = of_class[i % classes];
        const std::string name = "node-" + std::to_string(i);
        labels["kubernetes.io/hostname"] = name;
        labels["kubernetes.io/os"] = "linux";
        labels["topology.kubernetes.io/zone"] = "zone-" + std::to_string(i % 3);
        labels["node.kubernetes.io/instance-type"] = "metal";
        fleet.push_back({.labels = {labels.begin(), labels.end()}});
    }
    return fleet;
}

migration::CpuMap make_map() {
    constexpr std::size_t features_of_a_model = 100;
    std::map<std::string, migration::MapModel, std::less<>> models;
    for (std::size_t i = 0; i < known_models; ++i) {
        std::vector<std::string> features;
        features.reserve(features_of_a_model);
        for (std::size_t k = 0; k < features_of_a_model; ++k) {
            features.push_back("avx512-part" + std::to_string(k + i % 8));
        }
        models["Server-Model-v" + std::to_string(i)] = {
            .vendor = "Intel", .features = migration::make_feature_set(std::move(features))};
    }
    return {"bench", std::move(models)};
}

}  // namespace scout::bench
