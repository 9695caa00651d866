// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace scout::wire {

/// Makes every TLS context that this process creates from now on cheap in memory: record buffers
/// (33 KiB for each connection) are given back while nothing is on the way, and no session tickets
/// are made, which gRPC never resumes. gRPC has no setting for either. Any thread, any number of
/// times.
void keep_tls_small();

}  // namespace scout::wire
