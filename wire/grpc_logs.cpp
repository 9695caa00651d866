// SPDX-License-Identifier: Apache-2.0
#include "wire/grpc_logs.h"

#include <atomic>
#include <string_view>

#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

#include "base/logging.h"

namespace scout::wire {
namespace {

std::atomic<std::uint64_t> lost{0};

void take_line(gpr_log_func_args* line) {
    if (std::string_view{line->message}.find("Failed accept4") != std::string_view::npos) {
        ++lost;
    }
    spdlog::debug("gRPC says severity={} text={}", gpr_log_severity_string(line->severity),
                  log_value(line->message));
}

}  // namespace

void route_grpc_logs() {
    gpr_set_log_function(take_line);
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
}

std::uint64_t lost_listeners() noexcept {
    return lost;
}

}  // namespace scout::wire
