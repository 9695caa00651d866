// SPDX-License-Identifier: Apache-2.0
#include "migration/guest.h"

#include <utility>

namespace scout::migration {

GuestCpu offered_cpu(const Profile& profile) {
    GuestCpu guest;
    guest.mode = CpuMode::host_model;
    guest.arch = profile.arch;
    guest.virt_type = profile.virt_type;
    guest.vendor = profile.vendor;
    guest.ties = FeatureSet{};
    guest.bare = profile.origin == ProfileOrigin::bare_cpu;
    if (profile.host_model) {
        guest.model = profile.host_model->name;
        guest.require = profile.host_model->require;
        guest.disable = profile.host_model->disable;
        guest.address_bits = fixed_address_bits(profile.host_model->maxphysaddr);
    } else {
        guest.doubt = profile.no_host_model;
    }
    return guest;
}

GuestCpu host_model_guest(const Profile& profile) {
    auto guest = offered_cpu(profile);
    guest.require = subtract(guest.require, {"invtsc"});
    return guest;
}

std::optional<unsigned> fixed_address_bits(const std::optional<MaxPhysAddr>& element) {
    return element && element->mode == "emulate" ? element->bits : std::nullopt;
}

GuestCpu running_on(GuestCpu guest, const Profile& host) {
    if (guest.vendor.empty()) {
        guest.vendor = host.vendor;
    }
    return guest;
}

}  // namespace scout::migration
