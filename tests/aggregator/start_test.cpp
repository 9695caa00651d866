// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/aggregator/running_aggregator.h"
#include "tests/daemon/http_client.h"
#include "tests/support/temporary_folder.h"

namespace scout::aggregator {
namespace {

class StartTest : public ::testing::Test {
protected:
    static void expect_refused(const Config& config, const std::string& sentence) {
        const SystemClock clock;
        RunningAggregator running(config, clock);
        ASSERT_FALSE(running.started());
        EXPECT_NE(running.started().error().message.find(sentence), std::string::npos)
            << running.started().error().message;
    }

    test::TemporaryFolder folder;
    SystemClock clock;
};

TEST_F(StartTest, PortInUseIsOneClearSentence) {
    RunningAggregator first(test_config(), clock);
    ASSERT_TRUE(first.started()) << first.started().error().message;
    auto grpc = test_config();
    grpc.listen_grpc = first.endpoint().target();
    auto http = test_config();
    http.listen_http = "127.0.0.1:" + std::to_string(first.http_port());

    expect_refused(grpc, "cannot listen on " + first.endpoint().target() +
                             ": the port is in use by another program");
    expect_refused(http, "listen-http: ");
}

TEST_F(StartTest, SocketRulesHold) {
    auto config = test_config();
    config.query_socket = folder.path() / "query.sock";
    RunningAggregator first(config, clock);
    ASSERT_TRUE(first.started()) << first.started().error().message;
    expect_refused(config, "another process is listening there");

    auto file = test_config();
    file.query_socket = folder.write("file.sock", "precious");
    expect_refused(file, "a file that is no socket is there");
    EXPECT_TRUE(std::filesystem::exists(file.query_socket));

    auto missing = test_config();
    missing.query_socket = folder.path() / "missing" / "query.sock";
    expect_refused(missing, "its folder must exist");
}

TEST_F(StartTest, SocketIsGoneAfterTheStop) {
    auto config = test_config();
    config.query_socket = folder.path() / "query.sock";
    {
        RunningAggregator running(config, clock);
        ASSERT_TRUE(running.started()) << running.started().error().message;
        EXPECT_TRUE(std::filesystem::exists(config.query_socket));
    }
    EXPECT_FALSE(std::filesystem::exists(config.query_socket));
}

TEST_F(StartTest, WrongTlsFilesAndMapAreToldByKey) {
    auto tls = test_config();
    tls.plaintext = false;
    tls.tls_ca = folder.path() / "ca.pem";
    tls.tls_cert = folder.path() / "cert.pem";
    tls.tls_key = folder.path() / "key.pem";
    expect_refused(tls, "ca.pem");

    auto map = test_config();
    map.cpu_map = folder.path() / "no-map";
    if (!std::filesystem::exists("/usr/share/libvirt/cpu_map/index.xml")) {
        expect_refused(map, "cpu-map: ");
    }
}

TEST_F(StartTest, DocumentsThatAreMissingDoNotKeepItFromServing) {
    auto config = test_config();
    config.documents = {(folder.path() / "none").string()};
    config.sample_documents = folder.path();

    RunningAggregator running(config, clock);

    EXPECT_TRUE(running.started()) << running.started().error().message;
}

}  // namespace
}  // namespace scout::aggregator
