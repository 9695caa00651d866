// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace scout::kube {

/// The query of a request: "?labelSelector=a%3Db&limit=500", or nothing without parameters.
class Query {
public:
    /// Names are ours and written as they are; an empty value adds nothing.
    Query& add(std::string_view name, std::string_view value);

    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

}  // namespace scout::kube
