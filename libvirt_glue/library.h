// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "base/result.h"

/// libvirt's library, loaded when it is first needed: with all that it needs in turn it is 6 MiB,
/// and the agent of a KubeVirt node needs it only in the process that probes. Inside libvirt_glue
/// only.
namespace scout::libvirt_glue {

/// The functions that are called, by their own names.
struct Library {
#define SCOUT_LIBVIRT_FUNCTIONS(each)                                                              \
    each(virConnectBaselineHypervisorCPU) each(virConnectClose)                                    \
        each(virConnectDomainEventDeregisterAny) each(virConnectDomainEventRegisterAny)            \
            each(virConnectGetCapabilities) each(virConnectGetDomainCapabilities) each(            \
                virConnectGetLibVersion) each(virConnectGetVersion) each(virConnectIsAlive)        \
                each(virConnectListAllDomains) each(virConnectOpen) each(virConnectOpenReadOnly)   \
                    each(virConnectRegisterCloseCallback) each(virConnectSetKeepAlive)             \
                        each(virConnectUnregisterCloseCallback) each(virDomainFree) each(          \
                            virDomainGetName) each(virDomainGetState) each(virDomainGetUUIDString) \
                            each(virDomainGetXMLDesc) each(virDomainIsPersistent)                  \
                                each(virDomainLookupByUUIDString) each(virEventAddTimeout)         \
                                    each(virEventRegisterDefaultImpl) each(virEventRemoveTimeout)  \
                                        each(virEventRunDefaultImpl) each(virGetLastError)         \
                                            each(virGetLastErrorCode) each(virInitialize)          \
                                                each(virNodeGetInfo) each(virSetErrorFunc)         \
                                                    each(virTypedParamsGetBoolean)                 \
                                                        each(virTypedParamsGetInt)                 \
                                                            each(virTypedParamsGetString)          \
                                                                each(virTypedParamsGetULLong)

// Libvirt's names, not ours.
// NOLINTBEGIN(bugprone-macro-parentheses,readability-identifier-naming)
#define SCOUT_LIBVIRT_MEMBER(name) decltype(&::name) name = nullptr;
    SCOUT_LIBVIRT_FUNCTIONS(SCOUT_LIBVIRT_MEMBER)
#undef SCOUT_LIBVIRT_MEMBER
    // NOLINTEND(bugprone-macro-parentheses,readability-identifier-naming)
};

/// From a file of that name, which stays loaded. Errors: unavailable, with what the loader says:
/// the file, or a function in it, is not there.
[[nodiscard]] Result<Library> load_library(const char* file);

/// Loads and initialises libvirt's, and stops it from printing errors itself. Any thread, any
/// number of times; what was loaded stays. Errors: those of load_library(), and libvirt's.
[[nodiscard]] Status prepare_library();

/// Only after prepare_library() has succeeded. Any thread.
[[nodiscard]] const Library& libvirt() noexcept;

}  // namespace scout::libvirt_glue
