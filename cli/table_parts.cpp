// SPDX-License-Identifier: Apache-2.0
#include "cli/table_parts.h"

#include <algorithm>

#include "cli/text.h"

namespace scout::cli {
namespace {

constexpr std::size_t title_width = 14;

}  // namespace

Tone tone_of(migration::Verdict verdict) noexcept {
    switch (verdict) {
        case migration::Verdict::can:
            return Tone::good;
        case migration::Verdict::cannot:
            return Tone::bad;
        case migration::Verdict::unknown:
            return Tone::doubtful;
    }
    return Tone::plain;
}

std::string painted(migration::Verdict verdict, const TableStyle& style) {
    return paint(to_string(verdict), tone_of(verdict), style.colour);
}

std::string reason_lines(const std::vector<migration::Reason>& reasons, const TableStyle& style) {
    std::string out;
    for (const auto& reason : reasons) {
        const auto head =
            std::string(to_string(reason.layer)) + " " + std::string(to_string(reason.code)) + ":";
        out += "  " + paint(head, Tone::faint, style.colour) + " " + shown(reason.text) + "\n";
    }
    return out;
}

std::string field(std::string_view title, std::string_view text, const TableStyle& style) {
    auto head = std::string(title) + ":";
    head.resize(std::max(head.size() + 1, title_width), ' ');
    return paint(head, Tone::strong, style.colour) + (text.empty() ? "-" : shown(text)) + "\n";
}

std::string note_lines(const std::vector<std::string>& notes) {
    std::string out;
    for (const auto& note : notes) {
        out += "note: " + shown(note) + "\n";
    }
    return out;
}

std::string left_out_lines(const std::vector<DocumentState>& documents) {
    std::string out;
    for (const auto& document : documents) {
        if (!document.usable) {
            const bool named = document.reason.starts_with(document.document);
            out += "left out: " + (named ? "" : shown(document.document) + ": ") +
                   shown(document.reason) + "\n";
        }
    }
    return out;
}

}  // namespace scout::cli
