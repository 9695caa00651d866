// SPDX-License-Identifier: Apache-2.0
#include "agent/config.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/command_line.h"
#include "tests/support/temporary_folder.h"

namespace scout::agent {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string all_of(const daemon::Faults& faults) {
    std::string text;
    for (const auto& fault : faults) {
        text += fault.key + ": " + fault.text + "\n";
    }
    return text;
}

TEST(AgentConfigTest, HasGoodDefaultsAndTakesTheHostsName) {
    const test::TemporaryFolder folder;
    AgentConfig config;
    config.state_dir = folder.path();

    EXPECT_THAT(validate(config), IsEmpty());
    EXPECT_FALSE(config.node_name.empty());
    EXPECT_EQ(config.libvirt_uri, "qemu:///embed");
}

TEST(AgentConfigTest, AKubeletIsLookedAtWhereItsRootIsNamed) {
    const test::TemporaryFolder folder;
    AgentConfig config;
    config.state_dir = folder.path();
    EXPECT_FALSE(pressure_of(config));
    config.images_dir = "/images";
    EXPECT_THAT(all_of(validate(config)), HasSubstr("images-dir: expected also kubelet-root"));
    config.kubelet_root = "/kubelet";
    EXPECT_THAT(validate(config), IsEmpty());
    const auto pressure = pressure_of(config).value();
    EXPECT_EQ(pressure.roots.proc, "/proc");
    EXPECT_EQ(pressure.roots.images, "/images");
    EXPECT_EQ(pressure.kubelet.file, "/kubelet/config.yaml");
    EXPECT_FALSE(pressure.kubelet.file_must_be);
    config.kubelet_config = "kubelet.conf";
    EXPECT_TRUE(pressure_of(config).value().kubelet.file_must_be);
    EXPECT_THAT(all_of(validate(config)), HasSubstr("kubelet-config: expected an absolute path"));
}

TEST(AgentConfigTest, EmptyNodeNameIsNotTheHostsName) {
    AgentConfig config;
    std::ostringstream out;
    std::ostringstream err;

    const auto code = daemon::configure(
        {.name = "agent"}, {"--node-name="}, settings_of(config), [&] { return validate(config); },
        out, err);

    EXPECT_EQ(code, daemon::exit_bad_config);
    EXPECT_THAT(err.str(), HasSubstr("--node-name: expected a name"));
}

TEST(AgentConfigTest, ListsEveryFaultAtOnce) {
    AgentConfig config;
    config.node_name = "a b";
    config.state_dir = "relative";
    config.host_root = "";
    config.labeller_dir = "relative";
    config.aggregator_address = "nowhere";
    config.listen_http = "9291";

    const auto text = all_of(validate(config));

    for (const auto* key : {"node-name: ", "state-dir: ", "host-root: ", "labeller-dir: ",
                            "aggregator-address: ", "listen-http: "}) {
        EXPECT_THAT(text, HasSubstr(key));
    }
}

TEST(AgentConfigTest, GuestsAreWatchedInOnePlace) {
    const test::TemporaryFolder folder;
    AgentConfig config;
    config.state_dir = folder.path();
    config.pods_dir = "/pods";
    EXPECT_THAT(validate(config), IsEmpty());

    config.guests_uri = "qemu:///system";
    EXPECT_THAT(all_of(validate(config)), HasSubstr("pods-dir: expected one place"));
    config.guests_uri.clear();
    config.pods_dir = "pods";
    EXPECT_THAT(all_of(validate(config)), HasSubstr("pods-dir: expected an absolute path"));
}

TEST(AgentConfigTest, HookNeedsLaunchersAndAPathThatASocketMayHave) {
    const test::TemporaryFolder folder;
    AgentConfig config;
    config.state_dir = folder.path();
    config.hook_socket = "/var/run/kubevirt/plugins/virt-scout.sock";
    EXPECT_THAT(all_of(validate(config)), HasSubstr("hook-socket: expected also pods-dir"));

    config.pods_dir = "/pods";
    EXPECT_THAT(validate(config), IsEmpty());
    config.hook_socket = "/" + std::string(120, 'x');
    EXPECT_THAT(all_of(validate(config)), HasSubstr("hook-socket: expected a unix socket path"));
    config.hook_socket = "hook.sock";
    EXPECT_THAT(all_of(validate(config)), HasSubstr("hook-socket: expected an absolute path"));
}

TEST(AgentConfigTest, BandwidthIsAQuantityAboveZero) {
    const test::TemporaryFolder folder;
    AgentConfig config;
    config.state_dir = folder.path();
    for (const auto* wrong : {"", "fast", "-1", "0"}) {
        config.migration_bandwidth = wrong;
        EXPECT_THAT(all_of(validate(config)), HasSubstr("migration-bandwidth: ")) << wrong;
    }
    config.migration_bandwidth = "64Mi";
    EXPECT_THAT(validate(config), IsEmpty());
}

TEST(AgentConfigTest, RefusesPlaintextToAnotherMachine) {
    const test::TemporaryFolder folder;
    AgentConfig config;
    config.state_dir = folder.path();
    config.aggregator_address = "192.0.2.1:9286";
    EXPECT_THAT(all_of(validate(config)), HasSubstr("TLS"));

    config.tls_ca = "/ca.pem";
    EXPECT_THAT(all_of(validate(config)), HasSubstr("expected also tls-cert tls-key"));
    config.tls_ca.clear();
    config.plaintext = true;
    EXPECT_THAT(all_of(validate(config)), HasSubstr("plaintext is refused"));

    config.aggregator_address = "127.0.0.1:9286";
    EXPECT_THAT(validate(config), IsEmpty());
    config.plaintext = false;
    config.aggregator_address = "unix:/run/virt-scout/agents.sock";
    EXPECT_THAT(validate(config), IsEmpty());
}

TEST(AgentConfigTest, ATokenGoesOverTlsInThePlaceOfACertificate) {
    const test::TemporaryFolder folder;
    AgentConfig config;
    config.state_dir = folder.path();
    config.aggregator_address = "scout.example:9286";
    config.tls_ca = "/ca.pem";
    EXPECT_THAT(all_of(validate(config)),
                HasSubstr("expected also tls-cert tls-key, or token-file"));

    std::ostringstream out;
    std::ostringstream err;
    const auto code = daemon::configure(
        {.name = "agent"}, {"--token-file=/token"}, settings_of(config),
        [&] { return validate(config); }, out, err);
    EXPECT_EQ(code, std::nullopt) << err.str();
    EXPECT_EQ(config.token_file, "/token");
    EXPECT_EQ(security_of(config).tls.value().side, wire::TlsSide::client);

    config.tls_cert = "/cert.pem";
    EXPECT_THAT(all_of(validate(config)),
                HasSubstr("token-file: expected one proof of who this agent is, found a token and "
                          "a certificate"));
    config.tls_cert.clear();
    config.tls_ca.clear();
    EXPECT_THAT(all_of(validate(config)), HasSubstr("token-file: expected also tls-ca"));
}

TEST(AgentConfigTest, ATokenNeverGoesOverPlaintext) {
    const test::TemporaryFolder folder;
    AgentConfig config;
    config.state_dir = folder.path();
    config.token_file = "/token";
    config.aggregator_address = "127.0.0.1:9286";
    config.plaintext = true;
    EXPECT_THAT(all_of(validate(config)), HasSubstr("a token goes over TLS only, and plaintext"));

    config.plaintext = false;
    config.aggregator_address = "unix:/run/virt-scout/agents.sock";
    EXPECT_THAT(all_of(validate(config)), HasSubstr("a token goes over TLS only, and a unix"));

    config.aggregator_address.clear();
    EXPECT_THAT(validate(config), IsEmpty()) << "it goes nowhere";
}

TEST(AgentConfigTest, ServesWithTlsOnlyWhereACertificateIsSigned) {
    const test::TemporaryFolder folder;
    AgentConfig config;
    config.state_dir = folder.path();
    config.listen_https = "9292";
    EXPECT_THAT(all_of(validate(config)),
                HasSubstr("listen-https: expected also aggregator-address and token-file"));
    EXPECT_THAT(all_of(validate(config)), HasSubstr("found 9292"));

    config.listen_https = "0.0.0.0:9292";
    config.aggregator_address = "scout.example:9286";
    config.tls_ca = "/ca.pem";
    config.token_file = "/token";
    EXPECT_THAT(validate(config), IsEmpty());
}

TEST(AgentConfigTest, ReadsEveryKeyFromTheFile) {
    const test::TemporaryFolder folder;
    const auto file = folder.write("agent.yaml",
                                   "node-name: n1\n"
                                   "libvirt-uri: test:///default\n"
                                   "guests-uri: qemu:///system\n"
                                   "state-dir: " +
                                       folder.path().string() +
                                       "\n"
                                       "labeller-dir: \"\"\n"
                                       "pods-dir: \"\"\n"
                                       "hook-socket: \"\"\n"
                                       "migration-bandwidth: 64Mi\n"
                                       "host-root: /host\n"
                                       "aggregator-address: scout.example:9286\n"
                                       "tls-ca: /ca\ntls-cert: /cert\ntls-key: /key\n"
                                       "tls-server-name: scout\n"
                                       "plaintext: false\n"
                                       "listen-http: \"127.0.0.1:0\"\n"
                                       "probe-interval: 5m\n"
                                       "log-level: debug\nlog-format: json\n");
    AgentConfig config;
    std::ostringstream out;
    std::ostringstream err;

    const auto code = daemon::configure(
        {.name = "agent"}, {"--config", file.string(), "--node-name=n2"}, settings_of(config),
        [&] { return validate(config); }, out, err);

    EXPECT_EQ(code, std::nullopt) << err.str();
    EXPECT_EQ(config.node_name, "n2");
    EXPECT_EQ(config.guests_uri, "qemu:///system");
    EXPECT_EQ(config.labeller_dir, "");
    EXPECT_EQ(config.probe_interval, std::chrono::minutes{5});
    EXPECT_EQ(config.log.format, "json");
    EXPECT_EQ(security_of(config).tls.value().certificate, "/cert");
}

}  // namespace
}  // namespace scout::agent
