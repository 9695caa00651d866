// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/agent_streams.h"
#include "base/alarm.h"
#include "base/certificates.h"
#include "base/offload.h"
#include "base/task.h"
#include "wire/endpoint.h"

namespace scout::aggregator {

class AgentCertificates;
class EvacuationDesk;
class Fleet;
class GrpcServer;
class LauncherStandings;
class ReportsService;
class TokenOwners;

/// Where the agents of a cluster report: open while this process leads and has a certificate. The
/// address of a standby is closed, so that an agent whom the Service sent there is refused at once,
/// and comes to the leader at one of its next tries; so nothing has to know the leader's address.
///
/// Loop thread. All that the constructor takes by reference must outlive it.
class AgentsPort {
public:
    struct Settings {
        wire::Endpoint endpoint;
        wire::Security security;  ///< whose files need not be there yet
        /// What use() is given is written into these files, where gRPC looks at it; else it came
        /// from them.
        bool writes_certificate = false;
    };

    /// `desk`: null if no VMs are moved for agents; `standings`: null if they are told none.
    AgentsPort(const asio::any_io_executor& loop, BlockingPool& pool, Fleet& fleet,
               TokenOwners& owners, AgentCertificates& certificates, Settings settings,
               EvacuationDesk* desk = nullptr, LauncherStandings* standings = nullptr);
    ~AgentsPort();
    AgentsPort(const AgentsPort&) = delete;
    AgentsPort& operator=(const AgentsPort&) = delete;
    AgentsPort(AgentsPort&&) = delete;
    AgentsPort& operator=(AgentsPort&&) = delete;

    /// The certificate from now on; it opens with none before the first one.
    void use(const CertifiedKey& certificate);
    /// Whether it should be open; run() sees to it.
    void should_be_open(bool open);

    /// Until it is cancelled; it is closed then. What keeps it from opening is said and tried
    /// again.
    [[nodiscard]] Task<> run();

    /// Once a second.
    void tick();
    /// Why it is closed although it should be open; empty: it is as it should be.
    [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }
    [[nodiscard]] std::size_t streams() const;
    /// Since the start.
    [[nodiscard]] ReportCounters counters() const;

private:
    [[nodiscard]] Task<> take_certificate();
    void open();
    [[nodiscard]] Task<> close();
    void say(const Error& trouble);

    asio::any_io_executor loop_;
    BlockingPool& pool_;
    Fleet& fleet_;
    TokenOwners& owners_;
    AgentCertificates& certificates_;
    Settings settings_;
    EvacuationDesk* desk_;
    LauncherStandings* standings_;
    Alarm alarm_;
    std::optional<CertifiedKey> fresh_;  ///< was not written yet
    bool certified_ = false;
    bool wanted_ = false;
    std::string trouble_;
    std::shared_ptr<ReportsService> reports_;
    std::shared_ptr<GrpcServer> server_;                    ///< null: closed
    ReportCounters past_;                                   ///< of earlier terms
    std::vector<std::shared_ptr<ReportsService>> retired_;  ///< whose calls did not end in time
};

}  // namespace scout::aggregator
