// SPDX-License-Identifier: Apache-2.0
#include "kube/published_keys.h"

#include <chrono>
#include <utility>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

namespace scout::kube {
namespace {

using namespace std::chrono_literals;

constexpr auto read_limit = 5s;
constexpr auto read_again = 10s;
constexpr auto retry_after = 1s;  ///< a read that failed

}  // namespace

/// One read: whoever wants the same waits for its end, however it ends.
class PublishedKeys::Reading {
public:
    Reading(PublishedKeys& keys, const asio::any_io_executor& loop) : keys_(keys) {
        keys_.reading_ = std::make_shared<asio::steady_timer>(loop, SteadyTime::max());
    }
    ~Reading() { std::exchange(keys_.reading_, nullptr)->cancel(); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    Reading(Reading&&) = delete;
    Reading& operator=(Reading&&) = delete;

private:
    PublishedKeys& keys_;
};

Task<Result<std::shared_ptr<const SigningKeys>>> PublishedKeys::with(std::string key_id) {
    while (keys_ == nullptr || !keys_->has(key_id)) {
        if (const auto other = reading_) {
            co_await other->async_wait(as_result);
            // The end of the read ends the wait as a cancellation does: the state tells them apart.
            const auto state = co_await asio::this_coro::cancellation_state;
            if (state.cancelled() != asio::cancellation_type::none) {
                co_return fail(Errc::cancelled, "gave up waiting for the cluster's signing keys");
            }
            // A read that was given up has come to nothing: one of those who waited reads next.
            continue;
        }
        if (clock_.steady() < next_read_) {
            break;
        }
        auto done = co_await read();
        if (!done) {
            co_return fail(std::move(done.error()));
        }
    }
    const bool known = keys_ != nullptr && keys_->has(key_id);
    if (trouble_ && !known) {
        co_return fail(*trouble_);
    }
    co_return keys_;
}

Task<Status> PublishedKeys::read() {
    const Reading reading(*this, co_await asio::this_coro::executor);
    const CallOptions options{.limit = read_limit};
    auto text = co_await client_.get_path("/openid/v1/jwks", options);
    auto keys = plain(std::move(text)).and_then([](const std::string& body) {
        return SigningKeys::parse(body);
    });
    if (!keys) {
        keys.error() = std::move(keys.error()).within("signing keys of the cluster");
    }
    if (!keys && keys.error().code == Errc::cancelled) {
        // That of the caller alone: it says nothing of the keys.
        co_return fail(std::move(keys.error()));
    }
    next_read_ = clock_.steady() + (keys ? read_again : retry_after);
    if (keys) {
        keys_ = std::make_shared<const SigningKeys>(std::move(*keys));
        trouble_.reset();
    } else {
        trouble_ = std::move(keys.error());
    }
    co_return Status{};
}

}  // namespace scout::kube
