// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <memory>

#include "base/releaser.h"
#include "libvirt_glue/library.h"

/// Owners of what libvirt hands out. Inside libvirt_glue only.
namespace scout::libvirt_glue {

inline int close_connection(virConnectPtr connection) noexcept {
    return libvirt().virConnectClose(connection);
}
inline int free_domain(virDomainPtr domain) noexcept {
    return libvirt().virDomainFree(domain);
}

using ConnectHandle = std::unique_ptr<virConnect, Releaser<close_connection>>;
using DomainHandle = std::unique_ptr<virDomain, Releaser<free_domain>>;
/// A text that libvirt allocated.
using CString = std::unique_ptr<char, Releaser<std::free>>;

/// The array of virConnectListAllDomains and all that it holds.
class DomainList {
public:
    DomainList() = default;
    ~DomainList() {
        for (int at = 0; at < count_; ++at) {
            free_domain(domains_[at]);
        }
        std::free(static_cast<void*>(domains_));
    }
    DomainList(const DomainList&) = delete;
    DomainList& operator=(const DomainList&) = delete;
    DomainList(DomainList&&) = delete;
    DomainList& operator=(DomainList&&) = delete;

    /// False: libvirt failed, read last_error() now.
    [[nodiscard]] bool fill(virConnectPtr connection, unsigned flags) {
        const int found = libvirt().virConnectListAllDomains(connection, &domains_, flags);
        count_ = found < 0 ? 0 : found;
        return found >= 0;
    }

    [[nodiscard]] virDomainPtr* begin() const noexcept { return domains_; }
    [[nodiscard]] virDomainPtr* end() const noexcept { return domains_ + count_; }
    [[nodiscard]] int size() const noexcept { return count_; }

private:
    virDomainPtr* domains_ = nullptr;
    int count_ = 0;
};

}  // namespace scout::libvirt_glue
