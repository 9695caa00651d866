// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "migration/verdict.h"

/// How one cell of a matrix is written, on the wire and for people: the combined verdict of design
/// §5, and the gap of case 31. Pure; any thread; nothing here fails.
namespace scout::migration::matrix_cell {

inline constexpr char itself = '.';
inline constexpr char can = 'y';
inline constexpr char cannot = 'n';
inline constexpr char gap = '!';  ///< the gate passes and the truth says no
inline constexpr char unknown = '?';

[[nodiscard]] inline char of(Verdict gate, Verdict truth) noexcept {
    if (gate == Verdict::can && truth == Verdict::cannot) {
        return gap;
    }
    switch (combine(gate, truth)) {
        case Verdict::can:
            return can;
        case Verdict::cannot:
            return cannot;
        case Verdict::unknown:
            return unknown;
    }
    return unknown;
}

}  // namespace scout::migration::matrix_cell
