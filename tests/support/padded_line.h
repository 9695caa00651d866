// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>

#include "kube/transport.h"

namespace scout::test {

/// A line with exactly the padding that HttpStream promises, so that sanitizers see who reads
/// further. What is there is no white space and ends no text.
class PaddedLine {
public:
    std::string_view set(std::string_view text) {
        bytes_ = std::make_unique<char[]>(text.size() + kube::json_padding);
        std::copy(text.begin(), text.end(), bytes_.get());
        std::fill_n(bytes_.get() + text.size(), kube::json_padding, 'x');
        return {bytes_.get(), text.size()};
    }

private:
    std::unique_ptr<char[]> bytes_;
};

}  // namespace scout::test
