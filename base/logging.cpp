// SPDX-License-Identifier: Apache-2.0
#include "base/logging.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/utf8.h"

namespace scout {
namespace {

constexpr std::size_t longest_value = 512;

void append_hex(std::string& out, char c) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += digits[byte >> 4U];
    out += digits[byte & 0xfU];
}

/// Writes one record as a JSON object on one line.
class JsonFormatter final : public spdlog::formatter {
public:
    void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
        head_.format(message, head_text_);
        const std::string_view body{message.payload.data(), message.payload.size()};
        const std::string text =
            boost::json::serialize(boost::json::string(replace_strays(body, append_hex)));
        out.append(head_text_.data(), head_text_.data() + head_text_.size());
        out.append(text.data(), text.data() + text.size());
        out.push_back('}');
        out.push_back('\n');
        head_text_.clear();
    }
    [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
        return std::make_unique<JsonFormatter>();
    }

private:
    spdlog::pattern_formatter head_{R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","msg":)",
                                    spdlog::pattern_time_type::utc, ""};
    spdlog::memory_buf_t head_text_;
};

}  // namespace

Status set_up_logging(const LogConfig& config, bool to_stderr) {
    const auto level = spdlog::level::from_str(config.level);
    if (level == spdlog::level::off && config.level != "off") {
        return fail(Errc::invalid,
                    "log-level: expected trace, debug, info, warn, error or off, found '" +
                        config.level + "'");
    }
    if (config.format != "logfmt" && config.format != "json") {
        return fail(Errc::invalid,
                    "log-format: expected logfmt or json, found '" + config.format + "'");
    }
    std::shared_ptr<spdlog::sinks::sink> sink;
    if (to_stderr) {
        sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
        sink = std::make_shared<spdlog::sinks::stdout_sink_mt>();
    }
    auto logger = std::make_shared<spdlog::logger>("", std::move(sink));
    if (config.format == "json") {
        logger->set_formatter(std::make_unique<JsonFormatter>());
    } else {
        logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v",
                            spdlog::pattern_time_type::utc);
    }
    logger->set_level(level);
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
    return {};
}

std::string log_value(std::string_view text) {
    const bool cut = text.size() > longest_value;
    text = head_of(text, longest_value);
    bool quote = text.empty();
    std::string out;
    while (!text.empty()) {
        const char c = text.front();
        const auto [point, length] = first_character(text);
        if (length == 0 || is_control(point)) {
            for (const char each : text.substr(0, std::max<std::size_t>(length, 1))) {
                append_hex(out, each);
            }
        } else if (length > 1) {
            out += text.substr(0, length);
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
            quote = true;
        } else {
            quote = quote || c == ' ' || c == '=';
            out += c;
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    if (cut) {
        out += "…";
    }
    return quote ? '"' + out + '"' : out;
}

}  // namespace scout
