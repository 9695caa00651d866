// SPDX-License-Identifier: Apache-2.0
#include "tests/cluster/random_cluster.h"

#include <algorithm>
#include <utility>

namespace scout::test {
namespace {

namespace json = boost::json;

const std::vector<std::string> zones{"a", "b", "c"};
const std::vector<std::string> spaces{"shop", "bank"};
const std::vector<std::string> apps{"web", "db", "cache"};
const std::vector<std::string> topologies{"kubernetes.io/hostname", "topology.kubernetes.io/zone",
                                          "rack"};
constexpr const char* required = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr int claims_of_a_space = 6;

json::array strings(const std::vector<std::string>& words) {
    return json::array(words.begin(), words.end());
}

std::string claim_name(int number) {
    return "claim-" + std::to_string(number);
}

}  // namespace

bool RandomCluster::chance(int percent) {
    return between(1, 100) <= percent;
}

int RandomCluster::between(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
}

std::string RandomCluster::one_of(const std::vector<std::string>& words) {
    return words.at(static_cast<std::size_t>(between(0, static_cast<int>(words.size()) - 1)));
}

std::vector<std::string> RandomCluster::some_of(const std::vector<std::string>& words) {
    std::vector<std::string> out;
    std::copy_if(words.begin(), words.end(), std::back_inserter(out),
                 [this](const auto& /*word*/) { return chance(50); });
    if (out.empty()) {
        out.push_back(one_of(words));
    }
    return out;
}

json::object RandomCluster::make() {
    nodes_ = between(3, 10);
    json::object cluster;
    json::array nodes;
    json::array csi_nodes;
    for (int i = 0; i < nodes_; ++i) {
        nodes.push_back(node(i));
        if (chance(50)) {
            json::object driver{
                {"name", "csi.example.org"}, {"nodeID", "n"}, {"topologyKeys", json::array{}}};
            if (chance(60)) {
                driver["allocatable"] = {{"count", between(0, 3)}};
            }
            csi_nodes.push_back(json::object{{"metadata", {{"name", "n" + std::to_string(i)}}},
                                             {"spec", {{"drivers", json::array{driver}}}}});
        }
    }
    json::array pods;
    for (int i = between(0, 20); i > 0; --i) {
        pods.push_back(pod("pod-" + std::to_string(i), false));
    }
    json::array namespaces;
    for (const auto& space : spaces) {
        namespaces.push_back(json::object{
            {"metadata", {{"name", space}, {"labels", {{"team", one_of({"red", "blue"})}}}}}});
    }
    cluster["nodes"] = std::move(nodes);
    cluster["csiNodes"] = std::move(csi_nodes);
    cluster["pods"] = std::move(pods);
    cluster["namespaces"] = std::move(namespaces);
    make_claims(cluster);
    cluster["pod"] = pod("new", true);
    return cluster;
}

json::object RandomCluster::node(int number) {
    const auto name = "n" + std::to_string(number);
    json::object labels{{"kubernetes.io/hostname", name}};
    if (chance(90)) {
        labels["topology.kubernetes.io/zone"] = one_of(zones);
    }
    if (chance(20)) {
        labels["failure-domain.beta.kubernetes.io/zone"] = one_of(zones);
    }
    if (chance(85)) {
        labels["rack"] = one_of({"1", "2", "03", "x"});
    }
    if (chance(80)) {
        labels["disk"] = one_of({"ssd", "hdd"});
    }
    json::object spec;
    if (chance(10)) {
        spec["unschedulable"] = true;
    }
    if (auto all = taints(); !all.empty()) {
        spec["taints"] = std::move(all);
    }
    json::object allocatable{{"cpu", one_of({"2", "3500m", "8"})},
                             {"memory", one_of({"4Gi", "8000Mi", "16000000k"})},
                             {"ephemeral-storage", one_of({"10Gi", "100Gi"})},
                             {"pods", one_of({"2", "5", "110"})}};
    if (chance(70)) {
        allocatable["devices.kubevirt.io/kvm"] = one_of({"1", "3", "1k"});
    }
    if (chance(50)) {
        allocatable["hugepages-2Mi"] = one_of({"0", "512Mi", "2Gi"});
    }
    return {{"metadata", {{"name", name}, {"labels", std::move(labels)}}},
            {"spec", std::move(spec)},
            {"status", {{"allocatable", std::move(allocatable)}}}};
}

json::array RandomCluster::taints() {
    json::array out;
    if (chance(25)) {
        out.push_back(json::object{{"key", "dedicated"},
                                   {"value", one_of({"vms", "gpu", ""})},
                                   {"effect", one_of({"NoSchedule", "PreferNoSchedule"})}});
    }
    if (chance(10)) {
        out.push_back(json::object{{"key", "node.kubernetes.io/not-ready"},
                                   {"effect", one_of({"NoExecute", "NoSchedule"})}});
    }
    if (chance(5)) {
        out.push_back(
            json::object{{"key", "node.kubernetes.io/unschedulable"}, {"effect", "NoSchedule"}});
    }
    return out;
}

json::object RandomCluster::metadata(const std::string& name) {
    json::object labels{{"app", one_of(apps)}};
    if (chance(50)) {
        labels["tier"] = one_of({"front", "back"});
    }
    return {{"name", name},
            {"namespace", one_of(spaces)},
            {"uid", "uid of " + name},
            {"labels", std::move(labels)}};
}

json::object RandomCluster::requests() {
    json::object out;
    if (chance(70)) {
        out["cpu"] = one_of({"100m", "0.5", "1", "1500m"});
    }
    if (chance(70)) {
        out["memory"] = one_of({"128Mi", "1Gi", "2e9", "1500M"});
    }
    if (chance(10)) {
        out["ephemeral-storage"] = one_of({"1Gi", "20Gi"});
    }
    if (chance(20)) {
        out["devices.kubevirt.io/kvm"] = "1";
    }
    if (chance(10)) {
        out["hugepages-2Mi"] = one_of({"2Mi", "512Mi"});
    }
    return out;
}

json::array RandomCluster::containers(const std::string& name, bool init) {
    json::array out;
    for (int i = init ? between(0, 2) : between(1, 2); i > 0; --i) {
        json::object one{{"name", name + std::to_string(i)},
                         {"image", "none"},
                         {"resources", {{"requests", requests()}}}};
        if (init && chance(40)) {
            one["restartPolicy"] = "Always";
        }
        if (chance(init ? 10 : 30)) {
            json::object port{{"containerPort", 80},
                              {"hostPort", between(1, 2)},
                              {"protocol", one_of({"TCP", "UDP"})}};
            if (chance(40)) {
                port["hostIP"] = one_of({"0.0.0.0", "10.0.0.1", "10.0.0.2"});
            }
            one["ports"] = json::array{std::move(port)};
        }
        out.push_back(std::move(one));
    }
    return out;
}

/// Resources that are being changed.
json::object RandomCluster::statuses(const json::object& spec) {
    json::object status{{"phase", "Running"}};
    if (!chance(25)) {
        return status;
    }
    json::array states;
    for (const auto& container : spec.at("containers").as_array()) {
        json::object state{{"name", container.as_object().at("name")}};
        if (chance(70)) {
            state["resources"] = {{"requests", requests()}};
        }
        if (chance(70)) {
            state["allocatedResources"] = requests();
        }
        states.push_back(std::move(state));
    }
    status["containerStatuses"] = std::move(states);
    if (chance(40)) {
        status["conditions"] =
            json::array{json::object{{"type", "PodResizePending"},
                                     {"status", "True"},
                                     {"reason", one_of({"Infeasible", "Deferred"})}}};
    }
    return status;
}

json::object RandomCluster::pod(const std::string& name, bool new_one) {
    auto meta = metadata(name);
    const std::string space{meta.at("namespace").as_string()};
    json::object spec{{"schedulerName", "default-scheduler"},
                      {"containers", containers("c", false)},
                      {"affinity", affinity(new_one)}};
    if (chance(25)) {
        spec["initContainers"] = containers("i", true);
    }
    if (chance(15)) {
        spec["overhead"] = {{"cpu", "250m"}, {"memory", "120Mi"}};
    }
    if (chance(10)) {
        spec["resources"] = {{"requests", {{"cpu", "1"}, {"memory", "1Gi"}}}};
    }
    if (chance(new_one ? 50 : 40)) {
        spec["volumes"] = volumes(space);
    }
    json::object status;
    if (new_one) {
        if (chance(25)) {
            spec["nodeSelector"] = {{"disk", one_of({"ssd", "hdd"})}};
        }
        spec["topologySpreadConstraints"] = spread();
        spec["tolerations"] = tolerations();
    } else {
        spec["nodeName"] = "n" + std::to_string(between(0, nodes_ - 1));
        status = statuses(spec);
        if (chance(10)) {
            meta["deletionTimestamp"] = "2026-01-01T00:00:00Z";
        }
    }
    return {
        {"metadata", std::move(meta)}, {"spec", std::move(spec)}, {"status", std::move(status)}};
}

json::array RandomCluster::node_terms() {
    json::array terms;
    for (int i = between(1, 2); i > 0; --i) {
        json::array expressions;
        if (chance(60)) {
            expressions.push_back(json::object{{"key", "topology.kubernetes.io/zone"},
                                               {"operator", one_of({"In", "NotIn"})},
                                               {"values", strings(some_of(zones))}});
        }
        if (chance(40)) {
            expressions.push_back(json::object{{"key", one_of({"disk", "rack"})},
                                               {"operator", one_of({"Exists", "DoesNotExist"})}});
        }
        if (chance(20)) {
            expressions.push_back(json::object{
                {"key", "rack"}, {"operator", one_of({"Gt", "Lt"})}, {"values", json::array{"2"}}});
        }
        json::object term;
        if (!expressions.empty()) {
            term["matchExpressions"] = std::move(expressions);
        }
        if (chance(15)) {
            term["matchFields"] = json::array{
                json::object{{"key", "metadata.name"},
                             {"operator", one_of({"In", "NotIn"})},
                             {"values", json::array{"n" + std::to_string(between(0, nodes_))}}}};
        }
        terms.push_back(std::move(term));
    }
    return terms;
}

json::object RandomCluster::label_selector() {
    json::object out;
    if (chance(60)) {
        out["matchLabels"] = {{"app", one_of(apps)}};
    }
    if (chance(40)) {
        const bool values = chance(50);
        json::object asked{
            {"key", "tier"},
            {"operator", values ? one_of({"In", "NotIn"}) : one_of({"Exists", "DoesNotExist"})}};
        if (values) {
            asked["values"] = json::array{"front"};
        }
        out["matchExpressions"] = json::array{std::move(asked)};
    }
    return out;
}

json::object RandomCluster::pod_term() {
    json::object term{{"topologyKey", one_of(topologies)}};
    if (chance(95)) {
        term["labelSelector"] = label_selector();
    }
    if (chance(30)) {
        term["namespaces"] = strings(some_of(spaces));
    }
    if (chance(20)) {
        term["namespaceSelector"] =
            chance(50) ? json::object{}
                       : json::object{{"matchLabels", {{"team", one_of({"red", "blue"})}}}};
    }
    return term;
}

json::object RandomCluster::affinity(bool new_one) {
    json::object out;
    if (new_one && chance(30)) {
        out["nodeAffinity"] = {{required, {{"nodeSelectorTerms", node_terms()}}}};
    }
    const auto add = [this, &out](const char* kind, int percent) {
        if (chance(percent)) {
            json::array terms;
            for (int i = between(1, 2); i > 0; --i) {
                terms.push_back(pod_term());
            }
            out[kind] = {{required, std::move(terms)}};
        }
    };
    add("podAffinity", new_one ? 20 : 5);
    add("podAntiAffinity", new_one ? 20 : 5);
    return out;
}

json::array RandomCluster::spread() {
    json::array out;
    for (int i = chance(40) ? between(1, 2) : 0; i > 0; --i) {
        json::object one{{"maxSkew", between(1, 2)},
                         {"topologyKey", one_of(topologies)},
                         {"whenUnsatisfiable", chance(85) ? "DoNotSchedule" : "ScheduleAnyway"}};
        if (chance(95)) {
            one["labelSelector"] = label_selector();
        }
        if (chance(20) && one["whenUnsatisfiable"] == "DoNotSchedule") {
            one["minDomains"] = between(1, 4);
        }
        if (chance(25)) {
            one["nodeTaintsPolicy"] = one_of({"Honor", "Ignore"});
        }
        if (chance(25)) {
            one["nodeAffinityPolicy"] = one_of({"Honor", "Ignore"});
        }
        if (chance(20) && one.contains("labelSelector")) {
            one["matchLabelKeys"] = json::array{"tier"};
        }
        out.push_back(std::move(one));
    }
    return out;
}

json::array RandomCluster::tolerations() {
    json::array out;
    if (chance(40)) {
        json::object one{{"key", "dedicated"}, {"operator", one_of({"Equal", "Exists"})}};
        if (one["operator"] == "Equal") {
            one["value"] = one_of({"vms", "gpu"});
        }
        if (chance(50)) {
            one["effect"] = one_of({"NoSchedule", "NoExecute"});
        }
        out.push_back(std::move(one));
    }
    if (chance(50)) {
        out.push_back(json::object{{"key", "node.kubernetes.io/not-ready"},
                                   {"operator", "Exists"},
                                   {"effect", "NoExecute"}});
    }
    if (chance(8)) {
        out.push_back(json::object{{"operator", "Exists"}});
    }
    return out;
}

json::array RandomCluster::volumes(const std::string& space) {
    json::array out;
    for (int i = between(1, 2); i > 0; --i) {
        const auto number = between(0, claims_of_a_space - 1);
        const auto missing = chance(3);
        out.push_back(
            json::object{{"name", "v" + std::to_string(i)},
                         {"persistentVolumeClaim",
                          {{"claimName", missing ? "gone of " + space : claim_name(number)}}}});
    }
    return out;
}

json::object RandomCluster::volume(int number) {
    json::object labels;
    if (chance(40)) {
        labels[chance(80) ? "topology.kubernetes.io/zone"
                          : "failure-domain.beta.kubernetes.io/zone"] =
            chance(70) ? one_of(zones) : one_of({"a__b", "b__c", "a__"});
    }
    json::object spec{
        {"capacity", {{"storage", "1Gi"}}},
        {"accessModes", json::array{"ReadWriteMany"}},
        {"csi",
         {{"driver", "csi.example.org"}, {"volumeHandle", "handle-" + std::to_string(number)}}}};
    if (chance(40)) {
        json::object asked{{"key", one_of({"topology.kubernetes.io/zone", "disk"})},
                           {"operator", "In"},
                           {"values", json::array{"a", "b", "ssd"}}};
        spec["nodeAffinity"] = {
            {"required",
             {{"nodeSelectorTerms",
               json::array{json::object{{"matchExpressions", json::array{asked}}}}}}}};
    }
    return {{"metadata", {{"name", "pv-" + std::to_string(number)}, {"labels", std::move(labels)}}},
            {"spec", std::move(spec)}};
}

json::object RandomCluster::claim(const std::string& space, int number) {
    json::object meta{{"name", claim_name(number)}, {"namespace", space}};
    const bool bound = !chance(2);
    const auto volume_number = (space == spaces.front() ? 0 : claims_of_a_space) + number;
    json::object spec{
        {"accessModes", json::array{chance(90) ? "ReadWriteMany" : "ReadWriteOncePod"}},
        {"storageClassName", one_of({"now", "later"})}};
    if (bound) {
        meta["annotations"] = {{"pv.kubernetes.io/bind-completed", "yes"}};
        spec["volumeName"] = "pv-" + std::to_string(chance(97) ? volume_number : 99);
    }
    if (chance(3)) {
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    }
    return {{"metadata", std::move(meta)},
            {"spec", std::move(spec)},
            {"status",
             {{"phase", !bound       ? "Pending"
                        : chance(97) ? "Bound"
                                     : "Lost"}}}};
}

void RandomCluster::make_claims(json::object& cluster) {
    json::array claims;
    json::array volumes;
    int number = 0;
    for (const auto& space : spaces) {
        for (int i = 0; i < claims_of_a_space; ++i) {
            claims.push_back(claim(space, i));
            volumes.push_back(volume(number++));
        }
    }
    json::array classes;
    for (const auto* mode : {"Immediate", "WaitForFirstConsumer"}) {
        const bool now = std::string_view{mode} == "Immediate";
        classes.push_back(json::object{{"metadata", {{"name", now ? "now" : "later"}}},
                                       {"provisioner", "csi.example.org"},
                                       {"volumeBindingMode", mode}});
    }
    cluster["persistentVolumeClaims"] = std::move(claims);
    cluster["persistentVolumes"] = std::move(volumes);
    cluster["storageClasses"] = std::move(classes);
    json::array attachments;
    for (int i = between(0, 3); i > 0; --i) {
        attachments.push_back(
            json::object{{"metadata", {{"name", "attachment-" + std::to_string(i)}}},
                         {"spec",
                          {{"attacher", "csi.example.org"},
                           {"nodeName", "n" + std::to_string(between(0, nodes_ - 1))},
                           {"source",
                            {{"persistentVolumeName",
                              "pv-" + std::to_string(between(0, 2 * claims_of_a_space))}}}}}});
    }
    cluster["volumeAttachments"] = std::move(attachments);
}

}  // namespace scout::test
