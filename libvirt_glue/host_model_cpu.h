// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace scout::libvirt_glue {

/// The host-model of domain capabilities as a `<cpu>` of its own, the form that
/// hypervisor-cpu-baseline takes; virsh makes the same of a whole document. Errors: not_found (no
/// host-model supported), invalid.
[[nodiscard]] Result<std::string> host_model_cpu(std::string_view domain_capabilities);

}  // namespace scout::libvirt_glue
