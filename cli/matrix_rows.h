// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/answers.h"

namespace scout::cli {

/// Most nodes whose rows are written cell by cell: 10,000 of them make 100 MB.
inline constexpr std::size_t most_cell_nodes = 10'000;

/// The answer's classes spread over its nodes. Keeps a reference to the answer.
class MatrixRows {
public:
    explicit MatrixRows(const MatrixAnswer& answer);

    /// One cell for each node, in the order of the answer's rows.
    [[nodiscard]] std::string cells(std::size_t row) const;

    /// Rows of each of the answer's classes, in their order.
    [[nodiscard]] std::vector<std::vector<std::size_t>> members() const;

    /// Rows that are in no class.
    [[nodiscard]] std::vector<std::size_t> outsiders() const;

private:
    const MatrixAnswer& answer_;
    std::vector<std::optional<std::size_t>> places_;  ///< of each row among the classes
};

}  // namespace scout::cli
