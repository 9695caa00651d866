// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"

namespace scout {

struct ChildCommand {
    std::vector<std::string> argv;  ///< program first: a path, or a name to be found in PATH
    std::vector<std::string> environment = {};  ///< "NAME=value", beside and above ours
    std::size_t output_limit = std::size_t{16} << 20U;
    std::chrono::milliseconds time_limit{60'000};
};

/// Runs a program and answers all that it wrote to stdout, once it has exited with 0.
///
/// The child gets its own process group, no signal masks of ours, and /dev/null as stdin. Whatever
/// ends the wait early (time, too much output, cancellation), the group gets SIGTERM, then SIGKILL
/// after 2 s, and the child is reaped before the answer comes.
/// Errors: unavailable (cannot be started, died; the last words on stderr are in the message),
/// timed_out, invalid (more output than the limit), cancelled.
[[nodiscard]] Task<Result<std::string>> run_child(ChildCommand command);

}  // namespace scout
