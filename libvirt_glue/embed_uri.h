// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace scout::libvirt_glue {

/// QEMU's monitor sockets lie below the root folder and a socket path has at most 107 bytes: the
/// longest that is left for the root.
inline constexpr std::size_t embed_root_limit = 107 - sizeof("/lib/qemu/qmp-123456/qmp.monitor");

/// True for any "…:///embed…".
[[nodiscard]] bool is_embed_uri(std::string_view uri) noexcept;

/// The folder in `root=`; empty if the URI names none. Errors: invalid (not absolute, too long, bad
/// percent sign).
[[nodiscard]] Result<std::filesystem::path> embed_root(std::string_view uri);

/// The URI with this root; one that names a root already stays as it is.
[[nodiscard]] std::string with_embed_root(std::string_view uri, const std::filesystem::path& root);

/// Makes the root folder. For root also the driver's settings, if there are none: QEMU is asked as
/// the user that this process has. libvirt's default user need not have access to /dev/kvm, and
/// libvirt then distrusts its own cache and asks QEMU anew, seconds for each question.
/// Errors: unavailable, invalid.
[[nodiscard]] Status prepare_embed_root(const std::filesystem::path& root);

}  // namespace scout::libvirt_glue
