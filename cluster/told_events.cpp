// SPDX-License-Identifier: Apache-2.0
#include "cluster/told_events.h"

#include <utility>

#include "kube/decode_text.h"
#include "kube/query.h"

namespace scout::cluster {
namespace {

constexpr const char* most = "250";

std::string path_of(const EventSubject& subject) {
    kube::Query query;
    query.add("fieldSelector", "regarding.kind=" + subject.kind + ",regarding.name=" + subject.name)
        .add("limit", most);
    return kube::collection_path(kube::resources::events(), subject.space) + query.text();
}

}  // namespace

Task<Result<std::vector<kube::SeenEvent>>> ToldEvents::about(EventSubject subject,
                                                             std::chrono::milliseconds limit) {
    kube::CallOptions options;
    options.limit = limit;
    auto body = co_await client_.get_path(path_of(subject), options);
    if (!body) {
        co_return fail(std::move(body.error().error));
    }
    std::vector<kube::SeenEvent> events;
    const auto take = [&events](Result<kube::SeenEvent> event) -> Status {
        if (event && !event->kind.empty()) {
            events.push_back(std::move(*event));
        }
        return {};
    };
    auto read = kube::decode_items(*body, &kube::decode_seen_event, take);
    if (!read) {
        co_return fail(std::move(read.error()));
    }
    co_return events;
}

}  // namespace scout::cluster
