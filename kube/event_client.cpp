// SPDX-License-Identifier: Apache-2.0
#include "kube/event_client.h"

#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "kube/timestamps.h"

namespace scout::kube {
namespace {

namespace json = boost::json;

constexpr unsigned conflict = 409;

json::object reference_json(const ObjectReference& reference) {
    json::object object{
        {"apiVersion", reference.api_version}, {"kind", reference.kind}, {"name", reference.name}};
    if (!reference.space.empty()) {
        object["namespace"] = reference.space;
    }
    if (!reference.uid.empty()) {
        object["uid"] = reference.uid;
    }
    return object;
}

json::object series_json(const EventRecord& record) {
    return {{"count", record.count}, {"lastObservedTime", micro_time(record.last)}};
}

}  // namespace

std::string event_json(const EventRecord& record, const EventReporter& reporter) {
    const auto& note = record.note;
    json::object event{{"apiVersion", "events.k8s.io/v1"},
                       {"kind", "Event"},
                       {"metadata", {{"name", record.name}, {"namespace", record.space}}},
                       {"eventTime", micro_time(record.time)},
                       {"reportingController", reporter.controller},
                       {"reportingInstance", reporter.instance},
                       {"type", note.warning ? "Warning" : "Normal"},
                       {"reason", note.reason},
                       {"action", note.action},
                       {"note", note.note},
                       {"regarding", reference_json(note.regarding)}};
    if (note.related) {
        event["related"] = reference_json(*note.related);
    }
    if (record.count > 1) {
        event["series"] = series_json(record);
    }
    return json::serialize(event);
}

std::string series_patch(const EventRecord& record) {
    return json::serialize(json::object{{"series", series_json(record)}});
}

ClientEvents::ClientEvents(Client& client, EventReporter reporter)
    : client_(client), reporter_(std::move(reporter)) {}

Task<Status> ClientEvents::create(EventRecord record) {
    Target collection{.resource = resources::events(), .object = {.space = record.space}};
    auto body = event_json(record, reporter_);
    const CallOptions options;
    auto answer = co_await client_.create(std::move(collection), std::move(body), options);
    if (!answer && answer.error().status == conflict) {
        co_return Status{};
    }
    co_return plain(without_body(std::move(answer)));
}

Task<Status> ClientEvents::update(EventRecord record) {
    Target event{.resource = resources::events(),
                 .object = {.space = record.space, .name = record.name}};
    auto patch = series_patch(record);
    const CallOptions options;
    auto answer = co_await client_.merge_patch(std::move(event), std::move(patch), options);
    co_return plain(without_body(std::move(answer)));
}

}  // namespace scout::kube
