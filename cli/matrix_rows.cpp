// SPDX-License-Identifier: Apache-2.0
#include "cli/matrix_rows.h"

#include <cstdint>
#include <unordered_map>

#include "migration/matrix_cell.h"

namespace scout::cli {

namespace matrix_cell = migration::matrix_cell;

MatrixRows::MatrixRows(const MatrixAnswer& answer) : answer_(answer) {
    std::unordered_map<std::uint32_t, std::size_t> numbers;
    for (const auto& each : answer.classes) {
        numbers.emplace(each.number, numbers.size());
    }
    places_.reserve(answer.rows.size());
    for (const auto& row : answer.rows) {
        const auto found = row.node_class ? numbers.find(*row.node_class) : numbers.end();
        places_.push_back(found == numbers.end() ? std::nullopt : std::optional(found->second));
    }
}

std::string MatrixRows::cells(std::size_t row) const {
    std::string out(places_.size(), matrix_cell::unknown);
    if (const auto place = places_[row]) {
        const auto& of_class = answer_.classes[*place].cells;
        for (std::size_t column = 0; column < places_.size(); ++column) {
            if (const auto other = places_[column]) {
                out[column] = of_class[*other];
            }
        }
    }
    out[row] = matrix_cell::itself;
    return out;
}

std::vector<std::vector<std::size_t>> MatrixRows::members() const {
    std::vector<std::vector<std::size_t>> out(answer_.classes.size());
    for (std::size_t row = 0; row < places_.size(); ++row) {
        if (const auto place = places_[row]) {
            out[*place].push_back(row);
        }
    }
    return out;
}

std::vector<std::size_t> MatrixRows::outsiders() const {
    std::vector<std::size_t> out;
    for (std::size_t row = 0; row < places_.size(); ++row) {
        if (!places_[row]) {
            out.push_back(row);
        }
    }
    return out;
}

}  // namespace scout::cli
