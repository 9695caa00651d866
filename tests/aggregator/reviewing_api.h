// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "kube/transport.h"

namespace scout::test {

/// An API server that answers SubjectAccessReviews, and holds its answers where a test wants that.
class ReviewingApi final : public kube::Transport {
public:
    explicit ReviewingApi(asio::io_context& loop) : release(loop, SteadyTime::max()) {}

    Task<Result<kube::HttpResponse>> send(kube::HttpRequest request,
                                          std::chrono::milliseconds /*limit*/) override {
        const auto review = boost::json::parse(request.body);
        specs.push_back(review.at("spec").as_object());
        most = std::max(most, ++under_way);
        if (held) {
            co_await release.async_wait(as_result);
        }
        --under_way;
        if (away) {
            co_return fail(Errc::unavailable, "connection refused");
        }
        const boost::json::object status{{"allowed", allows(specs.back())}, {"reason", reason}};
        kube::HttpResponse response;
        response.head.status = 201;
        response.body = boost::json::serialize(boost::json::object{{"status", status}});
        co_return response;
    }
    Task<Result<std::unique_ptr<kube::HttpStream>>> open(
        kube::HttpRequest /*request*/, std::chrono::milliseconds /*limit*/) override {
        co_return fail(Errc::cancelled, "no watches here");
    }

    asio::steady_timer release;
    bool held = false;
    bool away = false;
    /// By the spec of the review.
    std::function<bool(const boost::json::object&)> allows = [](const auto& /*spec*/) {
        return true;
    };
    std::string reason;
    std::vector<boost::json::object> specs;
    std::size_t under_way = 0;
    std::size_t most = 0;
};

}  // namespace scout::test
