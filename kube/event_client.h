// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kube/client.h"
#include "kube/event_recorder.h"

namespace scout::kube {

/// Who reports. The instance is the pod's name.
struct EventReporter {
    std::string controller = "virt-scout.io/aggregator";
    std::string instance;
};

/// The Event object as JSON, and the patch that writes its series.
[[nodiscard]] std::string event_json(const EventRecord& record, const EventReporter& reporter);
[[nodiscard]] std::string series_patch(const EventRecord& record);

/// Events on an API server. The client must outlive it.
class ClientEvents final : public EventPort {
public:
    ClientEvents(Client& client, EventReporter reporter);

    [[nodiscard]] Task<Status> create(EventRecord record) override;
    [[nodiscard]] Task<Status> update(EventRecord record) override;

private:
    Client& client_;
    EventReporter reporter_;
};

}  // namespace scout::kube
