// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace scout {

/// RFC 4648 §4 with padding; line ends, as files and YAML have them, are skipped. Errc::invalid for
/// any other character, for missing padding and for too much of it.
[[nodiscard]] Result<std::string> base64_decode(std::string_view text);

/// RFC 4648 §5 without padding, as tokens and keys have it (RFC 7515 §2), and in no other spelling
/// of the same bytes. Errc::invalid.
[[nodiscard]] Result<std::string> base64url_decode(std::string_view text);

[[nodiscard]] std::string base64_encode(std::string_view bytes);

}  // namespace scout
