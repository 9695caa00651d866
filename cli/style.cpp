// SPDX-License-Identifier: Apache-2.0
#include "cli/style.h"

#include <algorithm>
#include <utility>

#include "cli/text.h"
#include "migration/feature_set.h"

namespace scout::cli {
namespace {

/// SGR parameters; empty: none.
std::string_view sgr(Tone tone) {
    switch (tone) {
        case Tone::plain:
            return {};
        case Tone::good:
            return "32";
        case Tone::bad:
            return "31";
        case Tone::doubtful:
            return "33";
        case Tone::strong:
            return "1";
        case Tone::faint:
            return "2";
    }
    return {};
}

std::vector<std::size_t> widths_of(const std::vector<std::vector<Cell>>& rows) {
    std::vector<std::size_t> widths(rows.front().size(), 0);
    for (const auto& row : rows) {
        for (std::size_t column = 0; column < row.size(); ++column) {
            widths[column] = std::max(widths[column], width(row[column].text));
        }
    }
    return widths;
}

std::string line_of(const std::vector<Cell>& row, const std::vector<std::size_t>& widths,
                    bool colour) {
    std::string out;
    for (std::size_t column = 0; column < row.size(); ++column) {
        const auto& cell = row[column];
        out += paint(cell.text, cell.tone, colour);
        if (column + 1 < row.size()) {
            out.append(widths[column] - width(cell.text) + 2, ' ');
        }
    }
    out += '\n';
    return out;
}

}  // namespace

std::string paint(std::string_view text, Tone tone, bool colour) {
    const auto code = sgr(tone);
    if (!colour || code.empty() || text.empty()) {
        return std::string(text);
    }
    return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

Table::Table(std::vector<std::string> headers) {
    std::vector<Cell> row;
    row.reserve(headers.size());
    for (auto& header : headers) {
        row.push_back({.text = std::move(header), .tone = Tone::strong});
    }
    rows_.push_back(std::move(row));
}

void Table::add(std::vector<Cell> row) {
    for (auto& cell : row) {
        cell.text = cell.text.empty() ? "-" : shown(cell.text);
    }
    rows_.push_back(std::move(row));
}

std::string Table::text(bool colour) const {
    const auto columns = widths_of(rows_);
    std::string out;
    for (const auto& row : rows_) {
        out += line_of(row, columns, colour);
    }
    return out;
}

void Table::write(bool colour, TextSink& sink) const {
    const auto columns = widths_of(rows_);
    for (const auto& row : rows_) {
        sink.add(line_of(row, columns, colour));
    }
}

std::string short_list(const std::vector<std::string>& names, std::size_t most) {
    if (names.size() <= most) {
        return migration::join(names);
    }
    const std::vector<std::string> first(names.begin(),
                                         names.begin() + static_cast<std::ptrdiff_t>(most));
    return migration::join(first) + ", … (+" + std::to_string(names.size() - most) + ")";
}

}  // namespace scout::cli
