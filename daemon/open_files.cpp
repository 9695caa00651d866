// SPDX-License-Identifier: Apache-2.0
#include "daemon/open_files.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

namespace scout::daemon {

void raise_open_files_limit() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == files.rlim_max) {
        return;
    }
    const auto before = files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    const bool raised = ::setrlimit(RLIMIT_NOFILE, &files) == 0;
    spdlog::debug("limit of open files before={} now={}", before, raised ? files.rlim_max : before);
}

}  // namespace scout::daemon
