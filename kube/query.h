// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace scout::kube {

/// The text with everything but letters, digits, '-', '.', '_' and '~' as %XX: right in a path
/// segment and in a query value. The only place that encodes.
[[nodiscard]] std::string percent_encode(std::string_view text);

/// The text with each %XX as its byte; a '%' without two hex digits behind it stays.
[[nodiscard]] std::string percent_decode(std::string_view text);

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
