// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "kube/client.h"
#include "kube/objects/records.h"

namespace scout::cluster {

/// The object that Events are asked about.
struct EventSubject {
    std::string kind;
    std::string space;  ///< namespace of the Events: of a node's "default"
    std::string name;
};

/// Reads the Events of single objects, which nobody follows: a cluster has tens of thousands of
/// them an hour. Loop thread; the client must outlive it, and it must outlive its calls.
class ToldEvents {
public:
    explicit ToldEvents(kube::Client& client) : client_(client) {}

    /// At most 250; what cannot be read is left out. Errors: those of a list.
    [[nodiscard]] Task<Result<std::vector<kube::SeenEvent>>> about(EventSubject subject,
                                                                   std::chrono::milliseconds limit);

private:
    kube::Client& client_;
};

}  // namespace scout::cluster
