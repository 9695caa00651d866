// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace scout::bench {

/// CPU seconds of this process that the work takes, once.
[[nodiscard]] double cpu_seconds(const std::function<void()>& work);

/// The smallest of several runs: what the work takes when nothing disturbs it.
[[nodiscard]] double best_cpu_seconds(int runs, const std::function<void()>& work);

/// "12.3 ms"
[[nodiscard]] std::string duration(double seconds);

/// Prints one row of the table: what, measured, peer, ratio, what it must be, and whether it is.
void row(const std::string& what, const std::string& measured, const std::string& peer,
         const std::string& ratio, const std::string& must_be, bool met);

}  // namespace scout::bench
