// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/padded_text.h"

namespace scout::kube {

/// The answer to a LIST, cut into its objects without reading them: a page is tens of megabytes,
/// and one object that is no good must not cost the others.
struct ListDocument {
    std::string version;         ///< metadata.resourceVersion
    std::string continue_token;  ///< empty on the last page
    std::vector<PaddedText> items;
};

/// The items point into the body. Errors: invalid (no list, or cut off).
[[nodiscard]] Result<ListDocument> split_list(PaddedText body);

}  // namespace scout::kube
