// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace scout::test {

/// Small clusters that are hard to place a pod in, as objects of an API server: everything that
/// kube-scheduler's filters go by, in few enough values that it often matters.
class RandomCluster {
public:
    explicit RandomCluster(std::uint64_t seed) : random_(seed) {}

    /// {"nodes":[…], "pods":[…], "namespaces":[…], "persistentVolumeClaims":[…],
    /// "persistentVolumes":[…], "storageClasses":[…], "csiNodes":[…],
    /// "volumeAttachments":[…], "pod":{…}}
    [[nodiscard]] boost::json::object make();

private:
    [[nodiscard]] bool chance(int percent);
    [[nodiscard]] int between(int least, int most);
    [[nodiscard]] std::string one_of(const std::vector<std::string>& words);
    [[nodiscard]] std::vector<std::string> some_of(const std::vector<std::string>& words);

    [[nodiscard]] boost::json::object node(int number);
    [[nodiscard]] boost::json::array taints();
    [[nodiscard]] boost::json::object pod(const std::string& name, bool new_one);
    [[nodiscard]] boost::json::object metadata(const std::string& name);
    [[nodiscard]] boost::json::array containers(const std::string& name, bool init);
    [[nodiscard]] boost::json::object requests();
    [[nodiscard]] boost::json::object statuses(const boost::json::object& spec);
    [[nodiscard]] boost::json::object affinity(bool new_one);
    [[nodiscard]] boost::json::array node_terms();
    [[nodiscard]] boost::json::object pod_term();
    [[nodiscard]] boost::json::object label_selector();
    [[nodiscard]] boost::json::array spread();
    [[nodiscard]] boost::json::array tolerations();
    [[nodiscard]] boost::json::array volumes(const std::string& space);
    void make_claims(boost::json::object& cluster);
    [[nodiscard]] boost::json::object volume(int number);
    [[nodiscard]] boost::json::object claim(const std::string& space, int number);

    std::mt19937_64 random_;
    int nodes_ = 0;
};

}  // namespace scout::test
