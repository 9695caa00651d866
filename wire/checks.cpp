// SPDX-License-Identifier: Apache-2.0
#include "wire/checks.h"

#include <utility>

#include "base/logging.h"
#include "base/utf8.h"

namespace scout::wire {
namespace {

/// The end of the year 9999: RFC 3339 has four digits for it.
constexpr std::int64_t last_unix_ms = 253'402'300'799'999;

}  // namespace

std::string Checks::name(std::string_view field, const std::string& text) {
    if (text.size() > name_limit) {
        fault(field, "at most " + std::to_string(name_limit) + " bytes",
              std::to_string(text.size()));
        return {};
    }
    return text;
}

std::vector<std::string> Checks::names(std::string_view field, const RepeatedText& texts,
                                       std::size_t limit) {
    std::vector<std::string> out;
    if (!count(field, texts.size(), limit)) {
        return out;
    }
    out.reserve(static_cast<std::size_t>(texts.size()));
    for (const auto& text : texts) {
        out.push_back(name(field, text));
    }
    return out;
}

migration::FeatureSet Checks::set(std::string_view field, const RepeatedText& texts) {
    return migration::make_feature_set(names(field, texts));
}

bool Checks::count(std::string_view field, int found, std::size_t limit) {
    if (std::cmp_greater(found, limit)) {
        fault(field, "at most " + std::to_string(limit) + " entries", std::to_string(found));
        return false;
    }
    return true;
}

std::string Checks::found_by(std::string_view field, const std::string& text) {
    if (text != "event" && text != "resync") {
        fault(field, "'event' or 'resync'", log_value(cut(text, 32)));
    }
    return text;
}

std::int64_t Checks::unix_ms(std::string_view field, std::int64_t time) {
    if (time < 0 || time > last_unix_ms) {
        fault(field, "0 to " + std::to_string(last_unix_ms) + " ms since 1970",
              std::to_string(time));
    }
    return time;
}

void Checks::fault(std::string_view field, std::string_view expected, std::string_view found) {
    if (fault_.empty()) {
        fault_.append(field)
            .append(": expected ")
            .append(expected)
            .append(", found ")
            .append(found);
    }
}

Status Checks::status() const {
    if (!fault_.empty()) {
        return fail(Errc::invalid, fault_);
    }
    return {};
}

std::string cut(std::string_view text, std::size_t limit) {
    return std::string{head_of(text, limit)};
}

}  // namespace scout::wire
