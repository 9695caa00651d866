// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "kube/connection.h"
#include "kube/http_answer.h"
#include "kube/transport.h"

namespace scout::kube {

/// A request that was sent and whose head has been read.
struct Exchange {
    std::unique_ptr<Connection> connection;
    HttpAnswer answer;
};

/// The HttpStream of a connection: one copy of each byte, from the connection's buffer into the
/// line.
class LineStream final : public HttpStream {
public:
    /// `held` is let go with the stream; the clock must outlive it.
    LineStream(Exchange exchange, const Clock& clock, std::size_t line_limit,
               std::shared_ptr<void> held);

    [[nodiscard]] const HttpHead& head() const override { return head_; }
    [[nodiscard]] Task<Result<std::optional<std::string_view>>> next_line(
        std::chrono::milliseconds silence) override;
    [[nodiscard]] Task<Result<std::string>> rest(std::chrono::milliseconds limit) override;

private:
    [[nodiscard]] std::optional<std::string_view> line_at_hand();

    Exchange exchange_;
    const Clock& clock_;
    HttpHead head_;
    std::size_t line_limit_;
    std::size_t begin_ = 0;    ///< of the next line, in the body so far
    std::size_t scanned_ = 0;  ///< up to here there is no end of that line
    std::shared_ptr<void> held_;
};

}  // namespace scout::kube
