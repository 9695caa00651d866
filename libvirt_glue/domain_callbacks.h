// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <libvirt/libvirt.h>

#include "base/result.h"
#include "libvirt_glue/mailbox.h"

namespace scout::libvirt_glue {

/// What a callback gets as its opaque pointer: freed by libvirt once it can't be called any more.
struct CallbackContext {
    std::shared_ptr<Mailbox> mailbox;
    std::uint64_t connection = 0;
};

/// Registers for lifecycle, reboot, migration iteration, job completed, device removed and agent
/// events; appends the ids to take off again. Only lifecycle must exist. Blocks. Errors: those of
/// libvirt.
[[nodiscard]] Status register_domain_callbacks(virConnectPtr connection,
                                               const CallbackContext& context,
                                               std::vector<int>& ids);

}  // namespace scout::libvirt_glue
