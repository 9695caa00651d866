// SPDX-License-Identifier: Apache-2.0
#include "kube/http_transport.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "base/version.h"

namespace scout::kube {
namespace {

using std::chrono::milliseconds;

bool is_printable(std::string_view text, char least) {
    return std::all_of(text.begin(), text.end(),
                       [least](char c) { return c >= least && c < 0x7f; });
}

/// Nothing of a request may end its line or header.
bool is_sound(const HttpRequest& request) {
    return is_printable(request.method, '!') && request.target.starts_with('/') &&
           is_printable(request.target, '!') && is_printable(request.content_type, ' ') &&
           is_printable(request.accept, ' ');
}

std::string fixed_headers(const ClusterAccess& access) {
    std::string headers = " HTTP/1.1\r\nHost: " + access.server.authority() +
                          "\r\nUser-Agent: virt-scout/" + version + "\r\n";
    for (const auto& [name, value] : access.impersonation) {
        headers.append(name).append(": ").append(value).append("\r\n");
    }
    return headers;
}

Route route_of(const ClusterAccess& access) {
    return {
        .server = access.server,
        .server_name = access.tls_server_name.empty() ? access.server.host : access.tls_server_name,
        .insecure = access.insecure,
        .proxy = access.proxy};
}

/// A time-out of a step is one of the whole call.
Error in_time(Error error, const Deadline& deadline) {
    if (error.code == Errc::timed_out) {
        error.message +=
            " (the whole call had " + std::to_string(deadline.limit().count()) + " ms)";
    }
    return error;
}

}  // namespace

HttpTransport::HttpTransport(asio::any_io_executor loop, const ClusterAccess& access,
                             const Clock& clock, HttpLimits limits)
    : route_(route_of(access)),
      fixed_headers_(fixed_headers(access)),
      clock_(clock),
      limits_(limits),
      credentials_(access, clock),
      tls_(access, clock),
      pool_(std::make_shared<ConnectionPool>(
          std::move(loop), clock,
          ConnectionPool::Limits{.places = limits.requests, .idle = limits.idle})) {}

HttpTransport::~HttpTransport() {
    pool_->close_all();
}

Task<Result<HttpResponse>> HttpTransport::send(HttpRequest request, milliseconds limit) {
    const Deadline deadline(clock_, limit);
    const HttpAnswer::Limits limits{.head_bytes = limits_.head_bytes,
                                    .body_bytes = limits_.body_bytes};
    const auto prepared = prepare(std::move(request), limits);
    if (!prepared) {
        co_return fail(prepared.error());
    }
    const auto place = co_await pool_->enter(deadline);
    if (!place) {
        co_return fail(Error{place.error()}.within(route_.server.url));
    }
    auto exchange = co_await begin(*prepared, deadline);
    if (!exchange) {
        co_return fail(in_time(std::move(exchange.error()), deadline));
    }
    auto& answer = exchange->answer;
    while (!answer.is_done()) {
        auto done = co_await exchange->connection->read(&answer, deadline.left());
        if (!done) {
            co_return fail(in_time(std::move(done.error()), deadline));
        }
    }
    if (answer.leaves_connection()) {
        pool_->keep(std::move(exchange->connection));
    }
    HttpResponse response{.head = std::move(answer.head()), .body = std::move(answer.body())};
    co_return response;
}

Task<Result<std::unique_ptr<HttpStream>>> HttpTransport::open(HttpRequest request,
                                                              milliseconds limit) {
    const Deadline deadline(clock_, limit);
    if (*open_streams_ >= limits_.streams) {
        co_return fail(Errc::unavailable, route_.server.url + ": expected at most " +
                                              std::to_string(limits_.streams) +
                                              " streams at once, this would be one more");
    }
    ++*open_streams_;
    const std::shared_ptr<void> held(nullptr, [count = open_streams_](void*) { --*count; });
    const auto prepared = prepare(std::move(request), {.head_bytes = limits_.head_bytes});
    if (!prepared) {
        co_return fail(prepared.error());
    }
    auto exchange = co_await begin(*prepared, deadline);
    if (!exchange) {
        co_return fail(in_time(std::move(exchange.error()), deadline));
    }
    co_return std::make_unique<LineStream>(*std::move(exchange), clock_, limits_.line_bytes, held);
}

Result<std::shared_ptr<const HttpTransport::Prepared>> HttpTransport::prepare(
    HttpRequest request, HttpAnswer::Limits limits) const {
    if (!is_sound(request)) {
        return fail(Errc::invalid, "expected a path without spaces and control characters, found " +
                                       log_value(request.method + " " + request.target));
    }
    std::string head = request.method + " " + route_.server.prefix + request.target +
                       fixed_headers_ + "Accept: " + request.accept + "\r\n";
    if (!request.content_type.empty()) {
        head += "Content-Type: " + request.content_type + "\r\n";
    }
    if (request.method != "GET") {
        head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
    }
    return std::make_shared<const Prepared>(
        Prepared{.head = std::move(head), .request = std::move(request), .limits = limits});
}

Task<Result<Exchange>> HttpTransport::begin(std::shared_ptr<const Prepared> prepared,
                                            Deadline deadline) {
    if (deadline.passed()) {
        co_return fail(Errc::timed_out, route_.server.url +
                                            ": expected time left to send the call, found none; it "
                                            "began too late, or its limit is too short");
    }
    for (bool again = true;; again = false) {
        const auto identity = co_await credentials_.current();
        if (!identity) {
            co_return fail(identity.error());
        }
        // A credential plugin may have taken all the time: nothing may be sent late.
        if (deadline.passed()) {
            co_return fail(Errc::timed_out, "no credentials in time");
        }
        auto exchange = co_await attempt(prepared, *identity, deadline);
        if (!exchange || exchange->answer.head().status != 401 || !again) {
            co_return exchange;
        }
        const bool other =
            co_await has_other_identity(*identity, exchange->connection->tls_version());
        if (!other) {
            co_return exchange;
        }
    }
}

Task<bool> HttpTransport::has_other_identity(Identity refused, std::uint64_t refused_tls) {
    const auto renewed = co_await credentials_.renew(refused.version);
    if (!renewed) {
        spdlog::warn("credentials were refused and cannot be renewed error={}",
                     log_value(renewed.error().message));
        co_return false;
    }
    tls_.look_soon();
    const auto tls = tls_for(refused);
    co_return *renewed || (tls && tls->version != refused_tls);
}

Result<TlsContext> HttpTransport::tls_for(const Identity& identity) {
    return route_.server.tls ? tls_.current(identity.certificate) : TlsContext{};
}

Task<Result<std::unique_ptr<Connection>>> HttpTransport::connect(TlsContext tls,
                                                                 Deadline deadline) {
    ++connected_;
    return Connection::open(route_, std::move(tls), deadline);
}

Task<Result<Exchange>> HttpTransport::attempt(std::shared_ptr<const Prepared> prepared,
                                              Identity identity, Deadline deadline) {
    const auto tls = tls_for(identity);
    if (!tls) {
        co_return fail(Error{tls.error()}.within("TLS with " + route_.server.url));
    }
    auto head = prepared->head;
    if (!identity.authorization.empty()) {
        head += "Authorization: " + identity.authorization + "\r\n";
    }
    head += "\r\n";
    for (auto kept = pool_->take(tls->version);; kept = nullptr) {
        const bool used_before = kept != nullptr;
        if (!kept) {
            auto fresh = co_await connect(*tls, deadline);
            if (!fresh) {
                co_return fail(std::move(fresh.error()));
            }
            kept = *std::move(fresh);
        }
        Exchange exchange{.connection = std::move(kept), .answer = HttpAnswer(prepared->limits)};
        auto done = co_await converse(&exchange, head, prepared->request.body, deadline);
        if (done) {
            co_return exchange;
        }
        if (used_before && !exchange.answer.has_begun() && done.error().code == Errc::timed_out) {
            // Who was behind it may be gone without a word, and then is so behind the others.
            pool_->close_all();
        }
        const bool was_closed =
            used_before && !exchange.answer.has_begun() && done.error().code == Errc::unavailable;
        if (!was_closed || prepared->request.method != "GET") {
            co_return fail(std::move(done.error()));
        }
    }
}

Task<Status> HttpTransport::converse(Exchange* exchange, std::string head, std::string_view body,
                                     Deadline deadline) const {
    auto& connection = *exchange->connection;
    auto& answer = exchange->answer;
    auto sent = co_await connection.write(head, body, deadline.left());
    if (!sent) {
        co_return sent;
    }
    while (!answer.has_head()) {
        auto done = co_await connection.read(&answer, deadline.left());
        if (!done) {
            co_return done;
        }
    }
    co_return Status{};
}

}  // namespace scout::kube
