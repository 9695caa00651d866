// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "fleet/fleet.h"

namespace scout::cli {

/// Longest subject that is read at all: a path of PATH_MAX and its prefix.
inline constexpr std::size_t subject_limit = 4096 + 5;

using fleet::Subject;
using fleet::SubjectKind;

/// Reads a subject. Pure: looks at no file, so that a bare `NAME` is always a guest here; whether a
/// file of that name exists is the caller's question. Names: 1–255 bytes of valid UTF-8 without
/// control characters and '/', or two such names with one '/' between them (NAMESPACE/NAME of a
/// VMI); nodes: base/node_name.h.
/// A bare name with '@' or ':' is refused (Errc::invalid), so that no mistyped form is taken for a
/// guest; `guest/` in front says that it is one.
[[nodiscard]] Result<Subject> parse_subject(std::string_view text);

/// True for NAMESPACE/NAME as Kubernetes takes it: what is a VMI unless a file is called so.
[[nodiscard]] bool names_a_vmi(std::string_view text) noexcept;

/// True for what is meant as a file's name, whether it is there or not: with a '/' or ending in
/// `.xml`. No node and hardly a guest is called so (`guest/` says that one is).
[[nodiscard]] bool names_a_file(std::string_view text) noexcept;

/// Errc::invalid for what no node can be called; `what` is the place where it stands.
[[nodiscard]] Status check_node_name(std::string_view what, std::string_view text);

}  // namespace scout::cli
