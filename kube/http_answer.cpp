// SPDX-License-Identifier: Apache-2.0
#include "kube/http_answer.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace scout::kube {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t portion = std::size_t{16} << 10U;
constexpr std::size_t most_warnings = 16;
constexpr std::size_t longest_warning = 1024;

/// RFC 7234 §5.5: `299 - "the text"`; a text in another form is kept whole.
std::string warning_text(std::string_view value) {
    value = value.substr(0, longest_warning);
    const auto first = value.find('"');
    if (first == std::string_view::npos) {
        return std::string{value};
    }
    std::string text;
    for (auto i = first + 1; i < value.size() && value[i] != '"'; ++i) {
        i += value[i] == '\\' && i + 1 < value.size() ? 1 : 0;
        text += value[i];
    }
    return text;
}

/// More than a server that restarts or is overloaded has to ask for.
constexpr std::chrono::seconds longest_retry_after{60};

/// The form with a date is not used by API servers and reads as none.
std::optional<std::chrono::seconds> read_retry_after(std::string_view value) {
    std::uint32_t seconds = 0;
    const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (wrong != std::errc{} || end != value.data() + value.size()) {
        return std::nullopt;
    }
    return std::min(std::chrono::seconds{seconds}, longest_retry_after);
}

}  // namespace

class HttpAnswer::Parser final : public http::basic_parser<false> {
public:
    HttpHead head;
    std::string body;
    bool encoded = false;
    bool is_endless = false;  ///< its body has no limit

private:
    using string_view = boost::beast::string_view;

    static std::string_view plain(string_view text) { return {text.data(), text.size()}; }

    void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
    void on_response_impl(int code, string_view, int, error_code&) override {
        head.status = static_cast<unsigned>(code);
    }
    void on_field_impl(http::field name, string_view, string_view value, error_code&) override {
        if (name == http::field::content_type) {
            head.content_type = plain(value);
        } else if (name == http::field::retry_after) {
            head.retry_after = read_retry_after(plain(value));
        } else if (name == http::field::warning && head.warnings.size() < most_warnings) {
            head.warnings.push_back(warning_text(plain(value)));
        } else if (name == http::field::content_encoding) {
            encoded = encoded || !boost::beast::iequals(value, "identity");
        }
    }
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
        // The parser has compared the length with the limit; the padding is for JSON readers.
        if (length && *length > 0 && !encoded && !is_endless) {
            body.reserve(static_cast<std::size_t>(*length) + json_padding);
        }
    }
    std::size_t on_body_impl(string_view bytes, error_code&) override {
        body.append(bytes.data(), bytes.size());
        return bytes.size();
    }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code&) override {
        body.append(bytes.data(), bytes.size());
        return bytes.size();
    }
    void on_finish_impl(error_code&) override {}
};

HttpAnswer::HttpAnswer(Limits limits) : limits_(limits) {
    start_parser();
}

HttpAnswer::~HttpAnswer() = default;
HttpAnswer::HttpAnswer(HttpAnswer&&) noexcept = default;
HttpAnswer& HttpAnswer::operator=(HttpAnswer&&) noexcept = default;

void HttpAnswer::start_parser() {
    parser_ = std::make_unique<Parser>();
    parser_->eager(true);
    parser_->header_limit(static_cast<std::uint32_t>(limits_.head_bytes));
    parser_->is_endless = !limits_.body_bytes;
    if (limits_.body_bytes) {
        parser_->body_limit(*limits_.body_bytes);
    } else {
        parser_->body_limit(boost::none);
    }
}

boost::asio::mutable_buffer HttpAnswer::space() {
    input_.resize(std::max(input_.size(), filled_ + portion));
    return {input_.data() + filled_, input_.size() - filled_};
}

Status HttpAnswer::take(std::size_t bytes) {
    begun_ = begun_ || bytes > 0;
    filled_ += bytes;
    auto done = parse();
    // 100 Continue and its like announce the answer; nobody asked for 101.
    while (done && parser_->is_done() && parser_->head.status < 200) {
        start_parser();
        done = parse();
    }
    if (done && filled_ > limits_.head_bytes + portion) {
        return fail(Errc::invalid, "expected an HTTP answer, found a line without an end");
    }
    return done;
}

Status HttpAnswer::parse() {
    std::size_t used = 0;
    error_code error;
    while (used < filled_ && !parser_->is_done() && !error) {
        used +=
            parser_->put(boost::asio::const_buffer{input_.data() + used, filled_ - used}, error);
    }
    std::copy(input_.begin() + static_cast<std::ptrdiff_t>(used),
              input_.begin() + static_cast<std::ptrdiff_t>(filled_), input_.begin());
    filled_ -= used;
    if (error == http::error::header_limit) {
        return fail(Errc::invalid, "expected headers of at most " +
                                       std::to_string(limits_.head_bytes) + " bytes, found more");
    }
    if (error == http::error::body_limit) {
        return fail(Errc::invalid, "expected an answer of at most " +
                                       std::to_string(limits_.body_bytes.value_or(0)) +
                                       " bytes, found more");
    }
    if (error && error != http::error::need_more) {
        return fail(Errc::invalid, "expected an HTTP answer, found: " + error.message());
    }
    if (parser_->encoded) {
        return fail(Errc::invalid,
                    "expected a plain answer, found a compressed one, which nobody asked for");
    }
    return {};
}

Status HttpAnswer::end() {
    error_code error;
    if (parser_->is_header_done() && !parser_->is_done()) {
        parser_->put_eof(error);
    }
    // What only announces an answer is none.
    if (error || !is_done()) {
        return fail(Errc::unavailable, begun_ ? "the server closed in the middle of its answer"
                                              : "the server closed without an answer");
    }
    return {};
}

bool HttpAnswer::has_begun() const noexcept {
    return begun_;
}

bool HttpAnswer::has_head() const {
    return parser_->is_header_done() && parser_->head.status >= 200;
}

bool HttpAnswer::is_done() const {
    return parser_->is_done() && parser_->head.status >= 200;
}

bool HttpAnswer::leaves_connection() const {
    return is_done() && filled_ == 0 && parser_->keep_alive() && !parser_->need_eof();
}

HttpHead& HttpAnswer::head() noexcept {
    return parser_->head;
}

std::string& HttpAnswer::body() noexcept {
    return parser_->body;
}

}  // namespace scout::kube
