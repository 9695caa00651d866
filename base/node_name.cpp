// SPDX-License-Identifier: Apache-2.0
#include "base/node_name.h"

#include <algorithm>

namespace scout {
namespace {

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool is_node_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= node_name_limit && is_alphanumeric(text.front()) &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return is_alphanumeric(c) || c == '.' || c == '-' || c == '_' || c == '+';
           });
}

}  // namespace scout
