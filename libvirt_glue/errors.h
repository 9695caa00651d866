// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"

namespace scout::libvirt_glue {

/// The one map from libvirt's virErrorNumber. Any thread. Numbers that are not listed are
/// Errc::internal.
[[nodiscard]] Errc errc_for(int number) noexcept;

/// True for an answer (the host, the library or the driver has no such thing), false for a fault of
/// the moment, after which the same question may be answered.
[[nodiscard]] bool says_not_supported(const Error& error) noexcept;

/// What libvirt, once it is prepared (libvirt_glue/library.h), said last on this thread, with the
/// step in front. Call it on the thread of the failed call, right after it: libvirt keeps one error
/// for each thread.
[[nodiscard]] Error last_error(std::string_view step);

/// The number of that error (virErrorNumber); 0 if there is none.
[[nodiscard]] int last_error_number() noexcept;

}  // namespace scout::libvirt_glue
