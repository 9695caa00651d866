// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "kube/client.h"
#include "kube/leader_elector.h"

namespace scout::kube {

/// The Lease object as JSON; without a version for a create.
[[nodiscard]] std::string lease_json(const ObjectName& name, const StoredLease& lease);

/// Reads what any elector may have written: all fields are optional, a negative duration is 0.
/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<StoredLease> parse_lease(std::string body);

/// One Lease on an API server. An update replaces the whole object: annotations that others made on
/// it are lost. The client must outlive it.
class ClientLease final : public LeasePort {
public:
    ClientLease(Client& client, ObjectName name);

    [[nodiscard]] Task<Result<std::optional<StoredLease>>> read(
        std::chrono::milliseconds limit) override;
    [[nodiscard]] Task<Result<std::optional<StoredLease>>> create(
        LeaseRecord record, std::chrono::milliseconds limit) override;
    [[nodiscard]] Task<Result<std::optional<StoredLease>>> update(
        StoredLease lease, std::chrono::milliseconds limit) override;

private:
    [[nodiscard]] Target target() const;

    Client& client_;
    ObjectName name_;
};

}  // namespace scout::kube
