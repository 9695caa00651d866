// SPDX-License-Identifier: Apache-2.0
#include "cluster/told_events.h"

#include <utility>

#include "kube/json.h"
#include "kube/list_document.h"
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
    const auto list = kube::split_list(kube::PaddedText::of(*body));
    if (!list) {
        co_return fail(list.error());
    }
    std::vector<kube::SeenEvent> events;
    kube::TextPool texts;
    kube::JsonReader reader(texts);
    for (const auto& item : list->items) {
        auto object = reader.parse(item);
        auto event = object ? kube::decode_seen_event(*object) : fail(std::move(object.error()));
        if (event && !event->kind.empty()) {
            events.push_back(std::move(*event));
        }
    }
    co_return events;
}

}  // namespace scout::cluster
