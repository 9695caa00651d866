// SPDX-License-Identifier: Apache-2.0
#include "aggregator/agents_port.h"

#include <chrono>
#include <functional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregator/agent_certificates.h"
#include "aggregator/fleet.h"
#include "aggregator/token_owners.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/task_scope.h"
#include "daemon/listener.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"
#include "tests/wire/certificates.h"

namespace scout::aggregator {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class NoOwners final : public TokenOwners {
public:
    Task<Result<AgentIdentity>> owner_of(std::string /*token*/) override {
        co_return fail(Errc::refused, "nobody's");
    }
};

class AgentsPortTest : public testing::Test {
protected:
    AgentsPortTest() : taken(daemon::Listener::at(loop.get_executor(), any_port).value()) {
        const auto made = authority.make({.common_name = "scout", .names = "IP:127.0.0.1"});
        pair = {.chain = made.certificate, .key = made.key};
        scope.spawn("port", [this] { return port.run(); });
    }
    ~AgentsPortTest() override { scout::test::run_to_end(loop, close()); }
    AgentsPortTest(const AgentsPortTest&) = delete;
    AgentsPortTest& operator=(const AgentsPortTest&) = delete;
    AgentsPortTest(AgentsPortTest&&) = delete;
    AgentsPortTest& operator=(AgentsPortTest&&) = delete;

    Task<> close() {
        taken.close();
        co_await scope.close();
    }

    [[nodiscard]] bool takes_connections() {
        asio::ip::tcp::socket socket(loop);
        boost::system::error_code refused;
        socket.connect(taken.address(), refused);
        return !refused;
    }

    [[nodiscard]] bool run_until(const std::function<bool()>& condition) {
        const auto end = clock.steady() + 20s;
        while (!condition() && clock.steady() < end) {
            loop.restart();
            loop.run_for(5ms);
        }
        return condition();
    }

    const boost::asio::ip::tcp::endpoint any_port{boost::asio::ip::make_address("127.0.0.1"), 0};
    scout::test::TemporaryFolder folder;
    scout::test::Authority authority{"a test"};
    CertifiedKey pair;
    SystemClock clock;
    asio::io_context loop{1};
    BlockingPool pool{2};
    TaskScope scope{loop.get_executor()};
    daemon::Listener taken;
    Fleet fleet{{}, {}, {}, clock};
    NoOwners owners;
    AgentCertificates certificates{{}, {}, clock};
    AgentsPort port{
        loop.get_executor(),
        pool,
        fleet,
        owners,
        certificates,
        {.endpoint = {.unix_path = {}, .host = "127.0.0.1", .port = taken.address().port()},
         .security = {.tls = wire::TlsFiles{.ca = {},
                                            .certificate = folder.path() / "serving/tls.crt",
                                            .key = folder.path() / "serving/tls.key",
                                            .side = wire::TlsSide::server},
                      .plaintext = false,
                      .server_name = {}},
         .writes_certificate = true}};
};

TEST_F(AgentsPortTest, IsOpenWhileItShouldBeFromTheFirstCertificateOn) {
    taken.close();
    port.should_be_open(true);
    loop.run_for(50ms);
    EXPECT_FALSE(takes_connections());

    port.use(pair);
    EXPECT_TRUE(run_until([this] { return takes_connections(); }));

    port.should_be_open(false);
    EXPECT_TRUE(run_until([this] { return !takes_connections(); }));
    EXPECT_EQ(port.streams(), 0U);
}

TEST_F(AgentsPortTest, TellsWhyItIsClosedOnlyWhileItShouldBeOpen) {
    port.use(pair);
    port.should_be_open(true);

    ASSERT_TRUE(run_until([this] { return !port.trouble().empty(); }));
    EXPECT_THAT(port.trouble(), HasSubstr("in use"));
    EXPECT_EQ(read_file(folder.path() / "serving/tls.key"), pair.key);

    port.should_be_open(false);
    EXPECT_EQ(port.trouble(), "") << "a standby is not to take reports";
}

}  // namespace
}  // namespace scout::aggregator
