// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/guest_reader.h"

#include <array>
#include <utility>

#include "documents/profile_document.h"
#include "libvirt_glue/errors.h"
#include "libvirt_glue/handles.h"

namespace scout::libvirt_glue {
namespace {

using hypervisor::GuestState;

/// CPU and memory from the document, or why not.
void describe(GuestState& guest, const char* xml) {
    auto document = documents::parse_domain(xml);
    if (!document) {
        guest.cpu_error = std::move(document.error().message);
        return;
    }
    guest.memory_kib = document->memory_kib;
    guest.cpu = std::move(document->cpu);
}

Result<GuestState> read(virDomainPtr domain) {
    GuestState guest;
    std::array<char, VIR_UUID_STRING_BUFLEN> uuid{};
    const char* name = libvirt().virDomainGetName(domain);
    if (libvirt().virDomainGetUUIDString(domain, uuid.data()) < 0 || name == nullptr) {
        return fail(last_error("identity of a guest"));
    }
    guest.uuid = uuid.data();
    guest.name = name;
    int state = VIR_DOMAIN_NOSTATE;
    if (libvirt().virDomainGetState(domain, &state, nullptr, 0) < 0) {
        return fail(last_error("state of guest " + guest.name));
    }
    guest.state = state_name(state);
    const int persistent = libvirt().virDomainIsPersistent(domain);
    if (persistent < 0) {
        return fail(last_error("persistence of guest " + guest.name));
    }
    guest.persistent = persistent == 1;
    const CString xml(libvirt().virDomainGetXMLDesc(domain, 0));
    if (xml) {
        describe(guest, xml.get());
        return guest;
    }
    auto error = last_error("document of guest " + guest.name);
    if (error.code == Errc::not_found) {
        return fail(std::move(error));
    }
    // One guest whose document is out of reach must not hide the others.
    guest.cpu_error = std::move(error.message);
    return guest;
}

}  // namespace

std::string_view state_name(int state) noexcept {
    switch (state) {
        case VIR_DOMAIN_RUNNING:
            return "running";
        case VIR_DOMAIN_BLOCKED:
            return "blocked";
        case VIR_DOMAIN_PAUSED:
            return "paused";
        case VIR_DOMAIN_SHUTDOWN:
            return "shutdown";
        case VIR_DOMAIN_SHUTOFF:
            return "shutoff";
        case VIR_DOMAIN_CRASHED:
            return "crashed";
        case VIR_DOMAIN_PMSUSPENDED:
            return "pmsuspended";
        default:
            return "nostate";
    }
}

Result<std::vector<GuestState>> read_guests(virConnectPtr connection) {
    DomainList domains;
    if (!domains.fill(connection, 0)) {
        return fail(last_error("list guests"));
    }
    std::vector<GuestState> guests;
    guests.reserve(static_cast<std::size_t>(domains.size()));
    for (auto* domain : domains) {
        auto guest = read(domain);
        if (guest) {
            guests.push_back(std::move(*guest));
        } else if (guest.error().code != Errc::not_found) {
            return fail(std::move(guest.error()));
        }
    }
    return guests;
}

Result<GuestState> read_guest(virConnectPtr connection, const std::string& uuid) {
    const DomainHandle domain(libvirt().virDomainLookupByUUIDString(connection, uuid.c_str()));
    if (!domain) {
        return fail(last_error("look up guest " + uuid));
    }
    return read(domain.get());
}

}  // namespace scout::libvirt_glue
