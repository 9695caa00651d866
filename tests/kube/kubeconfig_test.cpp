// SPDX-License-Identifier: Apache-2.0
#include "kube/kubeconfig.h"

#include <gmock/gmock.h>

#include "tests/support/temporary_folder.h"

namespace scout::kube {
namespace {

using testing::HasSubstr;

constexpr std::string_view two_contexts = R"(
apiVersion: v1
kind: Config
current-context: prod
clusters:
- name: prod-cluster
  cluster:
    server: https://api.prod:6443/prefix/
    certificate-authority-data: Y2E=
    tls-server-name: kubernetes
    proxy-url: http://proxy:3128
- name: local
  cluster: {server: "http://127.0.0.1:8001"}
contexts:
- name: prod
  context: {cluster: prod-cluster, user: admin, namespace: vms}
- name: lab
  context: {cluster: local}
users:
- name: admin
  user:
    client-certificate-data: Y2VydA==
    client-key-data: a2V5
    token: secret
    as: eve
    as-uid: "7"
    as-groups: [a, b]
    as-user-extra: {Scopes/x: [one, two]}
)";

class KubeconfigTest : public testing::Test {
protected:
    [[nodiscard]] KubeconfigFile file(std::string_view text, std::string_view name = "config") {
        return {.path = folder.write(name, text), .text = std::string{text}};
    }
    /// A config with this cluster and user.
    [[nodiscard]] KubeconfigFile one(const std::string& cluster, const std::string& user) {
        return file("current-context: x\nclusters: [{name: c, cluster: {" + cluster +
                    "}}]\nusers: [{name: u, user: {" + user +
                    "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n");
    }
    [[nodiscard]] std::string faults(const KubeconfigFile& config,
                                     const AccessOptions& options = {}) {
        const auto access = access_from_kubeconfig({config}, options);
        EXPECT_FALSE(access);
        EXPECT_EQ(access ? Errc::internal : access.error().code, Errc::invalid);
        return access ? "none" : access.error().message;
    }

    test::TemporaryFolder folder;
};

const std::string server = "server: \"https://a:1\"";

TEST_F(KubeconfigTest, ReadsTheCurrentContext) {
    const auto access = access_from_kubeconfig({file(two_contexts)}, {});

    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->origin, "context prod of " + (folder.path() / "config").string());
    EXPECT_TRUE(access->server.tls);
    EXPECT_EQ(access->server.host, "api.prod");
    EXPECT_EQ(access->server.port, 6443);
    EXPECT_EQ(access->server.prefix, "/prefix");
    EXPECT_EQ(access->tls_server_name, "kubernetes");
    EXPECT_EQ(access->authority.text, "ca");
    EXPECT_EQ(access->proxy.value().host, "proxy");
    EXPECT_EQ(access->client_certificate.text, "cert");
    EXPECT_EQ(access->client_key.text, "key");
    EXPECT_EQ(access->token, "secret");
    EXPECT_EQ(access->space, "vms");
    EXPECT_FALSE(access->insecure);
    const std::vector<std::pair<std::string, std::string>> impersonation = {
        {"Impersonate-User", "eve"},
        {"Impersonate-Uid", "7"},
        {"Impersonate-Group", "a"},
        {"Impersonate-Group", "b"},
        {"Impersonate-Extra-Scopes%2Fx", "one"},
        {"Impersonate-Extra-Scopes%2Fx", "two"}};
    EXPECT_EQ(access->impersonation, impersonation);
}

TEST_F(KubeconfigTest, ReadsTheContextThatWasChosen) {
    const auto access = access_from_kubeconfig({file(two_contexts)}, {.context = "lab"});

    ASSERT_TRUE(access) << access.error().message;
    EXPECT_FALSE(access->server.tls);
    EXPECT_EQ(access->server.authority(), "127.0.0.1:8001");
    EXPECT_TRUE(access->token.empty());
}

TEST_F(KubeconfigTest, OfTwoEntriesWithOneNameTheFirstFilesCountsWhole) {
    const auto first = file(R"(
users: [{name: u, user: {token: first}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
)",
                            "first");
    const auto second = file(R"(
current-context: x
clusters: [{name: c, cluster: {server: "https://second"}}]
users: [{name: u, user: {token: second, as: eve}}]
contexts: [{name: x, context: {cluster: other, user: u, namespace: second}}]
)",
                             "second");

    const auto access = access_from_kubeconfig({first, second}, {});

    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->token, "first");
    EXPECT_TRUE(access->impersonation.empty());
    EXPECT_EQ(access->space, "");
    EXPECT_EQ(access->server.host, "second");
}

TEST_F(KubeconfigTest, PathsStartAtTheFileThatSaysThem) {
    folder.write("sub/pki/ca.crt", "ca");
    folder.write("sub/token", "t");
    const auto config = file(R"(
current-context: x
clusters: [{name: c, cluster: {server: "https://a", certificate-authority: pki/ca.crt}}]
users:
- name: u
  user:
    tokenFile: token
    exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./bin/login, args: [a, "1"],
           env: [{name: A, value: b}], provideClusterInfo: true, installHint: get it}
contexts: [{name: x, context: {cluster: c, user: u}}]
)",
                             "sub/config");

    const auto access = access_from_kubeconfig({config}, {});

    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->authority.file, folder.path() / "sub/pki/ca.crt");
    EXPECT_EQ(access->token_file, folder.path() / "sub/token");
    ASSERT_TRUE(access->exec);
    EXPECT_EQ(std::filesystem::path{access->exec->command}.lexically_normal(),
              folder.path() / "sub/bin/login");
    EXPECT_EQ(access->exec->arguments, (std::vector<std::string>{"a", "1"}));
    EXPECT_EQ(access->exec->environment, (std::vector<std::string>{"A=b"}));
    EXPECT_TRUE(access->exec->gets_cluster);
    EXPECT_EQ(access->exec->install_hint, "get it");
}

TEST_F(KubeconfigTest, APluginWithoutASlashIsLookedForInThePath) {
    const auto access = access_from_kubeconfig(
        {one(server,
             "exec: {apiVersion: client.authentication.k8s.io/v1, command: login, "
             "interactiveMode: IfAvailable}")},
        {});

    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->exec->command, "login");
}

TEST_F(KubeconfigTest, SaysThatPluginsGetNoConfigurationFromTheCluster) {
    const std::string cluster =
        server + ", extensions: [{name: client.authentication.k8s.io/exec, extension: {a: b}}]";
    const std::string plugin =
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: c, interactiveMode: Never";

    EXPECT_TRUE(access_from_kubeconfig({one(cluster, plugin + "}")}, {}));
    EXPECT_THAT(faults(one(cluster, plugin + ", provideClusterInfo: true}")),
                HasSubstr("cluster c: extensions: name: configuration for credential plugins"));
}

TEST_F(KubeconfigTest, UncheckedCertificatesNeedTheCallersWordToo) {
    const auto config = one(server + ", insecure-skip-tls-verify: true", "token: a");
    EXPECT_THAT(faults(config), HasSubstr("cluster c: insecure-skip-tls-verify"));

    const auto access = access_from_kubeconfig({config}, {.allow_insecure = true});
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_TRUE(access->insecure);

    const auto checked = access_from_kubeconfig({one(server, "")}, {.allow_insecure = true});
    ASSERT_TRUE(checked);
    EXPECT_FALSE(checked->insecure) << "the flag alone changes nothing";
}

TEST_F(KubeconfigTest, TellsEveryFaultWithFileEntryAndKey) {
    const auto text = faults(one(
        "server: \"api:6443\", certificate-authority: gone.crt, proxy-url: \"socks5://p:1\"",
        "client-certificate-data: \"%%%\", tokenFile: gone, username: u, auth-provider: {name: x}, "
        "as-groups: [g], exec: {apiVersion: v1, interactiveMode: Always}"));

    const auto path = (folder.path() / "config").string();
    for (const std::string& expected :
         {path + ": cluster c: server: expected a URL",
          path + ": cluster c: certificate-authority: " + (folder.path() / "gone.crt").string(),
          path + ": cluster c: proxy-url: expected a proxy URL",
          path + ": user u: client-certificate-data: expected base64",
          path + ": user u: tokenFile: ", path + ": user u: username: ",
          path + ": user u: auth-provider: ", path + ": user u: as: expected a user name",
          path + ": user u: exec: apiVersion: expected client.authentication.k8s.io/v1 or",
          path + ": user u: exec: command: expected a program",
          path + ": user u: exec: interactiveMode: the plugin wants a terminal"}) {
        EXPECT_THAT(text, HasSubstr(expected));
    }
}

TEST_F(KubeconfigTest, TellsContradictions) {
    folder.write("ca.crt", "ca");
    EXPECT_THAT(faults(one(server + ", certificate-authority: ca.crt, "
                                    "certificate-authority-data: Y2E=",
                           "")),
                HasSubstr("expected this or certificate-authority-data, found both"));
    EXPECT_THAT(faults(one(server + ", certificate-authority: ca.crt, "
                                    "insecure-skip-tls-verify: true",
                           ""),
                       {.allow_insecure = true}),
                HasSubstr("expected none beside insecure-skip-tls-verify"));
    EXPECT_THAT(faults(one(server, "client-certificate-data: Y2VydA==")),
                HasSubstr("user u: client-key: expected a certificate and its key"));
    EXPECT_THAT(faults(one(server, "as: \"a\\x01b\"")), HasSubstr("control character"));
    EXPECT_THAT(faults(one(server, "as: \"a\\nX-Header: b\"")), HasSubstr("control character"));
    EXPECT_THAT(faults(one("server: \"http://api.prod\"", "")), HasSubstr("expected https"));
    EXPECT_THAT(
        faults(one(server, "exec: {apiVersion: client.authentication.k8s.io/v1, command: c}")),
        HasSubstr("interactiveMode: expected Never"));
}

TEST_F(KubeconfigTest, NamesTheContextsClustersAndUsersThatThereAre) {
    EXPECT_THAT(faults(file(two_contexts), {.context = "nope"}),
                HasSubstr("the name of a context, found nope; known: lab, prod"));
    EXPECT_THAT(faults(file("contexts: [{name: x, context: {cluster: c}}]")),
                HasSubstr("no current-context is set; choose a context, known: x"));
    const auto text =
        faults(file("current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
                    "users: [{name: other, user: {}}]"));
    EXPECT_THAT(text, HasSubstr("context x: cluster: expected the name of a cluster, found c; "
                                "there is none"));
    EXPECT_THAT(text, HasSubstr("context x: user: expected the name of a user, found u; "
                                "known: other"));
}

TEST_F(KubeconfigTest, RefusesWhatIsNoKubeconfig) {
    EXPECT_THAT(faults(file("a: [")), HasSubstr("not YAML, line"));
    EXPECT_THAT(faults(file("- a")), HasSubstr("expected a kubeconfig"));
    EXPECT_THAT(faults(file("kind: Pod")), HasSubstr("kind: expected Config, found Pod"));
    EXPECT_THAT(faults(file("clusters: {a: b}")), HasSubstr("clusters: expected a list"));
    EXPECT_THAT(faults(file("clusters: [x]")), HasSubstr("expected lines 'key: value'"));
    EXPECT_THAT(faults(file("users: [{name: u}, {name: u}]")), HasSubstr("u is given twice"));
    EXPECT_THAT(faults(file(std::string(kubeconfig_limit + 1, '#'))), HasSubstr("1048576 bytes"));
    EXPECT_THAT(faults(file("")), HasSubstr("there is none"));
    EXPECT_THAT(faults(file("current-context: x\ncontexts: [{name: x, context: 3}]")),
                HasSubstr("context x: expected lines 'key: value'"));
}

TEST_F(KubeconfigTest, AFaultInAnEntryThatIsNotUsedHarmsNobody) {
    auto text =
        std::string{two_contexts} + "- name: broken\n  user: {token: [a], tokenFile: gone}\n";

    EXPECT_TRUE(access_from_kubeconfig({file(text)}, {}));
}

TEST_F(KubeconfigTest, CutsAFloodOfFaults) {
    std::string text = "users:\n";
    for (int i = 0; i < 1000; ++i) {
        text += "- {name: \"\"}\n";
    }

    const auto message = faults(file(text));

    EXPECT_THAT(message, HasSubstr("and 980 more"));
    EXPECT_LT(message.size(), 10'000U);
}

TEST_F(KubeconfigTest, LooksWhereKubectlLooks) {
    const auto first = folder.write("first", "a");
    const auto second = folder.write("second", "b");
    const auto home = folder.write("home/.kube/config", "h").parent_path().parent_path();

    const auto list = "gone::" + second.string() + ":" + first.string() + ":" + second.string();
    const auto several = read_kubeconfigs({.environment = list, .home = home});
    ASSERT_TRUE(several) << several.error().message;
    ASSERT_EQ(several->size(), 2U);
    EXPECT_EQ((*several)[0].path, second);
    EXPECT_EQ((*several)[1].text, "a");

    EXPECT_EQ(read_kubeconfigs({.home = home}).value().at(0).text, "h");
    EXPECT_EQ(read_kubeconfigs({.chosen = first, .environment = list}).value().size(), 1U);
}

TEST_F(KubeconfigTest, SaysWhereItLookedInVain) {
    const auto none = read_kubeconfigs({.environment = "gone", .home = folder.path()});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::not_found);
    EXPECT_THAT(none.error().message, HasSubstr("looked for gone"));
    EXPECT_EQ(read_kubeconfigs({}).error().code, Errc::not_found);
    EXPECT_EQ(read_kubeconfigs({.chosen = folder.path() / "x"}).error().code, Errc::not_found);
    EXPECT_EQ(read_kubeconfigs({.environment = folder.path().string()}).error().code,
              Errc::invalid);
}

}  // namespace
}  // namespace scout::kube
