// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace scout::cluster {

/// The JSON values that stand one behind the other in a text, as tools print objects; lines of
/// "---" between them are passed over. Only brackets and quotes are looked at: what is wrong within
/// a value its reader tells. A value that does not end is the rest of the text. Errors: invalid,
/// for more values than anybody has objects.
[[nodiscard]] Result<std::vector<std::string_view>> json_stream(std::string_view text);

}  // namespace scout::cluster
