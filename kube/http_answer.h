// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/buffer.hpp>

#include "base/result.h"
#include "kube/transport.h"

namespace scout::kube {

/// One HTTP/1.1 answer, read from bytes as they come. Pure.
///
///     while (!answer.is_done()) { got = read(answer.space()); answer.take(got); … }
/// The body gathers in body(); who reads a long one takes away what it has used.
class HttpAnswer {
public:
    struct Limits {
        std::size_t head_bytes = std::size_t{64} << 10U;
        /// Of the whole body; none for an answer that goes on, whose reader bounds what gathers.
        std::optional<std::size_t> body_bytes;
    };

    explicit HttpAnswer(Limits limits);
    ~HttpAnswer();
    HttpAnswer(const HttpAnswer&) = delete;
    HttpAnswer& operator=(const HttpAnswer&) = delete;
    HttpAnswer(HttpAnswer&&) noexcept;
    HttpAnswer& operator=(HttpAnswer&&) noexcept;

    /// Room for the next bytes, 16 KiB: as much as a TLS record holds.
    [[nodiscard]] boost::asio::mutable_buffer space();
    /// Reads that many bytes of the room. Errc::invalid: no HTTP, over a limit, an encoding that
    /// nobody asked for.
    [[nodiscard]] Status take(std::size_t bytes);
    /// The peer closed. Errc::unavailable if the answer is not whole.
    [[nodiscard]] Status end();

    [[nodiscard]] bool has_begun() const noexcept;
    [[nodiscard]] bool has_head() const;
    [[nodiscard]] bool is_done() const;
    /// After is_done(): the connection can carry another request.
    [[nodiscard]] bool leaves_connection() const;

    [[nodiscard]] HttpHead& head() noexcept;
    [[nodiscard]] std::string& body() noexcept;

private:
    class Parser;

    [[nodiscard]] Status parse();
    void start_parser();

    Limits limits_;
    std::unique_ptr<Parser> parser_;
    std::vector<char> input_;
    std::size_t filled_ = 0;  ///< bytes of the input that wait for more
    bool begun_ = false;
};

}  // namespace scout::kube
