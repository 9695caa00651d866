// SPDX-License-Identifier: Apache-2.0
#include "kube/line_stream.h"

#include <utility>

#include "kube/deadline.h"

namespace scout::kube {
namespace {

/// An error's Status object; a watch has nothing longer to say at its end.
constexpr std::size_t longest_rest = std::size_t{1} << 20U;
/// What one long line leaves allocated.
constexpr std::size_t kept_capacity = std::size_t{1} << 20U;

}  // namespace

LineStream::LineStream(Exchange exchange, const Clock& clock, std::size_t line_limit,
                       std::shared_ptr<void> held)
    : exchange_(std::move(exchange)),
      clock_(clock),
      head_(exchange_.answer.head()),
      line_limit_(line_limit),
      held_(std::move(held)) {}

std::optional<std::string_view> LineStream::line_at_hand() {
    auto& body = exchange_.answer.body();
    const auto end = body.find('\n', scanned_);
    if (end == std::string::npos) {
        scanned_ = body.size();
        return std::nullopt;
    }
    if (body.capacity() < body.size() + json_padding) {
        body.reserve(body.size() + json_padding);
    }
    const std::string_view line{body.data() + begin_, end - begin_};
    begin_ = end + 1;
    scanned_ = begin_;
    return line;
}

Task<Result<std::optional<std::string_view>>> LineStream::next_line(
    std::chrono::milliseconds silence) {
    auto& body = exchange_.answer.body();
    for (;;) {
        if (const auto line = line_at_hand()) {
            co_return line;
        }
        body.erase(0, std::exchange(begin_, 0));
        scanned_ = body.size();
        if (body.empty() && body.capacity() > kept_capacity) {
            body.shrink_to_fit();
        }
        if (body.size() > line_limit_) {
            co_return fail(Errc::invalid, exchange_.connection->name() +
                                              ": expected lines of at most " +
                                              std::to_string(line_limit_) + " bytes, found more");
        }
        if (exchange_.answer.is_done()) {
            if (body.empty()) {
                co_return std::nullopt;
            }
            co_return fail(Errc::unavailable, exchange_.connection->name() +
                                                  ": the answer ended in the middle of a line");
        }
        auto more = co_await exchange_.connection->read(&exchange_.answer, silence);
        if (!more) {
            co_return fail(std::move(more.error()));
        }
    }
}

Task<Result<std::string>> LineStream::rest(std::chrono::milliseconds limit) {
    const Deadline deadline(clock_, limit);
    auto& body = exchange_.answer.body();
    while (!exchange_.answer.is_done() && body.size() - begin_ <= longest_rest) {
        auto more = co_await exchange_.connection->read(&exchange_.answer, deadline.left());
        if (!more) {
            co_return fail(std::move(more.error()));
        }
    }
    if (body.size() - begin_ > longest_rest) {
        co_return fail(Errc::invalid, exchange_.connection->name() +
                                          ": expected an answer of at most " +
                                          std::to_string(longest_rest) + " bytes, found more");
    }
    co_return body.substr(begin_);
}

}  // namespace scout::kube
