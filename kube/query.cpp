// SPDX-License-Identifier: Apache-2.0
#include "kube/query.h"

#include "base/percent.h"

namespace scout::kube {

Query& Query::add(std::string_view name, std::string_view value) {
    if (!value.empty()) {
        text_ += text_.empty() ? '?' : '&';
        text_ += name;
        text_ += '=';
        text_ += percent_encode(value);
    }
    return *this;
}

}  // namespace scout::kube
