// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "aggregator/cluster_side.h"
#include "kube/resource.h"
#include "tests/kube/bed_fixture.h"

namespace scout::aggregator {

/// An object of a manifest with the kind that the API server serves it as.
struct Manifest {
    kube::Resource resource;
    kube::ObjectName object;
    boost::json::object body;
};

/// What is applied once daemonset/base answers: the APIService.
inline constexpr std::string_view query_api_file = "../query-api/apiservice.yaml";

/// The files of daemonset/base as its kustomization lists them.
[[nodiscard]] std::vector<std::string> manifest_files();
/// The objects of a file below daemonset/base, in its order.
[[nodiscard]] std::vector<Manifest> read_manifest(std::string_view file);

/// The cluster's side of an aggregator on the program's one real API server.
class BedClusterTest : public test::BedTest {
protected:
    /// What is done with it before it starts.
    using Preparation = std::function<void(ClusterSide&)>;

    /// Levels count among the nodes of one architecture: each test has its own. Guests of nodes
    /// with the same feature can go to each other.
    void make_node(const std::string& arch, const std::string& name, const std::string& feature);
    /// null takes the label away.
    void label(const std::string& node, const std::string& key, const boost::json::value& value);
    /// The level label of a node, or "none".
    [[nodiscard]] std::string level(const std::string& node);
    /// That it changes is that the node was written.
    [[nodiscard]] std::string version(const std::string& node);
    [[nodiscard]] static kube::Target target(const std::string& node);

    /// Applies the objects of a file below daemonset/base as `kubectl apply` does; of a definition
    /// returns once its kind is served.
    void apply_manifest(std::string_view file);

    /// The definitions of stock KubeVirt, which are there from then on.
    void serve_kubevirt(const std::filesystem::path& data);

    /// A cluster-scoped kind.
    [[nodiscard]] bool is_served(const boost::json::object& definition);

    [[nodiscard]] ClusterSettings settings(const kube::ClusterAccess& who,
                                           const std::string& space) const;
    [[nodiscard]] std::unique_ptr<ClusterSide> start(const kube::ClusterAccess& who,
                                                     const std::string& space,
                                                     HttpsSettings https = {},
                                                     const Preparation& prepare = {});
    /// All labels are as they should be, and were read again.
    [[nodiscard]] bool settle(const ClusterSide& side);
    void stop(std::unique_ptr<ClusterSide> side);

    kube::ReflectorSettings following;  ///< of what is started from now on
};

}  // namespace scout::aggregator
