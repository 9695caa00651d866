// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <openssl/x509.h>

#include "base/result.h"

namespace scout {

/// Gives a certificate that is being made its alternative names: DNS names and literal addresses.
/// Errc::invalid for what is neither. Any thread.
[[nodiscard]] Status add_names(X509* certificate, const std::vector<std::string>& names);

}  // namespace scout
