// SPDX-License-Identifier: Apache-2.0
#include "daemon/health.h"

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/registry.h>

#include "daemon/http_server.h"
#include "daemon/process_metrics.h"
#include "tests/daemon/http_client.h"
#include "tests/support/run_to_end.h"

namespace scout::daemon {
namespace {

using testing::HasSubstr;

TEST(HealthTest, IsReadyOnceEveryConditionIsMet) {
    Health health;
    EXPECT_TRUE(health.ready());

    health.set("probe", "no answer yet");
    health.set("pool", "all threads are stuck");
    EXPECT_FALSE(health.ready());
    EXPECT_EQ(health.text(), "pool: all threads are stuck\nprobe: no answer yet\n");

    health.set("probe", "");
    health.set("pool", "");
    EXPECT_TRUE(health.ready());
    EXPECT_EQ(health.text(), "ready\n");
}

TEST(HealthTest, ANoteIsToldAndKeepsNothingFromBeingReady) {
    Health health;
    health.note("cluster", "a right is missing");
    EXPECT_TRUE(health.ready());
    EXPECT_EQ(health.text(), "ready\ncluster: a right is missing\n");

    health.note("cluster", "");
    EXPECT_EQ(health.text(), "ready\n");
}

TEST(HealthTest, ServesHealthReadinessAndMetrics) {
    asio::io_context loop{1};
    Health health;
    health.set("probe", "no answer yet");
    auto registry = std::make_shared<prometheus::Registry>();
    auto& family = prometheus::BuildCounter().Name("example_total").Register(*registry);
    family.Add({}).Increment();
    auto server = HttpServer::listen(loop.get_executor(), "127.0.0.1:0").value();
    serve_health(*server, health, {registry, std::make_shared<ProcessMetrics>(WallTime{})});
    server->start();
    auto visit = [&]() -> Task<> {
        const auto port = server->port();
        const auto alive = co_await test::talk(port, test::get("/healthz"));
        const auto unready = co_await test::talk(port, test::get("/readyz"));
        health.set("probe", "");
        const auto ready = co_await test::talk(port, test::get("/readyz"));
        const auto metrics = co_await test::talk(port, test::get("/metrics"));
        EXPECT_THAT(alive, HasSubstr("200 OK"));
        EXPECT_THAT(unready, HasSubstr("503"));
        EXPECT_THAT(unready, HasSubstr("probe: no answer yet"));
        EXPECT_THAT(ready, HasSubstr("200 OK"));
        EXPECT_THAT(metrics, HasSubstr("example_total 1"));
        EXPECT_THAT(metrics, HasSubstr("process_resident_memory_bytes"));
        EXPECT_THAT(metrics, HasSubstr("virt_scout_build_info{commit="));
        co_await server->stop();
    };

    test::run_to_end(loop, visit());
}

TEST(ProcessFactsTest, SeesThisProcess) {
    const auto facts = read_process_facts();

    EXPECT_GT(facts.resident_bytes, 1'000'000U);
    EXPECT_GE(facts.open_files, 3U);
    EXPECT_GT(facts.cpu_seconds, 0.0);
}

}  // namespace
}  // namespace scout::daemon
