// SPDX-License-Identifier: Apache-2.0
#include "wire/checks.h"

#include <utility>

#include "base/utf8.h"

namespace scout::wire {

std::string Checks::name(std::string_view field, const std::string& text) {
    if (text.size() > name_limit) {
        fault(field, "at most " + std::to_string(name_limit) + " bytes",
              std::to_string(text.size()));
        return {};
    }
    return text;
}

std::vector<std::string> Checks::names(std::string_view field, const RepeatedText& texts) {
    std::vector<std::string> out;
    if (!count(field, texts.size())) {
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
