// SPDX-License-Identifier: Apache-2.0
#include "migration/class_rows.h"

#include <map>

#include "migration/matrix_cell.h"

namespace scout::migration {

std::vector<ClassRow> class_rows(const Matrix& matrix, std::span<const Matrix::NodeId> nodes) {
    std::map<std::uint32_t, Matrix::NodeId> members;
    for (const auto node : nodes) {
        members.emplace(matrix.class_of(node), node);
    }
    std::vector<ClassRow> rows;
    rows.reserve(members.size());
    for (const auto& [number, from] : members) {
        auto& row = rows.emplace_back(ClassRow{.number = number, .cells = {}});
        row.cells.reserve(members.size());
        for (const auto& [other, to] : members) {
            const auto cell = matrix.cell(from, to);
            row.cells += matrix_cell::of(cell.gate, cell.truth);
        }
    }
    return rows;
}

}  // namespace scout::migration
