// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "base/task.h"
#include "kube/access.h"
#include "tests/kube/bed_fixture.h"
#include "tests/wire/certificates.h"

namespace scout::test {

/// A way to an API server on which a test makes calls fail, or slow: HTTPS of its own, and each
/// request goes on as the user of `behind`, whoever sent it. On the test's loop.
class FaultProxy {
public:
    struct Call {
        std::string method;
        std::string target;
    };
    struct Fate {
        unsigned status = 0;                 ///< answered by the proxy; 0: by the server
        std::chrono::milliseconds delay{0};  ///< before either
    };

    FaultProxy(asio::io_context& loop, kube::ClusterAccess behind);

    /// The same server by way of this.
    [[nodiscard]] kube::ClusterAccess access() const;
    /// What becomes of each call from now on.
    void decide(std::function<Fate(const Call&)> fate) { fate_ = std::move(fate); }
    /// That went on to the server.
    [[nodiscard]] const std::vector<Call>& passed() const noexcept { return passed_; }
    [[nodiscard]] unsigned refused() const noexcept { return refused_; }

private:
    struct Link;

    [[nodiscard]] Task<> accept();
    [[nodiscard]] Task<> serve(std::shared_ptr<Link> link);
    [[nodiscard]] Task<> bring_answers(std::shared_ptr<Link> link);
    [[nodiscard]] Task<bool> pass_on(std::shared_ptr<Link> link);
    [[nodiscard]] Task<bool> connect(std::shared_ptr<Link> link);

    kube::ClusterAccess behind_;
    Authority::Pem own_;
    asio::ssl::context near_context_;
    asio::ssl::context far_context_;
    asio::ip::tcp::acceptor acceptor_;
    std::function<Fate(const Call&)> fate_ = [](const Call&) { return Fate{}; };
    std::vector<Call> passed_;
    unsigned refused_ = 0;
    Background background_;
};

}  // namespace scout::test
