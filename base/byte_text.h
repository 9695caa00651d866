// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace scout {

/// "512 B", "1.5 GiB": for people.
[[nodiscard]] std::string byte_text(std::uint64_t bytes);

}  // namespace scout
