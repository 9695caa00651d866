// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "libvirt_glue/hypervisor.h"

namespace scout::libvirt_glue {

/// What the probing child writes: one JSON object with a version, then a line end. Pure, any
/// thread. No limit of its own: documents of at most 4 MiB each go in, and run_child() takes no
/// more than its output limit.
[[nodiscard]] std::string format_answer(const Result<hypervisor::HostDocuments>& answer);

/// The child's answer, or the error that it answered. An answer that is cut off, of another
/// version or not ours at all is Errc::invalid.
[[nodiscard]] Result<hypervisor::HostDocuments> parse_answer(std::string_view text);

}  // namespace scout::libvirt_glue
