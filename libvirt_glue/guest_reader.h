// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <libvirt/libvirt.h>

#include "base/result.h"
#include "libvirt_glue/guest_event.h"

namespace scout::libvirt_glue {

/// libvirt's word for a virDomainState, as in GuestState::state.
[[nodiscard]] std::string_view state_name(int state) noexcept;

/// All guests, running or only defined. Blocks. A guest that goes away meanwhile is left out; one
/// whose document can't be used is kept, with the reason. Errors: those of libvirt.
[[nodiscard]] Result<std::vector<hypervisor::GuestState>> read_guests(virConnectPtr connection);

/// One guest by UUID. Blocks. Errors: not_found, and those of libvirt.
[[nodiscard]] Result<hypervisor::GuestState> read_guest(virConnectPtr connection,
                                                        const std::string& uuid);

}  // namespace scout::libvirt_glue
