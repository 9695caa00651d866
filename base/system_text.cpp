// SPDX-License-Identifier: Apache-2.0
#include "base/system_text.h"

#include <system_error>

namespace scout {

std::string system_text(int error) {
    return std::generic_category().message(error);
}

}  // namespace scout
