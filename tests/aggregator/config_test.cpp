// SPDX-License-Identifier: Apache-2.0
#include "aggregator/config.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

Config good() {
    Config config;
    config.standalone = true;
    config.plaintext = true;
    config.state_dir = std::filesystem::temp_directory_path();
    return config;
}

bool faults_name(const Config& config, const std::string& key) {
    const auto faults = validate(config);
    return std::any_of(faults.begin(), faults.end(),
                       [&key](const auto& fault) { return fault.key == key; });
}

TEST(ConfigTest, DefaultsNeedOnlyAModeAndAWord) {
    EXPECT_TRUE(validate(good()).empty());
    EXPECT_TRUE(faults_name(Config{}, "standalone"));
    auto both = good();
    both.cluster = true;
    EXPECT_TRUE(faults_name(both, "standalone"));
    both.standalone = false;
    EXPECT_TRUE(validate(both).empty());
    EXPECT_TRUE(faults_name(Config{}, "listen-grpc"));
}

TEST(ConfigTest, PlacesAndNamesAreLookedAt) {
    const test::TemporaryFolder folder;
    const auto file = folder.write("file", "");
    auto config = good();
    config.documents = {file.string(), (folder.path() / "absent").string()};
    config.sample_documents = folder.path() / "absent";
    config.cpu_map = file;
    config.machine_type = std::string(100'000, 'q');
    config.state_dir = file;
    config.snapshot_file = "../a.snapshot";

    const auto faults = validate(config);

    ASSERT_EQ(faults.size(), 6U);
    for (const std::string key : {"documents", "sample-documents", "cpu-map", "machine-type",
                                  "state-dir", "snapshot-file"}) {
        EXPECT_TRUE(faults_name(config, key)) << key;
    }
    for (const auto& fault : faults) {
        EXPECT_LT(fault.text.size(), 1000U);
        EXPECT_NE(fault.text.find("expected"), std::string::npos) << fault.text;
    }
}

TEST(ConfigTest, SnapshotFileIsAPlainNameOrNone) {
    auto config = good();
    for (const auto& name :
         std::vector<std::string>{"/var/a.snapshot", "b/a", ".", "..", std::string(300, 'x')}) {
        config.snapshot_file = name;
        EXPECT_TRUE(faults_name(config, "snapshot-file")) << name;
    }
    for (const std::string name : {"", "a.snapshot", ".hidden"}) {
        config.snapshot_file = name;
        EXPECT_FALSE(faults_name(config, "snapshot-file")) << name;
    }
}

TEST(ConfigTest, AllFaultsAreToldAtOnce) {
    auto config = good();
    config.standalone = false;
    config.listen_grpc = "0.0.0.0:9286";
    config.query_socket = "/" + std::string(107, 'x');
    config.listen_http = "nowhere";
    config.gone_after = 10s;
    config.forget_after = 5s;

    for (const std::string key : {"standalone", "listen-grpc", "query-socket", "listen-http",
                                  "gone-after", "forget-after"}) {
        EXPECT_TRUE(faults_name(config, key)) << key;
    }
    EXPECT_EQ(validate(config).size(), 6U);
}

TEST(ConfigTest, SocketWhoseFolderIsTooLongToListenInIsTold) {
    auto config = good();
    config.query_socket = "/" + std::string(96, 'x') + "/a";
    EXPECT_FALSE(faults_name(config, "query-socket"));

    config.query_socket = "/" + std::string(97, 'x') + "/a";
    config.listen_grpc = "unix:" + config.query_socket.string();
    config.plaintext = false;

    EXPECT_TRUE(faults_name(config, "query-socket"));
    EXPECT_TRUE(faults_name(config, "listen-grpc"));
}

TEST(ConfigTest, TlsNeedsAllThreeFilesAndExcludesPlaintext) {
    auto config = good();
    config.tls_ca = "ca.pem";
    config.tls_cert = "cert.pem";
    config.tls_key = "key.pem";
    EXPECT_TRUE(faults_name(config, "listen-grpc"));

    config.plaintext = false;
    config.listen_grpc = "0.0.0.0:9286";

    EXPECT_TRUE(validate(config).empty());
    EXPECT_EQ(config.security().tls->certificate, "cert.pem");
    config.tls_key.clear();
    EXPECT_TRUE(faults_name(config, "listen-grpc"));
}

TEST(ConfigTest, NodeWhoseAgentIsWellIsNeverStale) {
    Config config;
    daemon::Origins origins;

    const auto faults = daemon::read_config_text("stale-after: 24s\nforget-after: 25s\n", "a.yaml",
                                                 settings(config), origins);

    ASSERT_EQ(faults.size(), 1U);
    EXPECT_EQ(faults.front().key, "stale-after");
}

constexpr const char* every_key = R"(
standalone: false
cluster: true
kubeconfig: /k
context: c
cluster-namespace: n
level-labels: truth
listen-grpc: unix:/run/a.sock
query-socket: ""
listen-http: 127.0.0.1:0
listen-https: 127.0.0.1:0
https-names: [a.example, 10.0.0.1]
documents: [/, /]
sample-documents: /
cpu-map: /
machine-type: q35
state-dir: /state
snapshot-file: ""
snapshot-every: 1m
stale-after: 1m
gone-after: 1h
forget-after: 2d
log-level: debug
)";

TEST(ConfigTest, FileFillsEveryKey) {
    Config config;
    const auto list = settings(config);
    daemon::Origins origins;
    const auto faults = daemon::read_config_text(every_key, "a.yaml", list, origins);

    ASSERT_TRUE(faults.empty()) << faults.front().text;
    EXPECT_EQ(config.kubeconfig, "/k");
    EXPECT_EQ(config.context + config.cluster_namespace + config.level_labels, "cntruth");
    EXPECT_TRUE(config.query_socket.empty());
    EXPECT_EQ(config.https_names.size(), 2U);
    EXPECT_EQ(config.documents.size(), 2U);
    EXPECT_EQ(config.machine_type, "q35");
    EXPECT_EQ(config.snapshot_path(), std::nullopt);
    EXPECT_EQ(config.gone_after, 1h);
    EXPECT_EQ(config.log.level, "debug");
    EXPECT_TRUE(validate(config).empty());
}

TEST(ConfigTest, AgentsOfAClusterShowTokensUnlessSomethingElseIsAskedFor) {
    Config config;
    config.standalone = true;
    EXPECT_FALSE(config.takes_tokens());
    config.standalone = false;
    config.cluster = true;
    EXPECT_TRUE(config.takes_tokens());
    EXPECT_EQ(config.security().tls->side, wire::TlsSide::server);

    config.plaintext = true;
    EXPECT_FALSE(config.takes_tokens());
    config.plaintext = false;
    config.tls_cert = "cert.pem";
    config.tls_key = "key.pem";
    EXPECT_TRUE(config.takes_tokens());
    EXPECT_EQ(config.security().tls->certificate, "cert.pem");
    EXPECT_FALSE(faults_name(config, "listen-grpc"));
    config.tls_key.clear();
    EXPECT_TRUE(faults_name(config, "listen-grpc")) << "half of a pair";
    config.tls_key = "key.pem";
    config.tls_ca = "ca.pem";
    EXPECT_FALSE(config.takes_tokens());
    config.tls_ca.clear();
    config.listen_grpc = "unix:/run/a.sock";
    EXPECT_FALSE(config.takes_tokens());
}

TEST(ConfigTest, OnlyAClusterAsksByHttps) {
    Config config;
    config.standalone = true;
    config.plaintext = true;
    config.listen_https = "127.0.0.1:8443";
    EXPECT_TRUE(faults_name(config, "listen-https"));

    config.standalone = false;
    config.cluster = true;
    EXPECT_FALSE(faults_name(config, "listen-https"));
    config.listen_https = "8443";
    EXPECT_TRUE(faults_name(config, "listen-https"));
}

TEST(ConfigTest, SnapshotLiesInTheStateFolder) {
    EXPECT_EQ(Config{}.snapshot_path(), "/var/lib/virt-scout/aggregator.snapshot");
}

}  // namespace
}  // namespace scout::aggregator
