// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/answers.h"
#include "cli/settings.h"
#include "cli/style.h"

namespace scout::cli {

/// Text of `compare --all`, piece by piece: n documents make n² pairs, which are never held in
/// memory together. Use: head(), pair() for each, tail(); write the pieces in that order.
class PairStream {
public:
    PairStream(Format format, TableStyle style);

    [[nodiscard]] std::string head(const std::vector<DocumentState>& documents) const;
    [[nodiscard]] std::string pair(const PairAnswer& answer);
    [[nodiscard]] std::string tail() const;

private:
    Format format_;
    TableStyle style_;
    std::size_t pairs_ = 0;
    std::size_t can_ = 0;
    std::size_t cannot_ = 0;
};

}  // namespace scout::cli
