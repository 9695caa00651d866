// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "migration/node_selector.h"

namespace scout::migration {

/// Longest selector that is read at all, in bytes.
inline constexpr std::size_t selector_limit = std::size_t{64} << 10U;

/// A label selector as kubectl takes it, as a term of the same meaning: 'disktype=ssd,zone in
/// (a,b)'; KEY=VALUE (or ==), KEY!=VALUE, KEY in (A,B), KEY notin (A,B), KEY, !KEY, KEY>N, KEY<N,
/// with commas between, which mean *and*. Only the form is checked; for the rest see term_faults().
/// Errors: invalid, with what was expected and where. Pure; any thread.
[[nodiscard]] Result<NodeSelectorTerm> parse_selector(std::string_view text);

}  // namespace scout::migration
