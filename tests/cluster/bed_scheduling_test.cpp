// SPDX-License-Identifier: Apache-2.0
// Where a pod can go, by our filters and by kube-scheduler's own code, in random clusters.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/scheduling_objects.h"
#include "kube/decode_text.h"
#include "migration/scheduling/filters.h"
#include "tests/cluster/random_cluster.h"
#include "tests/support/ask_program.h"
#include "tests/support/bed.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::ReasonCode;
using migration::Verdict;
namespace scheduling = migration::scheduling;

constexpr std::uint64_t seed = 20'261'129;
constexpr int clusters = 2500;

/// What both sides call alike: a cordon is also a taint, and of volumes several plugins speak.
using Kinds = std::set<std::string>;

std::string kind_of(ReasonCode code) {
    switch (code) {
        case ReasonCode::selector:
        case ReasonCode::node_affinity:
            return "node affinity";
        case ReasonCode::unschedulable:
        case ReasonCode::taint:
            return "taints";
        case ReasonCode::resources:
            return "resources";
        case ReasonCode::host_port:
            return "ports";
        case ReasonCode::volume:
            return "volumes";
        case ReasonCode::topology_spread:
            return "topology spread";
        case ReasonCode::pod_affinity:
        case ReasonCode::pod_anti_affinity:
            return "pod affinity";
        default:
            return "none of the scheduler's";
    }
}

std::string kind_of(const std::string& plugin) {
    static const std::map<std::string, std::string> kinds{
        {"NodeAffinity", "node affinity"},
        {"NodeUnschedulable", "taints"},
        {"TaintToleration", "taints"},
        {"NodeResourcesFit", "resources"},
        {"NodePorts", "ports"},
        {"VolumeBinding", "volumes"},
        {"VolumeZone", "volumes"},
        {"VolumeRestrictions", "volumes"},
        {"NodeVolumeLimits", "volumes"},
        {"PodTopologySpread", "topology spread"},
        {"InterPodAffinity", "pod affinity"},
    };
    const auto found = kinds.find(plugin);
    return found == kinds.end() ? plugin : found->second;
}

/// All of a list of the document, by the decoder of its kind.
template <class Object>
std::vector<Object> read(const json::object& cluster, const char* list,
                         Result<Object> (*decoder)(kube::JsonObject&)) {
    std::vector<Object> out;
    for (const auto& each : cluster.at(list).as_array()) {
        auto text = json::serialize(each);
        auto object = kube::decode_text(text, decoder);
        EXPECT_TRUE(object) << object.error().message << "\n" << text;
        if (object) {
            out.push_back(std::move(*object));
        }
    }
    return out;
}

scheduling::Cluster cluster_of(const json::object& document) {
    const SchedulingObjects objects{
        .pods = read(document, "pods", &decode_scheduled_pod),
        .wishes = {},
        .rooms = read(document, "nodes", &decode_node_room),
        .csi_nodes = read(document, "csiNodes", &decode_csi_node),
        .claims = read(document, "persistentVolumeClaims", &decode_volume_claim),
        .volumes = read(document, "persistentVolumes", &decode_persistent_volume),
        .classes = read(document, "storageClasses", &decode_storage_class),
        .attachments = read(document, "volumeAttachments", &decode_volume_attachment)};
    return scheduling_cluster(objects, read(document, "nodes", &kube::decode_node),
                              read(document, "namespaces", &kube::decode_labelled));
}

struct Answer {
    Kinds kinds;
    bool open = false;  ///< something cannot be told
};

std::map<std::string, Answer> ours(const json::object& document) {
    const auto cluster = cluster_of(document);
    auto text = json::serialize(document.at("pod"));
    const auto pod = kube::decode_text(text, &decode_scheduled_pod);
    EXPECT_TRUE(pod) << text;
    const scheduling::Filters filters(cluster);
    const auto ready = filters.prepare(pod->pod);
    std::map<std::string, Answer> out;
    for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
        auto& answer = out[cluster.nodes[i].name];
        for (const auto& [verdict, reason] : ready.judge(i)) {
            if (verdict == Verdict::unknown) {
                answer.open = true;
            } else {
                answer.kinds.insert(kind_of(reason.code));
            }
        }
    }
    return out;
}

std::map<std::string, Kinds> theirs(const std::string& line) {
    const auto answer = json::parse(line).as_object();
    EXPECT_TRUE(answer.contains("nodes")) << line;
    std::map<std::string, Kinds> out;
    for (const auto& [name, verdict] : answer.at("nodes").as_object()) {
        auto& kinds = out[std::string{name}];
        if (const auto* failed = verdict.as_object().if_contains("failed")) {
            for (const auto& each : failed->as_array()) {
                kinds.insert(kind_of(std::string{each.at("plugin").as_string()}));
            }
        }
        EXPECT_EQ(kinds.empty(), verdict.at("fits").as_bool()) << line;
    }
    return out;
}

struct Tally {
    int pairs = 0;
    int fit = 0;
    int open = 0;
    std::map<std::string, int> kinds;
};

void compare(const json::object& document, const std::string& line, Tally& tally) {
    const auto expected = theirs(line);
    const auto found = ours(document);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [node, answer] : found) {
        const auto& kinds = expected.at(node);
        ++tally.pairs;
        tally.fit += kinds.empty() ? 1 : 0;
        for (const auto& kind : kinds) {
            ++tally.kinds[kind];
        }
        if (answer.open && answer.kinds.empty()) {
            ++tally.open;
            continue;
        }
        if (answer.open) {
            // What is open is one of those that the scheduler knows of.
            EXPECT_THAT(kinds, testing::IsSupersetOf(answer.kinds));
        } else {
            EXPECT_EQ(answer.kinds, kinds) << node << " of " << json::serialize(document) << "\n"
                                           << line;
        }
    }
}

TEST(BedSchedulingTest, IsWhereTheSchedulersOwnFiltersSay) {
    SCOUT_BED_OR_SKIP();
    scout::test::RandomCluster random(seed);
    std::vector<json::object> documents;
    std::vector<std::string> questions;
    for (int i = 0; i < clusters; ++i) {
        questions.push_back(json::serialize(documents.emplace_back(random.make())));
    }
    const auto answers = scout::test::ask_kubernetes("filters", questions);
    ASSERT_EQ(answers.size(), documents.size());
    Tally tally;
    for (std::size_t i = 0; i < documents.size() && !HasFailure(); ++i) {
        compare(documents[i], answers[i], tally);
    }
    std::string kinds;
    for (const auto& [kind, count] : tally.kinds) {
        kinds += ", " + kind + " " + std::to_string(count);
        EXPECT_GE(count * 50, tally.pairs) << kind << " decides too seldom";
    }
    RecordProperty("pairs", tally.pairs);
    std::printf("%d pairs of pods and nodes, %d fit, %d cannot be told%s\n", tally.pairs, tally.fit,
                tally.open, kinds.c_str());
    EXPECT_EQ(tally.kinds.size(), 7U) << kinds;
    EXPECT_LE(tally.open * 100, tally.pairs);
    EXPECT_GE(tally.fit * 20, tally.pairs) << "too few fit at all";
}

}  // namespace
}  // namespace scout::cluster
