// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/serving_authority.h"
#include "base/clock.h"
#include "base/result.h"

namespace scout::aggregator {

/// What agents show when others call them, and when they call each other: certificates of our
/// authority for a day, whose one name is that of the node (design: the leader signs them). Their
/// keys never leave the agents. Loop thread; the clock must outlive it.
class AgentCertificates {
public:
    /// `reserved`: names of our own, which no node is given although a node may be called so.
    AgentCertificates(std::vector<std::string> reserved, CertificateRules rules,
                      const Clock& clock);

    /// The authority from now on, which must be valid.
    void use(const StoredAuthority& authority);

    /// For a node whose agent has proven that it is its agent. Errc::unavailable while there is no
    /// authority that all know, Errc::refused for a name of ours, Errc::invalid for a request that
    /// proves nothing.
    [[nodiscard]] Result<std::string> sign(const std::string& node, std::string_view request);

    /// Certificates since the start.
    [[nodiscard]] std::uint64_t count() const noexcept { return signed_; }

private:
    std::vector<std::string> reserved_;
    CertificateRules rules_;
    const Clock& clock_;
    std::optional<StoredAuthority> authority_;
    std::uint64_t signed_ = 0;
};

}  // namespace scout::aggregator
