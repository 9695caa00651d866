// SPDX-License-Identifier: Apache-2.0
// Informers on a real API server, in both ways of listing.
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/base64.h"
#include "kube/informer.h"
#include "tests/kube/bed_fixture.h"
#include "tests/support/relay.h"

namespace scout::kube {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;

/// An informer over the nodes of one test.
class Watcher {
public:
    Watcher(asio::io_context& loop, Transport& transport, const Clock& clock,
            const std::string& test, ReflectorSettings settings)
        : informer(transport, clock,
                   {.resource = resources::nodes(), .selection = {.labels = "test=" + test}},
                   &decode_node, settings),
          background(loop) {
        informer.on_change([this](const auto& change) { told.push_back(text_of(change)); });
        background.spawn([this] { return informer.run(); });
    }

    static std::string text_of(const Informer<Node>::Change& change) {
        const auto& node = change.now ? *change.now : *change.before;
        const std::string verb = !change.before ? "add" : !change.now ? "delete" : "update";
        return verb + " " + node.meta.name + " " +
               std::string{node.labels.find("step").value_or("")} +
               (change.found_by == FoundBy::list ? " by list" : "");
    }

    std::vector<std::string> told;
    Informer<Node> informer;
    test::Background background;
};

class BedInformerTest : public test::BedTest, public testing::WithParamInterface<bool> {
protected:
    void SetUp() override {
        BedTest::SetUp();
        if (client) {
            label = new_space();
        }
    }

    [[nodiscard]] static bool streams() { return GetParam(); }
    [[nodiscard]] static ReflectorSettings settings() {
        ReflectorSettings settings;
        settings.streaming_lists = streams();
        settings.backoff = {20ms, 200ms};
        settings.slow_retry = 50ms;
        return settings;
    }

    void add(const std::string& name) { create_node(label + "-" + name, {{"test", label}}); }
    void add_many(unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            add(std::to_string(i));
        }
    }
    [[nodiscard]] Target node(const std::string& name) const {
        return {.resource = resources::nodes(), .object = {.name = label + "-" + name}};
    }
    void change(const std::string& name, const std::string& step) {
        const json::object patch{{"metadata", {{"labels", {{"step", step}}}}}};
        done(client->merge_patch(node(name), json::serialize(patch)));
    }
    [[nodiscard]] std::string line(const std::string& verb, const std::string& name,
                                   const std::string& rest) const {
        return verb + " " + label + "-" + name + " " + rest;
    }

    std::string label;
};

INSTANTIATE_TEST_SUITE_P(BothWays, BedInformerTest, testing::Bool(), [](const auto& way) {
    return std::string{way.param ? "Streaming" : "Paged"};
});

TEST_P(BedInformerTest, TellsWhatComesChangesAndGoes) {
    add("a");
    add("b");
    Watcher watcher(loop, *transport, clock, label, settings());
    ASSERT_TRUE(run_until([&] { return watcher.informer.synced(); }));
    EXPECT_THAT(std::exchange(watcher.told, {}),
                UnorderedElementsAre(line("add", "a", " by list"), line("add", "b", " by list")));

    add("c");
    change("a", "1");
    done(client->remove(node("b"), {}));
    change("c", "2");
    ASSERT_TRUE(run_until([&] { return watcher.told.size() == 4; }));

    EXPECT_THAT(watcher.told, ElementsAre(line("add", "c", ""), line("update", "a", "1"),
                                          line("delete", "b", ""), line("update", "c", "2")));
    const auto& counters = watcher.informer.reflector().counters();
    EXPECT_EQ(counters.lists, 1U);
    EXPECT_EQ(counters.pages, streams() ? 0U : 1U);
    EXPECT_EQ(counters.watches, 1U);
    EXPECT_EQ(counters.errors, 0U);
}

TEST_P(BedInformerTest, ReadsMoreThanAPageHolds) {
    add_many(130);
    auto chosen = settings();
    chosen.page_bytes = 1;
    Watcher watcher(loop, *transport, clock, label, chosen);

    ASSERT_TRUE(run_until([&] { return watcher.informer.synced(); }));

    EXPECT_EQ(watcher.informer.size(), 130U);
    // Of 100, 20 and 10 objects.
    EXPECT_EQ(watcher.informer.reflector().counters().pages, streams() ? 0U : 3U);
    EXPECT_EQ(watcher.informer.reflector().counters().errors, 0U);
}

TEST_P(BedInformerTest, ABrokenConnectionCostsNoList) {
    add("a");
    test::Relay relay(loop.get_executor(), access.server.port);
    HttpTransport way(loop.get_executor(), test::by_way_of(access, relay.port()), clock);
    Watcher watcher(loop, way, clock, label, settings());
    ASSERT_TRUE(run_until([&] { return watcher.informer.synced(); }));

    relay.cut();
    change("a", "1");
    ASSERT_TRUE(
        run_until([&] { return watcher.informer.reflector().state() == ReflectorState::failing; }));
    EXPECT_THAT(watcher.informer.reflector().trouble(), HasSubstr(" nodes: "));
    change("a", "2");
    relay.mend();
    ASSERT_TRUE(run_until([&] { return watcher.told.size() == 3; }));

    EXPECT_THAT(watcher.told, ElementsAre(line("add", "a", " by list"), line("update", "a", "1"),
                                          line("update", "a", "2")));
    EXPECT_EQ(watcher.informer.reflector().counters().lists, 1U);
    EXPECT_EQ(watcher.informer.reflector().state(), ReflectorState::watching);
}

TEST_P(BedInformerTest, ListsAgainWhenAKilledServerHasForgottenWhereItWas) {
    add("a");
    add("b");
    test::Relay relay(loop.get_executor(), access.server.port);
    HttpTransport way(loop.get_executor(), test::by_way_of(access, relay.port()), clock);
    Watcher watcher(loop, way, clock, label, settings());
    ASSERT_TRUE(run_until([&] { return watcher.informer.synced(); }));
    watcher.told.clear();

    relay.cut();
    change("a", "1");
    done(client->remove(node("b"), {}));
    bed->stop("apiserver");
    relay.mend();
    ASSERT_TRUE(
        run_until([&] { return watcher.informer.reflector().state() == ReflectorState::failing; }));
    bed->start("apiserver");
    ASSERT_TRUE(run_until([&] { return watcher.told.size() == 2; }));

    // The server that came back knows no history: the answer is 410, and only a list tells.
    EXPECT_THAT(watcher.told, UnorderedElementsAre(line("update", "a", "1 by list"),
                                                   line("delete", "b", " by list")));
    const auto& counters = watcher.informer.reflector().counters();
    EXPECT_GE(counters.expired, 1U);
    EXPECT_EQ(counters.lists, 2U);
    EXPECT_EQ(counters.restored, 0U);
    change("a", "2");
    ASSERT_TRUE(run_until([&] { return watcher.told.size() == 3; }));
    EXPECT_EQ(watcher.told.back(), line("update", "a", "2"));
}

TEST_P(BedInformerTest, NamesTheRightThatIsMissingAndGoesOnOnceItIsThere) {
    add("a");
    const auto theirs = test::with_token(access, token_of(label, "default", ""));
    HttpTransport way(loop.get_executor(), theirs, clock);
    Watcher watcher(loop, way, clock, label, settings());
    ASSERT_TRUE(run_until(
        [&] { return watcher.informer.reflector().state() == ReflectorState::forbidden; }));
    EXPECT_THAT(watcher.informer.reflector().trouble(),
                testing::AllOf(HasSubstr("list nodes: HTTP 403 Forbidden"),
                               HasSubstr("system:serviceaccount:" + label + ":default"),
                               HasSubstr("cannot list resource \"nodes\"")));

    grant(label, "default", "", "nodes", {"list"});
    ASSERT_TRUE(run_until([&] { return watcher.informer.synced(); }));
    ASSERT_TRUE(run_until([&] {
        return watcher.informer.reflector().trouble().find("cannot watch resource \"nodes\"") !=
               std::string::npos;
    }));

    grant(label, "default", "", "nodes", {"watch"});
    ASSERT_TRUE(run_until(
        [&] { return watcher.informer.reflector().state() == ReflectorState::watching; }));
    EXPECT_THAT(watcher.told, ElementsAre(line("add", "a", " by list")));
}

/// Does something between the first page of a list and the second.
class BetweenPages final : public Transport {
public:
    BetweenPages(Transport& inner, std::function<void()> then)
        : inner_(inner), then_(std::move(then)) {}

    [[nodiscard]] Task<Result<HttpResponse>> send(HttpRequest request,
                                                  std::chrono::milliseconds limit) override {
        ++sent;
        auto answer = co_await inner_.send(std::move(request), limit);
        if (auto then = std::exchange(then_, nullptr)) {
            then();
        }
        if (answer) {
            statuses.push_back(answer->head.status);
        }
        co_return answer;
    }
    [[nodiscard]] Task<Result<std::unique_ptr<HttpStream>>> open(
        HttpRequest request, std::chrono::milliseconds limit) override {
        return inner_.open(std::move(request), limit);
    }

    unsigned sent = 0;
    std::vector<unsigned> statuses;

private:
    Transport& inner_;
    std::function<void()> then_;
};

class BedHistoryTest : public BedInformerTest {
protected:
    /// A call to etcd's own HTTP interface, on a loop of its own.
    json::value ask_etcd(const std::string& target, const json::object& request) {
        asio::io_context aside;
        ClusterAccess store{.origin = "the bed's etcd"};
        store.server = parse_server_url(bed->etcd_url(), false).value();
        HttpTransport etcd(aside.get_executor(), store, clock);
        HttpRequest post{.method = "POST",
                         .target = target,
                         .content_type = "application/json",
                         .body = json::serialize(request)};
        const auto answer = test::run_until_done(aside, etcd.send(std::move(post), 20s));
        return json::parse(answer.value().body);
    }
    /// Forgets all versions but a new one.
    void compact() {
        ask_etcd("/v3/kv/put", {{"key", base64_encode("/bed")}, {"value", ""}});
        const auto head = ask_etcd("/v3/kv/range", {{"key", base64_encode("/bed")}});
        const auto revision = test::at(head, "/header/revision");
        ask_etcd("/v3/kv/compaction", {{"revision", revision}, {"physical", true}});
    }
};

INSTANTIATE_TEST_SUITE_P(Pages, BedHistoryTest, testing::Values(false),
                         [](const auto&) { return std::string{"Paged"}; });

TEST_P(BedHistoryTest, AListWhoseVersionExpiresBetweenPagesBeginsAnew) {
    add_many(130);
    BetweenPages way(*transport, [this] {
        bed->stop("apiserver");
        compact();
        bed->start("apiserver");
    });
    auto chosen = settings();
    chosen.page_bytes = 1;
    Watcher watcher(loop, way, clock, label, chosen);

    ASSERT_TRUE(run_until([&] { return watcher.informer.synced(); }));

    EXPECT_EQ(watcher.informer.size(), 130U);
    EXPECT_THAT(way.statuses, ElementsAre(200U, 410U, 200U, 200U, 200U));
    EXPECT_EQ(watcher.informer.reflector().counters().expired, 1U);
    EXPECT_EQ(watcher.told.size(), 130U);
}

}  // namespace
}  // namespace scout::kube
