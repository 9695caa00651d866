// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace scout {

/// The text with everything but letters, digits, '-', '.', '_', '~' and `also_plain` as %XX (RFC
/// 3986): right in a path segment and in a query value. Any thread; never fails.
[[nodiscard]] std::string percent_encode(std::string_view text, std::string_view also_plain = {});

/// The text with each %XX as its byte; a '%' without two hex digits behind it stays. Any thread.
[[nodiscard]] std::string percent_decode(std::string_view text);

}  // namespace scout
