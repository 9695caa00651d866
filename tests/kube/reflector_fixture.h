// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/informer.h"
#include "tests/kube/thing.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::test {

/// An informer of things on a scripted server. Back-off is without waits.
class ReflectorFixture : public ::testing::Test {
protected:
    static kube::ReflectorSettings settings() {
        kube::ReflectorSettings settings;
        settings.backoff = {std::chrono::milliseconds{0}, std::chrono::milliseconds{0}};
        settings.slow_retry = std::chrono::milliseconds{0};
        // Scripted watches end in no time, which is none too early.
        settings.watch_timeout = std::chrono::milliseconds{0};
        return settings;
    }

    explicit ReflectorFixture(kube::ReflectorSettings chosen = settings())
        : informer(transport, clock, {.resource = things(), .selection = {}}, &decode_thing,
                   chosen) {
        informer.on_change([this](const auto& change) { log.push_back(text_of(change)); });
        informer.on_synced([this] { log.emplace_back("synced"); });
    }

    static std::string text_of(const kube::Informer<Thing>::Change& change) {
        const std::string verb = !change.before ? "add" : !change.now ? "delete" : "update";
        const auto& thing = change.now ? *change.now : *change.before;
        return verb + " " + thing.meta.name + " " + thing.meta.version +
               (change.found_by == kube::FoundBy::list ? " by list" : "");
    }

    /// Until the script is at its end.
    void run() { run_to_end(loop, informer.run()); }

    /// What changed, in order; forgets it.
    std::vector<std::string> changes() { return std::exchange(log, {}); }

    [[nodiscard]] std::string target(std::size_t request) const {
        return request < transport.requests().size() ? transport.requests()[request].target
                                                     : "(no such request)";
    }

    asio::io_context loop;
    FakeClock clock;
    ScriptedTransport transport;
    kube::Informer<Thing> informer;
    std::vector<std::string> log;
};

/// The same on a server that streams no lists.
class PagedReflectorFixture : public ReflectorFixture {
protected:
    PagedReflectorFixture() : ReflectorFixture(paged()) {}

    static kube::ReflectorSettings paged() {
        auto chosen = settings();
        chosen.streaming_lists = false;
        return chosen;
    }
};

}  // namespace scout::test
