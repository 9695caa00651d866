// SPDX-License-Identifier: Apache-2.0
#include "kube/access.h"

#include <gmock/gmock.h>

#include "kube/find_access.h"
#include "tests/support/temporary_folder.h"

namespace scout::kube {
namespace {

using testing::HasSubstr;

TEST(AccessTest, ReadsServerUrls) {
    const auto plain = parse_server_url("https://api.example", false).value();
    EXPECT_TRUE(plain.tls);
    EXPECT_EQ(plain.host, "api.example");
    EXPECT_EQ(plain.authority(), "api.example:443");
    EXPECT_EQ(plain.prefix, "");

    const auto v6 = parse_server_url("https://[fd00::1]:6443/k8s/c%2D1/", false).value();
    EXPECT_EQ(v6.host, "fd00::1");
    EXPECT_EQ(v6.authority(), "[fd00::1]:6443");
    EXPECT_EQ(v6.prefix, "/k8s/c%2D1");
}

TEST(AccessTest, RefusesServerUrlsThatCannotBeMeant) {
    for (const std::string text :
         {"", "api.example:6443", "https://", "ftp://a", "https://a:0", "https://a:70000",
          "https://u:p@a", "https://a/?x=y", "https://a/#x", "https://a b", "https://a%0ab",
          "https://a:x", "https://a:", "https://[::1", "https://[::1%eth0]", "https://[a]",
          "https://::1", "https://a@b@c", "/path"}) {
        const auto server = parse_server_url(text, true);
        ASSERT_FALSE(server) << text;
        EXPECT_EQ(server.error().code, Errc::invalid);
        EXPECT_THAT(server.error().message, HasSubstr("https://host:6443"));
    }
    EXPECT_FALSE(parse_server_url("https://" + std::string(3000, 'a'), false));
}

TEST(AccessTest, ANameThatBeginsWithAnAddressIsAName) {
    EXPECT_EQ(parse_server_url("https://10.0.0.1.nip.io:6443/p", false).value().host,
              "10.0.0.1.nip.io");
}

TEST(AccessTest, SendsNothingInTheClearBeyondThisMachine) {
    for (const std::string host : {"localhost", "127.0.0.1:8001", "127.9.9.9", "[::1]"}) {
        EXPECT_TRUE(parse_server_url("http://" + host, false)) << host;
    }
    for (const std::string host : {"localhost.example", "10.0.0.1", "[fd00::1]", "127.0.0.1.nip"}) {
        EXPECT_FALSE(parse_server_url("http://" + host, false)) << host;
        EXPECT_TRUE(parse_server_url("http://" + host, true)) << host;
    }
}

TEST(AccessTest, ReadsProxyUrlsAndNeverRepeatsTheirPassword) {
    const auto proxy = parse_proxy_url("http://me:s%3Acret@proxy:3128/").value();
    EXPECT_EQ(proxy.host, "proxy");
    EXPECT_EQ(proxy.port, 3128);
    EXPECT_EQ(proxy.authorization, "Basic bWU6czpjcmV0");
    EXPECT_EQ(parse_proxy_url("http://proxy").value().port, 80);

    for (const std::string text : {"https://me:secret@p", "socks5://me:secret@p", "me:secret@p",
                                   "http://me:secret@p/path", "http://me:secret@p?q"}) {
        const auto refused = parse_proxy_url(text);
        ASSERT_FALSE(refused) << text;
        EXPECT_THAT(refused.error().message, testing::Not(HasSubstr("secret")));
    }
}

class PodAccessTest : public testing::Test {
protected:
    PodAccessTest() {
        const std::filesystem::path account = "var/run/secrets/kubernetes.io/serviceaccount";
        folder.write(account / "token", "t");
        folder.write(account / "ca.crt", "ca");
        folder.write(account / "namespace", "scout");
    }

    test::TemporaryFolder folder;
};

TEST_F(PodAccessTest, FindsTheServerAndTheAccountOfAPod) {
    const auto access =
        access_in_cluster({.root = folder.path(), .host = "10.96.0.1", .port = "443"});

    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->server.url, "https://10.96.0.1:443");
    EXPECT_EQ(access->space, "scout");
    EXPECT_EQ(access->token_file.filename(), "token");
    EXPECT_EQ(access->authority.file.filename(), "ca.crt");
    EXPECT_TRUE(access_in_cluster({.root = folder.path(), .host = "fd00::1", .port = "443"}));
}

TEST(ServerUrlTest, APasswordIsNotRepeated) {
    const auto refused = parse_server_url("https://user:s3cret@host", false);

    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("host"));
    EXPECT_THAT(refused.error().message, testing::Not(testing::HasSubstr("s3cret")));
}

TEST_F(PodAccessTest, AKubeconfigComesBeforeThePodAndTheChosenOneAlone) {
    const auto config = folder.write("config", R"(
apiVersion: v1
kind: Config
current-context: a
clusters: [{name: a, cluster: {server: "https://192.0.2.1:6443"}}]
users: [{name: a, user: {token: t}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
)");
    const PodPlace pod{.root = folder.path(), .host = "10.96.0.1", .port = "443"};

    const auto in_pod = find_access({.kubeconfig = {}, .pod = pod, .options = {}});
    const auto by_file =
        find_access({.kubeconfig = {.environment = config.string()}, .pod = pod, .options = {}});
    const auto gone = find_access({.kubeconfig = {.chosen = "gone"}, .pod = pod, .options = {}});
    const auto context = find_access({.kubeconfig = {}, .pod = pod, .options = {.context = "a"}});
    const auto nowhere =
        find_access({.kubeconfig = {.environment = "gone"}, .pod = {}, .options = {}});

    EXPECT_EQ(in_pod.value().server.host, "10.96.0.1");
    EXPECT_EQ(by_file.value().server.host, "192.0.2.1");
    EXPECT_FALSE(gone);
    EXPECT_FALSE(context);
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, Errc::not_found);
    EXPECT_THAT(nowhere.error().message, testing::HasSubstr("gone"));
}

TEST_F(PodAccessTest, TellsNoPodFromABrokenOne) {
    EXPECT_EQ(access_in_cluster({.root = folder.path()}).error().code, Errc::not_found);

    const test::TemporaryFolder empty;
    const auto broken = access_in_cluster({.root = empty.path(), .host = "a b", .port = "443"});

    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, Errc::invalid);
    EXPECT_THAT(broken.error().message, HasSubstr("KUBERNETES_SERVICE_HOST"));
    EXPECT_THAT(broken.error().message, HasSubstr("automountServiceAccountToken"));
    EXPECT_THAT(broken.error().message, HasSubstr("ca.crt"));
}

}  // namespace
}  // namespace scout::kube
