// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/kvm_device.h"

#include <cerrno>

#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>

#include "base/system_text.h"
#include "base/unique_fd.h"

namespace scout::libvirt_glue {
namespace {

constexpr int api_version = 12;  ///< the only one since Linux 2.6.22 (kernel documentation)

}  // namespace

std::string kvm_fault(const std::filesystem::path& device) {
    const UniqueFd kvm{::open(device.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK)};
    if (!kvm) {
        return device.string() + " can't be opened: " + system_text(errno);
    }
    const int version = ::ioctl(kvm.get(), KVM_GET_API_VERSION, 0);
    if (version != api_version) {
        return device.string() + " does not answer as KVM does: expected version 12, found " +
               (version < 0 ? system_text(errno) : std::to_string(version));
    }
    const UniqueFd guest{::ioctl(kvm.get(), KVM_CREATE_VM, 0UL)};
    if (!guest) {
        return device.string() + " makes no guest: " + system_text(errno);
    }
    return {};
}

}  // namespace scout::libvirt_glue
