// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "migration/matrix.h"

namespace scout::migration {

/// One class of a matrix against every class told with it.
struct ClassRow {
    std::uint32_t number = 0;  ///< Matrix::class_of()
    std::string cells;         ///< matrix_cell.h; one for each class, in their order
};

/// The classes that these nodes are in, sorted by number: equal nodes have equal cells, and a fleet
/// has many nodes and few classes. Nodes in any order; of each class the first stands for all.
/// Asks classes × classes cells. Pure; the thread of the matrix. Throws as Matrix does.
[[nodiscard]] std::vector<ClassRow> class_rows(const Matrix& matrix,
                                               std::span<const Matrix::NodeId> nodes);

}  // namespace scout::migration
