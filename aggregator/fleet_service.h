// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/fleet.h"
#include "virt_scout/v1/fleet.grpc.pb.h"

namespace scout::aggregator {

class WatchStream;

/// The gRPC shell of FleetQueries: every call is posted to the loop and answered there. Subscribes
/// to the registry for watchers. Must outlive the server's shutdown.
class FleetService final : public v1::Fleet::CallbackService {
public:
    FleetService(boost::asio::any_io_executor loop, Fleet& fleet);

    grpc::ServerUnaryReactor* Nodes(grpc::CallbackServerContext* context,
                                    const v1::NodesRequest* request,
                                    v1::NodesResponse* response) override;
    grpc::ServerUnaryReactor* Node(grpc::CallbackServerContext* context,
                                   const v1::NodeRequest* request,
                                   v1::NodeResponse* response) override;
    grpc::ServerUnaryReactor* Guests(grpc::CallbackServerContext* context,
                                     const v1::GuestsRequest* request,
                                     v1::GuestsResponse* response) override;
    grpc::ServerUnaryReactor* Where(grpc::CallbackServerContext* context,
                                    const v1::WhereRequest* request,
                                    v1::WhereResponse* response) override;
    grpc::ServerUnaryReactor* Matrix(grpc::CallbackServerContext* context,
                                     const v1::MatrixRequest* request,
                                     v1::MatrixResponse* response) override;
    grpc::ServerUnaryReactor* Baseline(grpc::CallbackServerContext* context,
                                       const v1::BaselineRequest* request,
                                       v1::BaselineResponse* response) override;
    grpc::ServerUnaryReactor* UpgradeImpact(grpc::CallbackServerContext* context,
                                            const v1::UpgradeImpactRequest* request,
                                            v1::UpgradeImpactResponse* response) override;
    grpc::ServerUnaryReactor* Pressure(grpc::CallbackServerContext* context,
                                       const v1::PressureRequest* request,
                                       v1::PressureResponse* response) override;
    grpc::ServerWriteReactor<v1::FleetEvent>* Watch(grpc::CallbackServerContext* context,
                                                    const v1::WatchRequest* request) override;

    // Loop thread from here on.
    void opened(WatchStream* stream);
    void written(std::uint64_t watcher, bool good);
    void cancelled(std::uint64_t watcher);
    void done() { --closing_; }
    /// Ends all watchers and takes no more: the aggregator stops.
    void stop();
    [[nodiscard]] std::size_t watchers() const noexcept { return watchers_.size(); }
    /// Watchers that were ended because they did not keep up.
    [[nodiscard]] std::uint64_t too_slow() const noexcept { return too_slow_; }

private:
    void follow(const Change& change);
    void wake(WatchStream& stream);
    void pump(WatchStream& stream);
    void finish(std::uint64_t watcher, const grpc::Status& status);

    boost::asio::any_io_executor loop_;
    Fleet& fleet_;
    std::unordered_map<std::uint64_t, WatchStream*> watchers_;  ///< those not finished
    std::size_t closing_ = 0;  ///< finished, but their peers have not taken it yet
    /// Each answer in turns that goes on holds one more reference.
    std::shared_ptr<const std::size_t> sweeps_ = std::make_shared<const std::size_t>();
    std::uint64_t too_slow_ = 0;
    bool stopping_ = false;
};

}  // namespace scout::aggregator
