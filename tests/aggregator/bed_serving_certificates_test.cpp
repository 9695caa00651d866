// SPDX-License-Identifier: Apache-2.0
// Certificates that replicas make themselves, on a real API server.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <openssl/x509_vfy.h>

#include "aggregator/serving_certificates.h"
#include "base/base64.h"
#include "daemon/http_server.h"
#include "tests/kube/bed_fixture.h"
#include "tests/support/verify_certificate.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using testing::HasSubstr;

/// Days pass in a moment, and no time-out notices.
class MovedClock final : public Clock {
public:
    [[nodiscard]] SteadyTime steady() const override { return real_.steady(); }
    [[nodiscard]] WallTime wall() const override { return real_.wall() + moved; }

    std::chrono::hours moved{0};

private:
    SystemClock real_;
};

/// One that no object ever matches.
json::object webhook(const std::string& name) {
    const json::object rule{{"apiGroups", json::array{""}},
                            {"apiVersions", json::array{"v1"}},
                            {"operations", json::array{"CREATE"}},
                            {"resources", json::array{"pods"}}};
    return {{"name", name},
            {"clientConfig", {{"url", "https://127.0.0.1:9/first"}}},
            {"rules", json::array{rule}},
            {"objectSelector", {{"matchLabels", {{"virt-scout.io/of-no-object", "at-all"}}}}},
            {"failurePolicy", "Ignore"},
            {"sideEffects", "None"},
            {"admissionReviewVersions", json::array{"v1"}}};
}

class BedServingCertificatesTest : public scout::test::BedTest {
protected:
    struct Replica {
        Replica(asio::io_context& loop, kube::Client& client, ServingSettings settings,
                const Clock& clock, bool leading)
            : leads(leading),
              certificates(
                  loop.get_executor(), client,
                  [this] { return SystemClock{}.steady() + (leads ? 1h : -1h); },
                  std::move(settings), clock),
              background(loop) {
            certificates.on_certificate([this](const CertifiedKey& pair) { served = pair; });
            background.spawn([this] { return certificates.run(); });
        }

        bool leads;
        CertifiedKey served;
        ServingCertificates certificates;
        scout::test::Background background;
    };

    void SetUp() override {
        BedTest::SetUp();
        if (!IsSkipped()) {
            space = new_space();
        }
    }

    [[nodiscard]] std::unique_ptr<Replica> start(bool leads) { return start(leads, *client); }
    [[nodiscard]] std::unique_ptr<Replica> start(bool leads, kube::Client& as) {
        static std::uint64_t seed = 0;
        ServingSettings settings{.space = space,
                                 .names = {"127.0.0.1"},
                                 .webhooks = {configuration()},
                                 .validating_webhooks = validating,
                                 .files = {},
                                 .rules = {},
                                 .look_every = 50ms,
                                 .seed = ++seed};
        return std::make_unique<Replica>(loop, as, std::move(settings), moved, leads);
    }

    [[nodiscard]] std::string configuration() const { return "first-of-" + space; }
    [[nodiscard]] kube::Target target(const char* plural, const char* kind) const {
        return {.resource = scout::test::core(plural, kind),
                .object = {.space = space, .name = "virt-scout-ca"}};
    }
    [[nodiscard]] kube::Target webhooks() const {
        return {.resource = kube::resources::mutating_webhook_configurations(),
                .object = {.space = {}, .name = configuration()}};
    }

    [[nodiscard]] std::string published() {
        const auto map = done(client->get(target("configmaps", "ConfigMap")));
        return std::string(map.at("data").at("ca.crt").as_string());
    }
    /// What the API server trusts for the i-th webhook.
    [[nodiscard]] std::string injected(std::size_t i) { return injected(webhooks(), i); }
    [[nodiscard]] std::string injected(const kube::Target& configuration, std::size_t i) {
        const auto object = done(client->get(configuration));
        const auto path = "/webhooks/" + std::to_string(i) + "/clientConfig/caBundle";
        const auto found = scout::test::at(object, path);
        return found.is_string() ? base64_decode(found.get_string()).value() : "";
    }
    void make_webhooks() {
        create(kube::resources::mutating_webhook_configurations(), "",
               {{"metadata", {{"name", configuration()}}},
                {"webhooks", json::array{webhook("a.virt-scout.io"), webhook("b.virt-scout.io")}}});
    }
    [[nodiscard]] bool run_until_well(const Replica& replica, std::uint64_t written = 0) {
        return run_until([&replica, written] {
            const auto facts = replica.certificates.facts();
            return facts.missing.empty() && facts.trouble.empty() && facts.written >= written;
        });
    }
    [[nodiscard]] int judge(const Replica& replica, const std::string& name) {
        return scout::test::verify_certificate(replica.served.chain, published(),
                                               {.name = name, .now = moved.wall()});
    }

    MovedClock moved;
    std::string space;
    std::vector<std::string> validating;  ///< configurations that what is started knows
};

TEST_F(BedServingCertificatesTest, TwoReplicasAtTheSameTimeEndWithOneAuthority) {
    // Not even two that both believe to lead can make two.
    const auto first = start(true);
    const auto second = start(true);

    ASSERT_TRUE(run_until_well(*first));
    ASSERT_TRUE(run_until_well(*second));

    const auto secret = done(client->get(target("secrets", "Secret")));
    EXPECT_EQ(secret.at("type").as_string(), "Opaque");
    EXPECT_EQ(base64_decode(secret.at("data").at("ca.crt").as_string()).value(), published());
    for (const auto* replica : {first.get(), second.get()}) {
        for (const auto& name :
             {std::string{"virt-scout-aggregator"}, "virt-scout-aggregator." + space + ".svc",
              "virt-scout-aggregator." + space + ".svc.cluster.local", std::string{"127.0.0.1"}}) {
            EXPECT_EQ(judge(*replica, name), X509_V_OK) << name;
        }
        EXPECT_EQ(replica->certificates.facts().issued, 1U);
    }
    EXPECT_NE(first->served.key, second->served.key);
}

TEST_F(BedServingCertificatesTest, AStandbyWaitsForTheLeaderAndWritesNothing) {
    const auto standby = start(false);
    ASSERT_TRUE(run_until([&standby] {
        return standby->certificates.facts().missing.find("the leader makes it") !=
               std::string::npos;
    }));

    const auto leader = start(true);
    ASSERT_TRUE(run_until_well(*leader));
    ASSERT_TRUE(run_until_well(*standby));

    EXPECT_EQ(judge(*standby, "127.0.0.1"), X509_V_OK);
    EXPECT_EQ(standby->certificates.facts().written, 0U);
}

TEST_F(BedServingCertificatesTest, WebhooksAreToldAndToldAgain) {
    make_webhooks();
    const auto leader = start(true);
    ASSERT_TRUE(run_until_well(*leader, 3));
    EXPECT_EQ(injected(0), published());
    EXPECT_EQ(injected(1), published());

    // Somebody applies the manifest again.
    done(client->json_patch(webhooks(),
                            R"([{"op":"remove","path":"/webhooks/1/clientConfig/caBundle"}])"));
    ASSERT_TRUE(run_until_well(*leader, 4));

    EXPECT_EQ(injected(1), published());
    EXPECT_EQ(leader->certificates.facts().issued, 1U);
}

TEST_F(BedServingCertificatesTest, WebhooksThatOnlyJudgeAreToldToo) {
    const kube::Target object{.resource = kube::resources::validating_webhook_configurations(),
                              .object = {.space = {}, .name = "judging-of-" + space}};
    create(object.resource, "",
           {{"metadata", {{"name", object.object.name}}},
            {"webhooks", json::array{webhook("a.virt-scout.io"), webhook("b.virt-scout.io")}}});
    validating = {object.object.name, "none-of-" + space};

    const auto leader = start(true);
    ASSERT_TRUE(run_until_well(*leader, 3));

    EXPECT_EQ(injected(object, 0), published());
    EXPECT_EQ(injected(object, 1), published());
}

TEST_F(BedServingCertificatesTest, AnAbsentConfigurationIsAwaitedAndNeverMade) {
    const auto leader = start(true);
    ASSERT_TRUE(run_until_well(*leader, 2));
    const auto absent = call(client->get(webhooks()));
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().status, 404U);

    make_webhooks();
    ASSERT_TRUE(run_until_well(*leader, 3));

    EXPECT_EQ(injected(0), published());
}

TEST_F(BedServingCertificatesTest, ADamagedSecretIsNamedAndMadeAnew) {
    const auto leader = start(true);
    const auto standby = start(false);
    ASSERT_TRUE(run_until_well(*leader));
    ASSERT_TRUE(run_until_well(*standby));
    const auto before = published();
    const auto served = standby->served;
    leader->leads = false;

    done(client->merge_patch(target("secrets", "Secret"), R"({"data":{"ca.key":null}})"));
    ASSERT_TRUE(run_until([&standby] { return !standby->certificates.facts().trouble.empty(); }));
    EXPECT_THAT(standby->certificates.facts().trouble,
                HasSubstr("Secret " + space + "/virt-scout-ca is damaged"));
    EXPECT_EQ(standby->certificates.facts().missing, "");
    EXPECT_EQ(standby->served, served);

    leader->leads = true;
    ASSERT_TRUE(run_until_well(*leader, 4));
    ASSERT_TRUE(run_until_well(*standby));

    EXPECT_NE(published(), before);
    EXPECT_THAT(published(), HasSubstr(before)) << "what is served now is known on";
    EXPECT_EQ(judge(*standby, "127.0.0.1"), X509_V_OK);
}

TEST_F(BedServingCertificatesTest, AnAuthorityIsRenewedWhileTheOldOneStaysKnown) {
    make_webhooks();
    const auto leader = start(true);
    const auto standby = start(false);
    ASSERT_TRUE(run_until_well(*leader, 3));
    ASSERT_TRUE(run_until_well(*standby));
    const auto old = published();

    moved.moved = 24h * 250;
    ASSERT_TRUE(run_until_well(*leader, 6));
    ASSERT_TRUE(run_until([&standby] { return standby->certificates.facts().issued > 1; }));

    EXPECT_THAT(published(), HasSubstr(old));
    EXPECT_NE(published(), old);
    EXPECT_EQ(injected(0), published());
    const auto secret = done(client->get(target("secrets", "Secret")));
    EXPECT_EQ(base64_decode(secret.at("data").at("ca-previous.crt").as_string()).value(), old);
    EXPECT_EQ(judge(*leader, "127.0.0.1"), X509_V_OK);
    EXPECT_EQ(judge(*standby, "127.0.0.1"), X509_V_OK);

    moved.moved = 24h * 260;
    ASSERT_TRUE(run_until_well(*leader, 8));
    EXPECT_THAT(published(), testing::Not(HasSubstr(old)));
}

/// Called by the real API server, for objects that have the label of the test alone.
class BedServedWebhookTest : public BedServingCertificatesTest {
protected:
    void SetUp() override {
        BedServingCertificatesTest::SetUp();
        if (!IsSkipped()) {
            server =
                daemon::HttpServer::listen(loop.get_executor(), "127.0.0.1:0",
                                           {.body_bytes = 1U << 20U}, daemon::HttpSecurity::tls)
                    .value();
            server->route("POST", "/review", &review);
            server->start();
        }
    }
    void TearDown() override {
        if (server) {
            call(server->stop());
        }
    }

    static Task<daemon::HttpAnswer> review(daemon::HttpRequest request) {
        const auto asked = json::parse(request.body);
        const json::object said{{"apiVersion", "admission.k8s.io/v1"},
                                {"kind", "AdmissionReview"},
                                {"response",
                                 {{"uid", asked.at("request").at("uid")},
                                  {"allowed", false},
                                  {"status", {{"message", "we were asked"}}}}}};
        co_return daemon::HttpAnswer{.content_type = "application/json",
                                     .body = json::serialize(said)};
    }
    void make_called_webhook() {
        auto ours = webhook("called.virt-scout.io");
        ours["clientConfig"] = {
            {"url", "https://127.0.0.1:" + std::to_string(server->port()) + "/review"}};
        ours["rules"].as_array()[0].as_object()["resources"] = json::array{"configmaps"};
        ours["objectSelector"] = {{"matchLabels", {{"virt-scout.io/test", space}}}};
        ours["failurePolicy"] = "Fail";
        create(kube::resources::mutating_webhook_configurations(), "",
               {{"metadata", {{"name", configuration()}}}, {"webhooks", json::array{ours}}});
    }
    /// The API server takes a moment to follow a change of the configuration.
    [[nodiscard]] bool is_asked() {
        const json::object map{
            {"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"metadata", {{"name", "any"}, {"labels", {{"virt-scout.io/test", space}}}}}};
        std::string last;
        for (int i = 0; i < 500 && last.find("we were asked") == std::string::npos; ++i) {
            kube::Target maps{.resource = scout::test::core("configmaps", "ConfigMap"),
                              .object = {.space = space}};
            const auto answer =
                call(client->create(std::move(maps), json::serialize(map), {.dry_run = true}));
            last = answer ? "" : answer.error().error.message;
            loop.run_for(10ms);
        }
        return last.find("we were asked") != std::string::npos;
    }

    std::unique_ptr<daemon::HttpServer> server;
};

TEST_F(BedServedWebhookTest, TheApiServerTakesWhatIsServedAlsoAfterAChange) {
    make_called_webhook();
    const auto leader = start(true);
    leader->certificates.on_certificate(
        [this](const CertifiedKey& pair) { ASSERT_TRUE(server->use(pair)); });
    ASSERT_TRUE(run_until_well(*leader, 3));
    EXPECT_TRUE(is_asked());
    const auto before = published();

    done(client->remove(target("secrets", "Secret"), {}));
    ASSERT_TRUE(run_until_well(*leader, 6));

    EXPECT_NE(published(), before);
    EXPECT_TRUE(is_asked());
    EXPECT_EQ(leader->certificates.facts().issued, 2U);
}

/// As an account that has these rights and no others.
class BedServingRightsTest : public BedServingCertificatesTest {
protected:
    [[nodiscard]] static json::object rule(const std::string& group, const std::string& plural,
                                           const std::string& name,
                                           std::initializer_list<std::string_view> verbs) {
        json::array listed;
        for (const auto verb : verbs) {
            listed.emplace_back(verb);
        }
        return {{"apiGroups", json::array{group}},
                {"resources", json::array{plural}},
                {"resourceNames", json::array{name}},
                {"verbs", std::move(listed)}};
    }
    void grant_space() {
        grant(space, false,
              {rule("", "secrets", "virt-scout-ca", {"get", "create", "patch"}),
               rule("", "configmaps", "virt-scout-ca", {"get", "create", "patch"})});
    }
    void log_in() {
        transport_of_account.emplace(
            loop.get_executor(), scout::test::with_token(access, token_of(space, "default", "")),
            clock);
        account.emplace(*transport_of_account, clock, kube::ClientConfig{});
    }

    std::optional<kube::HttpTransport> transport_of_account;
    std::optional<kube::Client> account;
};

TEST_F(BedServingRightsTest, RightsToThreeNamesAreEnough) {
    make_webhooks();
    grant_space();
    grant(space, true,
          {rule("admissionregistration.k8s.io", "mutatingwebhookconfigurations", configuration(),
                {"get", "patch"})});
    log_in();

    const auto leader = start(true, *account);

    ASSERT_TRUE(run_until_well(*leader, 3));
    EXPECT_EQ(injected(0), published());
    moved.moved = 24h * 250;
    ASSERT_TRUE(run_until_well(*leader, 6));
    EXPECT_EQ(injected(1), published());
}

TEST_F(BedServingRightsTest, MissingRightsToWebhooksAreNamedAndTheRestGoesOn) {
    make_webhooks();
    grant_space();
    log_in();

    const auto leader = start(true, *account);

    ASSERT_TRUE(run_until([&leader] {
        const auto facts = leader->certificates.facts();
        return facts.written == 2 && !facts.trouble.empty();
    }));
    EXPECT_THAT(leader->certificates.facts().trouble,
                HasSubstr("mutatingwebhookconfigurations.admissionregistration.k8s.io"));
    EXPECT_THAT(leader->certificates.facts().trouble, HasSubstr("403"));
    EXPECT_EQ(leader->certificates.facts().missing, "");
    EXPECT_EQ(judge(*leader, "127.0.0.1"), X509_V_OK);
}

TEST_F(BedServingRightsTest, MissingRightsToSecretsAreWhyThereIsNoCertificate) {
    log_in();

    const auto leader = start(true, *account);

    ASSERT_TRUE(run_until([&leader] { return !leader->certificates.facts().trouble.empty(); }));
    EXPECT_THAT(leader->certificates.facts().missing,
                HasSubstr("get secrets " + space + "/virt-scout-ca"));
    EXPECT_THAT(leader->certificates.facts().missing, HasSubstr("403"));
    EXPECT_EQ(leader->certificates.facts().written, 0U);
}

}  // namespace
}  // namespace scout::aggregator
