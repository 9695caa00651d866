// SPDX-License-Identifier: Apache-2.0
#include "migration/guest.h"

#include <utility>

namespace scout::migration {

GuestCpu host_model_guest(const Profile& profile) {
    GuestCpu guest;
    guest.mode = CpuMode::host_model;
    guest.arch = profile.arch;
    guest.virt_type = profile.virt_type;
    guest.vendor = profile.vendor;
    if (profile.host_model) {
        guest.model = profile.host_model->name;
        guest.require = profile.host_model->require;
        guest.disable = profile.host_model->disable;
    }
    return guest;
}

GuestCpu running_on(GuestCpu guest, const Profile& host) {
    if (guest.vendor.empty()) {
        guest.vendor = host.vendor;
    }
    return guest;
}

}  // namespace scout::migration
