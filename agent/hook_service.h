// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "agent/evacuation_metrics.h"
#include "base/clock.h"
#include "base/task.h"

namespace grpc {
class Service;
}

namespace scout::agent {

class Evacuator;

/// virt-handler's question before it stops a guest (kubevirt/node_hook.proto; dossier §3.4, §3.5).
/// An error is a veto, and its text is shown to people. What is not understood is allowed: another
/// hook point, a VMI that cannot be read or that nobody knows here, another node. Calls come on
/// gRPC's threads, and are answered there or on the loop.
class HookService {
public:
    struct Parts {
        asio::any_io_executor loop;
        const Clock& clock;
        Evacuator& evacuator;
        EvacuationMetrics& metrics;
        std::string node;
    };
    explicit HookService(Parts parts);
    ~HookService();
    HookService(const HookService&) = delete;
    HookService& operator=(const HookService&) = delete;
    HookService(HookService&&) = delete;
    HookService& operator=(HookService&&) = delete;

    /// For a server, which must be gone before this is.
    [[nodiscard]] grpc::Service& service() noexcept;
    /// Calls that are not answered yet, and those to come, end with an error, as if nobody were
    /// there. Loop thread.
    [[nodiscard]] Task<> stop();

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace scout::agent
