// SPDX-License-Identifier: Apache-2.0
// The bed itself: nothing of it stays behind; and it runs on an etcd that streams no lists.
#include <csignal>
#include <cstdlib>

#include <boost/asio/ip/tcp.hpp>

#include "kube/informer.h"
#include "kube/objects/bare_object.h"
#include "tests/kube/bed_fixture.h"
#include "tests/support/wait_until.h"

namespace scout::kube {
namespace {

using namespace std::chrono_literals;

class BedSelfTest : public test::BedTest {
protected:
    [[nodiscard]] bool answers(const std::string& url) {
        asio::ip::tcp::socket socket(loop);
        boost::system::error_code error;
        socket.connect({asio::ip::address_v4::loopback(), test::port_of(url)}, error);
        return !error;
    }
};

TEST_F(BedSelfTest, PartsEndWithAKilledBed) {
    const test::Bed other({.controllers = true, .scheduler = true});
    ASSERT_TRUE(answers(other.server()));
    ASSERT_TRUE(answers(other.etcd_url()));

    ASSERT_EQ(::kill(other.pid(), SIGKILL), 0);

    EXPECT_TRUE(test::wait_until([&] { return !answers(other.server()); }));
    EXPECT_TRUE(test::wait_until([&] { return !answers(other.etcd_url()); }));
}

TEST_F(BedSelfTest, AnEtcdThatEndsNoStreamIsReadInPages) {
    const char* old = std::getenv("SCOUT_OLD_ETCD");
    if (old == nullptr || *old == '\0') {
        GTEST_SKIP() << "SCOUT_OLD_ETCD names no etcd before 3.4.25";
    }
    test::Bed::Options options;
    options.etcd = old;
    const test::Bed other(options);
    HttpTransport way(loop.get_executor(), test::access_to(other), clock);
    ReflectorSettings settings;
    settings.backoff = {20ms, 200ms};
    settings.stream_silence = 300ms;
    Informer<BareObject> informer(way, clock,
                                  {.resource = test::core("namespaces", "Namespace", false)},
                                  &decode_bare, settings);
    test::Background background(loop);
    background.spawn([&informer] { return informer.run(); });

    ASSERT_TRUE(run_until([&] { return informer.synced(); }));

    EXPECT_NE(informer.find("", "kube-system"), nullptr);
    EXPECT_EQ(informer.reflector().counters().pages, 1U);
}

}  // namespace
}  // namespace scout::kube
