// SPDX-License-Identifier: Apache-2.0
#include "kube/credentials.h"

#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <spdlog/spdlog.h>

#include "base/files.h"
#include "base/logging.h"

namespace scout::kube {
namespace {

using namespace std::chrono_literals;

/// As client-go has it.
constexpr auto token_file_age = 1min;
constexpr auto plugin_limit = 60s;
constexpr auto plugin_pause = 10s;

/// Without the line end that files and programs put behind it.
std::string trimmed(const std::string& text) {
    constexpr auto space = " \t\r\n";
    const auto first = text.find_first_not_of(space);
    return first == std::string::npos
               ? std::string{}
               : text.substr(first, text.find_last_not_of(space) - first + 1);
}

/// A header of ours must not become two.
Result<std::string> checked_token(const std::string& text) {
    auto token = trimmed(text);
    const bool printable =
        std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; });
    if (token.empty() || !printable) {
        return fail(Errc::invalid, token.empty() ? "expected a token, found nothing"
                                                 : "expected a token, found text with spaces or "
                                                   "other characters that no token has");
    }
    return token;
}

bool same(const std::shared_ptr<const ClientCertificate>& a,
          const std::shared_ptr<const ClientCertificate>& b) {
    return a == b || (a && b && a->certificate == b->certificate && a->key == b->key);
}

}  // namespace

/// One run of the plugin: others wait until it is destroyed, however it ended.
class Credentials::Running {
public:
    Running(Credentials& owner, asio::any_io_executor loop) : owner_(owner) {
        owner_.running_ = std::make_shared<asio::steady_timer>(
            std::move(loop), asio::steady_timer::time_point::max());
    }
    ~Running() { std::exchange(owner_.running_, nullptr)->cancel(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    Running(Running&&) = delete;
    Running& operator=(Running&&) = delete;

private:
    Credentials& owner_;
};

Credentials::Credentials(ClusterAccess access, const Clock& clock)
    : access_(std::move(access)), clock_(clock) {}

Task<Result<Identity>> Credentials::current() {
    co_await wait_for_other_run();
    if (is_due()) {
        // Those who waited for a run that failed do not each try another.
        if (failed_at_ && clock_.steady() - *failed_at_ < plugin_pause) {
            co_return fail(failure_);
        }
        auto done = co_await read();
        if (!done) {
            co_return fail(std::move(done.error()));
        }
    }
    co_return identity_;
}

Task<Result<bool>> Credentials::renew(std::uint64_t refused) {
    co_await wait_for_other_run();
    const bool rests = access_.exec && read_at_ && clock_.steady() - *read_at_ < plugin_pause;
    if (identity_.version == refused && !rests) {
        auto done = co_await read();
        if (!done) {
            co_return fail(std::move(done.error()));
        }
    }
    co_return identity_.version != refused;
}

Task<> Credentials::wait_for_other_run() {
    while (running_) {
        const auto run = running_;
        co_await run->async_wait(as_result);
    }
}

bool Credentials::is_due() const {
    if (!read_at_) {
        return true;
    }
    if (!access_.token_file.empty()) {
        return clock_.steady() - *read_at_ >= token_file_age;
    }
    return expires_ && clock_.wall() >= *expires_;
}

Task<Status> Credentials::read() {
    if (!access_.token_file.empty()) {
        co_return read_token_file();
    }
    if (access_.token.empty() && access_.exec) {
        co_return co_await ask_plugin();
    }
    if (!access_.token.empty()) {
        auto token = checked_token(access_.token);
        if (!token) {
            co_return fail(std::move(token.error()).within("token of " + access_.origin));
        }
        take(*std::move(token), nullptr);
    }
    read_at_ = clock_.steady();
    co_return Status{};
}

Status Credentials::read_token_file() {
    // A local file of a few KiB, in a pod in memory: read on the loop.
    auto token = read_file(access_.token_file, longest_token).and_then(checked_token);
    if (token) {
        take(*std::move(token), nullptr);
        complained_ = false;
    } else if (identity_.authorization.empty()) {
        return fail(Errc::unavailable, "token of " + access_.origin + ": " + token.error().message);
    } else if (!std::exchange(complained_, true)) {
        spdlog::warn("token file is unreadable, the last token stays in force file={} error={}",
                     log_value(access_.token_file.string()), log_value(token.error().message));
    }
    read_at_ = clock_.steady();
    return {};
}

Task<Status> Credentials::ask_plugin() {
    const Running running(*this, co_await asio::this_coro::executor);
    ClusterAccess access = access_;
    auto credential = co_await run_exec_plugin(std::move(access), plugin_limit);
    failed_at_.reset();
    if (!credential) {
        if (credential.error().code != Errc::cancelled) {
            failed_at_ = clock_.steady();
            failure_ = credential.error();
        }
        co_return fail(std::move(credential.error()));
    }
    std::string token;
    if (!credential->token.empty()) {
        auto checked = checked_token(credential->token);
        if (!checked) {
            failed_at_ = clock_.steady();
            failure_ = std::move(checked.error()).within("credential plugin");
            co_return fail(failure_);
        }
        token = *std::move(checked);
    }
    std::shared_ptr<const ClientCertificate> certificate;
    if (!credential->certificate.empty()) {
        ClientCertificate pem{.certificate = std::move(credential->certificate),
                              .key = std::move(credential->key)};
        certificate = std::make_shared<const ClientCertificate>(std::move(pem));
    }
    take(std::move(token), std::move(certificate));
    expires_ = credential->expires;
    read_at_ = clock_.steady();
    co_return Status{};
}

void Credentials::take(std::string token, std::shared_ptr<const ClientCertificate> certificate) {
    auto authorization = token.empty() ? std::string{} : "Bearer " + std::move(token);
    if (authorization != identity_.authorization || !same(certificate, identity_.certificate)) {
        identity_.authorization = std::move(authorization);
        identity_.certificate = std::move(certificate);
        ++identity_.version;
    }
}

}  // namespace scout::kube
