// SPDX-License-Identifier: Apache-2.0
#include "aggregator/front_proxy.h"

#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

using Data = std::map<std::string, std::string>;

/// As kubeadm's API servers publish it.
Data published() {
    return {{"client-ca-file", "clients"},
            {"requestheader-allowed-names", R"(["front-proxy-client"])"},
            {"requestheader-client-ca-file", "proxies"},
            {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"},
            {"requestheader-group-headers", R"(["X-Remote-Group"])"},
            {"requestheader-uid-headers", R"(["X-Remote-Uid"])"},
            {"requestheader-username-headers", R"(["X-Remote-User","X-User"])"}};
}

Error fault_of(const Data& data) {
    auto settings = front_proxy_settings(data);
    EXPECT_FALSE(settings);
    return settings ? Error{} : settings.error();
}

daemon::HttpRequest request(daemon::HttpHeaders headers,
                            const std::string& client = "front-proxy-client") {
    daemon::HttpRequest made;
    made.headers = std::move(headers);
    made.client = client;
    return made;
}

TEST(FrontProxySettingsTest, AreReadFromWhatApiServersPublish) {
    const auto settings = front_proxy_settings(published()).value();

    EXPECT_EQ(settings.authorities, "proxies");
    EXPECT_THAT(settings.allowed_names, ElementsAre("front-proxy-client"));
    EXPECT_THAT(settings.user_headers, ElementsAre("X-Remote-User", "X-User"));
    EXPECT_THAT(settings.uid_headers, ElementsAre("X-Remote-Uid"));
    EXPECT_THAT(settings.group_headers, ElementsAre("X-Remote-Group"));
    EXPECT_THAT(settings.extra_prefixes, ElementsAre("X-Remote-Extra-"));
}

TEST(FrontProxySettingsTest, OlderApiServersHaveNoUidsAndMayAllowAllNames) {
    auto data = published();
    data.erase("requestheader-uid-headers");
    data["requestheader-allowed-names"] = "[]";

    const auto settings = front_proxy_settings(data).value();

    EXPECT_THAT(settings.uid_headers, IsEmpty());
    EXPECT_THAT(settings.allowed_names, IsEmpty());
}

TEST(FrontProxySettingsTest, WhatIsMissingOrUnreadableIsNamed) {
    for (const char* key : {"requestheader-client-ca-file", "requestheader-username-headers"}) {
        auto data = published();
        data.erase(key);
        const auto fault = fault_of(data);
        EXPECT_EQ(fault.code, Errc::unavailable);
        EXPECT_THAT(fault.message,
                    HasSubstr("ConfigMap kube-system/extension-apiserver-authentication: "
                              "expected " +
                              std::string{key} + ", found none"));
    }
    for (const char* wrong : {"front-proxy-client", "{}", "[1]"}) {
        auto data = published();
        data["requestheader-allowed-names"] = wrong;
        const auto fault = fault_of(data);
        EXPECT_EQ(fault.code, Errc::invalid);
        EXPECT_THAT(fault.message, HasSubstr("requestheader-allowed-names: expected a JSON array"));
    }
}

TEST(FrontProxySubjectTest, HeadersTellTheUserInWhateverCase) {
    const auto settings = front_proxy_settings(published()).value();

    const auto subject = subject_of(settings, request({{"x-remote-user", "jane"},
                                                       {"X-REMOTE-UID", "u1"},
                                                       {"X-Remote-Group", "support"},
                                                       {"Accept", "application/json"},
                                                       {"x-remote-group", "system:authenticated"},
                                                       {"X-Remote-Extra-Scopes.Io%2FRead", "a"},
                                                       {"x-remote-extra-scopes.io%2fread", "b"}}))
                             .value();

    EXPECT_EQ(subject.user, "jane");
    EXPECT_EQ(subject.uid, "u1");
    EXPECT_THAT(subject.groups, ElementsAre("support", "system:authenticated"));
    EXPECT_THAT(subject.extra, UnorderedElementsAre(Pair("scopes.io/read", ElementsAre("a", "b"))));
}

TEST(FrontProxySubjectTest, TheFirstHeaderWithAUserCounts) {
    const auto settings = front_proxy_settings(published()).value();

    EXPECT_EQ(subject_of(settings, request({{"X-User", "second"}, {"X-Remote-User", "first"}}))
                  .value()
                  .user,
              "first");
    EXPECT_EQ(subject_of(settings, request({{"X-User", "second"}})).value().user, "second");
}

TEST(FrontProxySubjectTest, WithoutTheProxysCertificateHeadersAreNothing) {
    const auto settings = front_proxy_settings(published()).value();
    const daemon::HttpHeaders admin{{"X-Remote-User", "admin"},
                                    {"X-Remote-Group", "system:masters"}};

    for (const auto& [client, reason] :
         {std::pair{"", "expected a certificate of the API server's front proxy, found none"},
          std::pair{"admin", "found one of admin: requestheader-allowed-names"}}) {
        const auto subject = subject_of(settings, request(admin, client));
        ASSERT_FALSE(subject);
        EXPECT_EQ(subject.error().code, Errc::refused);
        EXPECT_THAT(subject.error().message, HasSubstr(reason));
    }
    EXPECT_FALSE(subject_of(settings, request({{"X-Remote-Group", "system:masters"}})));
    EXPECT_FALSE(subject_of(settings, request({{"X-Remote-User", ""}})));
}

TEST(FrontProxySubjectTest, WithoutAllowedNamesAnyCertificateOfTheAuthorityIsOne) {
    auto data = published();
    data["requestheader-allowed-names"] = "[]";
    const auto settings = front_proxy_settings(data).value();

    EXPECT_TRUE(subject_of(settings, request({{"X-Remote-User", "jane"}}, "any")));
    EXPECT_FALSE(subject_of(settings, request({{"X-Remote-User", "jane"}}, "")));
}

class FrontProxyTest : public testing::Test {
protected:
    FrontProxyTest() {
        proxy.on_authorities([this](const auto& pem) { authorities.push_back(pem); });
    }
    static std::string map(const std::string& version, const Data& data) {
        json::object body;
        for (const auto& [key, value] : data) {
            body[key] = value;
        }
        return json::serialize(json::object{{"apiVersion", "v1"},
                                            {"kind", "ConfigMap"},
                                            {"metadata",
                                             {{"name", "extension-apiserver-authentication"},
                                              {"namespace", "kube-system"},
                                              {"uid", "u"},
                                              {"resourceVersion", version}}},
                                            {"data", body}});
    }
    static kube::ReflectorSettings paged() {
        kube::ReflectorSettings settings;
        settings.streaming_lists = false;
        return settings;
    }
    [[nodiscard]] Result<kube::Subject> jane() const {
        return proxy.user_of(request({{"X-Remote-User", "jane"}}));
    }

    asio::io_context loop{1};
    test::FakeClock clock;
    test::ScriptedTransport api;
    FrontProxy proxy{api, clock, paged()};
    std::vector<std::string> authorities;
};

TEST_F(FrontProxyTest, FollowsTheOneConfigMap) {
    auto rotated = published();
    rotated["requestheader-client-ca-file"] = "newer";
    api.then_body(200, test::list_json("5", {map("5", published())}));
    api.then_last_lines({test::watch_line("MODIFIED", map("6", rotated))});

    test::run_to_end(loop, proxy.run());

    EXPECT_THAT(api.requests().front().target,
                HasSubstr("/api/v1/namespaces/kube-system/configmaps?"));
    EXPECT_THAT(api.requests().front().target,
                HasSubstr("fieldSelector=metadata.name%3Dextension-apiserver-authentication"));
    EXPECT_EQ(jane().value().user, "jane");
    EXPECT_THAT(authorities, ElementsAre("proxies", "newer"));
}

TEST_F(FrontProxyTest, NobodyIsBelievedBeforeTheSettingsAreRead) {
    const auto user = jane();

    ASSERT_FALSE(user);
    EXPECT_EQ(user.error().code, Errc::unavailable);
    EXPECT_THAT(user.error().message, HasSubstr("has not been read yet"));
    EXPECT_THAT(authorities, IsEmpty());
}

TEST_F(FrontProxyTest, NobodyIsBelievedOnceTheSettingsAreGone) {
    api.then_body(200, test::list_json("5", {map("5", published())}));
    api.then_last_lines({test::watch_line("DELETED", map("6", published()))});

    test::run_to_end(loop, proxy.run());

    const auto user = jane();
    ASSERT_FALSE(user);
    EXPECT_THAT(user.error().message, HasSubstr("found none: the API server makes it"));
    EXPECT_THAT(authorities, ElementsAre("proxies", ""));
}

}  // namespace
}  // namespace scout::aggregator
