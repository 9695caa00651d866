// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "cli/matrix_rows.h"
#include "cli/render_table.h"
#include "cli/table_parts.h"
#include "cli/text.h"
#include "migration/matrix_cell.h"

/// The table of `matrix`: node by node while a terminal can show it, else class by class.
namespace scout::cli {
namespace {

namespace matrix_cell = migration::matrix_cell;

constexpr std::size_t most_columns = 64;  ///< cells of a row that fit a terminal, with their spaces
constexpr std::size_t most_names = 3;
constexpr const char* legend =
    "y can  n cannot  ! stock gate passes, CPU truth says no  ? cannot be compared\n";

Tone tone_of_cell(char cell) {
    switch (cell) {
        case matrix_cell::can:
            return Tone::good;
        case matrix_cell::cannot:
        case matrix_cell::gap:
            return Tone::bad;
        case matrix_cell::unknown:
            return Tone::doubtful;
        default:
            return Tone::faint;
    }
}

/// Cells with a space between, each in its colour.
std::string cells_text(const std::string& cells, bool colour) {
    std::string out;
    for (const char cell : cells) {
        out += out.empty() ? "" : " ";
        out += paint({&cell, 1}, tone_of_cell(cell), colour);
    }
    return out;
}

std::string padded(std::string text, std::size_t columns) {
    text.append(columns - std::min(columns, width(text)), ' ');
    return text;
}

std::string counted(std::size_t count, std::string_view what) {
    const std::string_view ending = count == 1 ? "" : (what.ends_with('s') ? "es" : "s");
    return std::to_string(count) + " " + std::string(what) + std::string(ending);
}

std::string level_and_destinations(const MatrixAnswer::Row& row) {
    return padded(std::to_string(row.level), 7) + padded(std::to_string(row.destinations), 7);
}

std::string node_grid(const MatrixAnswer& answer, const TableStyle& style) {
    const MatrixRows spread(answer);
    std::size_t widest = 4;
    for (const auto& row : answer.rows) {
        widest = std::max(widest, width(shown(row.node)));
    }
    auto out = paint(padded("#", 5) + padded("NODE", widest + 2) + "LEVEL  TO     CELLS",
                     Tone::strong, style.colour) +
               "\n";
    for (std::size_t row = 0; row < answer.rows.size(); ++row) {
        out += padded(std::to_string(row + 1), 5) +
               padded(shown(answer.rows[row].node), widest + 2) +
               level_and_destinations(answer.rows[row]) +
               cells_text(spread.cells(row), style.colour) + "\n";
    }
    return out + "\ncolumns are the nodes in the same order: . itself  " + legend;
}

std::string names_of(const MatrixAnswer& answer, const std::vector<std::size_t>& rows, bool wide) {
    std::vector<std::string> names;
    names.reserve(rows.size());
    for (const auto row : rows) {
        names.push_back(answer.rows[row].node);
    }
    return shown(wide ? migration::join(names) : short_list(names, most_names));
}

/// Classes as lines and columns, the largest first.
std::string class_grid(const MatrixAnswer& answer, const TableStyle& style) {
    const MatrixRows spread(answer);
    const auto members = spread.members();
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&members](std::size_t a, std::size_t b) {
        return members[a].size() > members[b].size();
    });
    const auto cells_width = std::max<std::size_t>(2 * order.size() + 1, 7);
    auto out = paint("NODES  LEVEL  TO     " + padded("CELLS", cells_width) + "NAMES", Tone::strong,
                     style.colour) +
               "\n";
    for (const auto line : order) {
        std::string cells;
        for (const auto column : order) {
            cells += answer.classes[line].cells[column];
        }
        const auto& rows = members[line];
        out +=
            padded(std::to_string(rows.size()), 7) +
            (rows.empty() ? padded("-", 14) : level_and_destinations(answer.rows[rows.front()])) +
            cells_text(cells, style.colour) + "  " + names_of(answer, rows, style.wide) + "\n";
    }
    const auto outsiders = spread.outsiders();
    if (!outsiders.empty()) {
        out += std::to_string(outsiders.size()) +
               " cannot be compared with any other: " + names_of(answer, outsiders, style.wide) +
               "\n";
    }
    return out + "\nlines and columns are classes of equal nodes, in the same order: " + legend;
}

}  // namespace

std::string to_table(const MatrixAnswer& answer, const TableStyle& style) {
    const auto nodes = answer.rows.size();
    const bool by_node = nodes <= (style.wide ? most_cell_nodes : most_columns);
    std::string out;
    if (nodes > 0) {
        out = by_node ? node_grid(answer, style) : class_grid(answer, style);
    }
    out += counted(nodes, "node") + " in " + counted(answer.classes.size(), "class") + "\n";
    if (!answer.map.empty()) {
        out += field("CPU map", answer.map, style);
    }
    return out + left_out_lines(answer.left_out);
}

}  // namespace scout::cli
