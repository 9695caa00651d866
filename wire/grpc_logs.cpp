// SPDX-License-Identifier: Apache-2.0
#include "wire/grpc_logs.h"

#include <absl/synchronization/mutex.h>
#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

#include "base/logging.h"

namespace scout::wire {
namespace {

void take_line(gpr_log_func_args* line) {
    spdlog::debug("gRPC says severity={} text={}", gpr_log_severity_string(line->severity),
                  log_value(line->message));
}

}  // namespace

void route_grpc_logs() {
    gpr_set_log_function(take_line);
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
}

void spare_lock_checks() {
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace scout::wire
