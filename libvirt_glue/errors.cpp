// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/errors.h"

#include <string>

#include "libvirt_glue/library.h"

namespace scout::libvirt_glue {

// NOLINTNEXTLINE(readability-function-size): a table
Errc errc_for(int number) noexcept {
    switch (number) {
        case VIR_ERR_NO_DOMAIN:
        case VIR_ERR_NO_NETWORK:
        case VIR_ERR_NO_STORAGE_POOL:
        case VIR_ERR_NO_STORAGE_VOL:
        case VIR_ERR_NO_NODE_DEVICE:
        case VIR_ERR_NO_INTERFACE:
        case VIR_ERR_NO_NWFILTER:
        case VIR_ERR_NO_SECRET:
        case VIR_ERR_NO_DOMAIN_SNAPSHOT:
        case VIR_ERR_NO_DOMAIN_METADATA:
        case VIR_ERR_NO_SERVER:
        case VIR_ERR_NO_CLIENT:
        case VIR_ERR_DEVICE_MISSING:
            return Errc::not_found;
        case VIR_ERR_NO_CONNECT:
        case VIR_ERR_INVALID_CONN:
        case VIR_ERR_UNKNOWN_HOST:
        case VIR_ERR_INTERNAL_ERROR:
        case VIR_ERR_OPERATION_FAILED:
        case VIR_ERR_SYSTEM_ERROR:
        case VIR_ERR_RPC:
        case VIR_ERR_GNUTLS_ERROR:
        case VIR_ERR_SSH:
        case VIR_ERR_LIBSSH:
        case VIR_ERR_DBUS_SERVICE:
        case VIR_ERR_RESOURCE_BUSY:
        case VIR_ERR_NO_MEMORY:
            return Errc::unavailable;
        case VIR_ERR_OPERATION_TIMEOUT:
        case VIR_ERR_AGENT_UNRESPONSIVE:
            return Errc::timed_out;
        case VIR_ERR_OPERATION_ABORTED:
        case VIR_ERR_AUTH_CANCELLED:
            return Errc::cancelled;
        case VIR_ERR_INVALID_ARG:
        case VIR_ERR_INVALID_DOMAIN:
        case VIR_ERR_NO_SUPPORT:
        case VIR_ERR_ARGUMENT_UNSUPPORTED:
        case VIR_ERR_OPERATION_UNSUPPORTED:
        case VIR_ERR_OPERATION_INVALID:
        case VIR_ERR_CONFIG_UNSUPPORTED:
        case VIR_ERR_CONF_SYNTAX:
        case VIR_ERR_PARSE_FAILED:
        case VIR_ERR_XML_ERROR:
        case VIR_ERR_XML_DETAIL:
        case VIR_ERR_XML_INVALID_SCHEMA:
        case VIR_ERR_CPU_INCOMPATIBLE:
            return Errc::invalid;
        case VIR_ERR_OPERATION_DENIED:
        case VIR_ERR_ACCESS_DENIED:
        case VIR_ERR_AUTH_FAILED:
        case VIR_ERR_AUTH_UNAVAILABLE:
            return Errc::refused;
        default:
            return Errc::internal;
    }
}

bool says_not_supported(const Error& error) noexcept {
    return error.code == Errc::invalid;
}

Error last_error(std::string_view step) {
    const auto* error = libvirt().virGetLastError();
    Error mapped;
    if (error == nullptr || error->code == VIR_ERR_OK) {
        mapped.message = "libvirt failed without saying why";
    } else {
        mapped.code = errc_for(error->code);
        mapped.message = error->message == nullptr ? "libvirt error " + std::to_string(error->code)
                                                   : std::string(error->message);
    }
    return std::move(mapped).within(step);
}

int last_error_number() noexcept {
    return libvirt().virGetLastErrorCode();
}

}  // namespace scout::libvirt_glue
