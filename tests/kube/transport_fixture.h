// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "kube/http_transport.h"
#include "tests/kube/fake_server.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"
#include "tests/wire/certificates.h"

namespace scout::kube {

/// A transport of the test's thread against servers in threads of their own.
class TransportFixture : public testing::Test {
protected:
    using Answer = Result<HttpResponse>;
    using Stream = Result<std::unique_ptr<HttpStream>>;
    using Line = Result<std::optional<std::string_view>>;

    static constexpr std::chrono::milliseconds long_enough = std::chrono::seconds{20};
    static constexpr std::chrono::milliseconds soon{300};

    [[nodiscard]] static ClusterAccess access_to(std::uint16_t port, bool tls = false) {
        const std::string scheme = tls ? "https" : "http";
        ClusterAccess access{.origin = "a test"};
        access.server =
            parse_server_url(scheme + "://127.0.0.1:" + std::to_string(port), false).value();
        return access;
    }

    [[nodiscard]] static HttpRequest get(std::string target = "/api") {
        return {.target = std::move(target)};
    }

    [[nodiscard]] Answer send(HttpTransport& transport, HttpRequest request = get(),
                              std::chrono::milliseconds limit = long_enough) {
        return test::run_until_done(loop, transport.send(std::move(request), limit));
    }
    [[nodiscard]] Stream open(HttpTransport& transport, HttpRequest request = get(),
                              std::chrono::milliseconds limit = long_enough) {
        return test::run_until_done(loop, transport.open(std::move(request), limit));
    }
    [[nodiscard]] Line next(HttpStream& stream, std::chrono::milliseconds limit = long_enough) {
        return test::run_until_done(loop, stream.next_line(limit));
    }

    asio::io_context loop{1};
    SystemClock clock;
    test::TemporaryFolder folder;
};

/// The message of the error, or what came instead of one.
template <class T>
[[nodiscard]] std::string message_of(const Result<T>& result) {
    return result ? "no error" : result.error().message;
}

}  // namespace scout::kube
