// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace scout::test {

/// For what another process or thread does: asks every 20 ms, at most 20 s. True once it holds.
[[nodiscard]] bool wait_until(const std::function<bool()>& condition);

}  // namespace scout::test
