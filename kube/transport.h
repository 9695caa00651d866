// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "kube/padded_text.h"

namespace scout::kube {

struct HttpRequest {
    std::string method = "GET";
    std::string target;        ///< path and query as they go over the wire, percent-encoded
    std::string content_type;  ///< of the body; empty without one
    std::string accept = "application/json";
    std::string body;
};

struct HttpHead {
    unsigned status = 0;
    std::string content_type;
    std::optional<std::chrono::seconds> retry_after;
    std::vector<std::string> warnings;  ///< texts of Warning headers, at most 16
};

struct HttpResponse {
    HttpHead head;
    std::string body;
};

/// An answer that goes on: a watch.
///
/// Loop thread only. Destroying it closes the connection.
class HttpStream {
public:
    HttpStream() = default;
    virtual ~HttpStream() = default;
    HttpStream(const HttpStream&) = delete;
    HttpStream& operator=(const HttpStream&) = delete;
    HttpStream(HttpStream&&) = delete;
    HttpStream& operator=(HttpStream&&) = delete;

    [[nodiscard]] virtual const HttpHead& head() const = 0;

    /// The next line without its end, valid until the next call and followed by at least
    /// json_padding readable bytes; nullopt once the server has ended the answer.
    /// Errc::timed_out: no byte within the silence; Errc::invalid: a line over the transport's
    /// limit; Errc::unavailable: the connection broke, also in the middle of a line.
    [[nodiscard]] virtual Task<Result<std::optional<std::string_view>>> next_line(
        std::chrono::milliseconds silence) = 0;

    /// The rest of a short answer, for errors instead of a stream.
    [[nodiscard]] virtual Task<Result<std::string>> rest(std::chrono::milliseconds limit) = 0;
};

/// How requests reach an API server: connections, TLS, identity. Knows nothing of kinds.
///
/// Loop thread only. A status of 400 and above is an answer, not an error; an Error is
/// Errc::timed_out, Errc::unavailable (connection refused, broken, TLS; the message names the
/// server and what was expected), Errc::invalid (answer over the size limit or no HTTP),
/// Errc::cancelled.
class Transport {
public:
    Transport() = default;
    virtual ~Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    Transport(Transport&&) = delete;
    Transport& operator=(Transport&&) = delete;

    /// One request and its whole answer within the limit.
    [[nodiscard]] virtual Task<Result<HttpResponse>> send(HttpRequest request,
                                                          std::chrono::milliseconds limit) = 0;

    /// One request whose answer is read line by line; the limit is for the head alone.
    [[nodiscard]] virtual Task<Result<std::unique_ptr<HttpStream>>> open(
        HttpRequest request, std::chrono::milliseconds limit) = 0;
};

}  // namespace scout::kube
