// SPDX-License-Identifier: Apache-2.0
#include "tests/aggregator/causes_fixture.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/percent.h"
#include "tests/support/scripted_transport.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;

std::string last_part(const std::string& target) {
    const auto path = target.substr(0, target.find('?'));
    return path.substr(path.rfind('/') + 1);
}

/// "Pod/NAME" of a list of Events.
std::string asked_about(const std::string& target) {
    const auto query = percent_decode(target.substr(target.find('?')));
    const auto part = [&query](const std::string& key) {
        const auto begin = query.find(key) + key.size();
        return query.substr(begin, query.find_first_of(",&", begin) - begin);
    };
    return part("regarding.kind=") + "/" + part("regarding.name=");
}

}  // namespace

CausesFixture::CausesFixture() {
    api.answer = [this](const kube::HttpRequest& request) { return answer_to(request); };
}

kube::HttpResponse CausesFixture::answer_to(const kube::HttpRequest& request) const {
    kube::HttpResponse response;
    response.head.status = 200;
    response.body = "{}";
    if (request.target.find("/events?") != std::string::npos) {
        json::array items;
        if (const auto found = event_objects.find(asked_about(request.target));
            found != event_objects.end()) {
            for (const auto& event : found->second) {
                items.push_back(event);
            }
        }
        response.body = json::serialize(json::object{{"kind", "EventList"},
                                                     {"metadata", {{"resourceVersion", "1"}}},
                                                     {"items", std::move(items)}});
    } else if (request.target.find("/virtualmachineinstancemigrations/") != std::string::npos) {
        const auto found = moves.find(last_part(request.target));
        const bool write = request.method != "GET";
        if (found == moves.end() || (write && refuse_writes != 0)) {
            response.head.status = found == moves.end() ? 404 : refuse_writes;
            response.body = test::status_json(response.head.status, "No");
        } else if (!write) {
            response.body = json::serialize(found->second);
        }
    }
    return response;
}

void CausesFixture::start_causes(std::chrono::milliseconds settle) {
    launcher_ends.emplace(loop.get_executor(),
                          LauncherEnds::Sources{.nodes = objects.nodes,
                                                .vmis = objects.vmis,
                                                .migrations = objects.migrations,
                                                .launchers = objects.launchers,
                                                .elector = elector,
                                                .events = events,
                                                .history = history},
                          client, clock, settle);
    migration_causes.emplace(
        loop.get_executor(),
        MigrationCauses::Sources{
            .nodes = objects.nodes,
            .vmis = objects.vmis,
            .migrations = objects.migrations,
            .launchers = objects.launchers,
            .elector = elector,
            .events = events,
            .history = history,
            .told_to_stop = [this](std::string_view uid) { return desk && desk->names(uid); }},
        client, clock);
    start();
    scope->spawn("ends", [this] { return launcher_ends->run(); });
    scope->spawn("causes", [this] { return migration_causes->run(); });
}

json::object CausesFixture::launcher(const std::string& name, json::object status,
                                     json::object metadata) {
    metadata["name"] = name;
    metadata["namespace"] = "shop";
    metadata["uid"] = "uid of " + name;
    auto& labels = metadata["labels"];
    if (!labels.is_object()) {
        labels.emplace_object();
    }
    labels.as_object()["kubevirt.io"] = "virt-launcher";
    labels.as_object()["kubevirt.io/created-by"] = "vmi web";
    metadata["annotations"] = {{"kubevirt.io/domain", "web"}};
    return {{"metadata", std::move(metadata)},
            {"spec", {{"nodeName", "n1"}}},
            {"status", std::move(status)}};
}

void CausesFixture::put_full_move(const std::string& name, json::object metadata, json::object spec,
                                  json::object status) {
    metadata["name"] = name;
    metadata["namespace"] = "shop";
    metadata["uid"] = "move " + name;
    if (!metadata.contains("creationTimestamp")) {
        metadata["creationTimestamp"] = now();
    }
    spec["vmiName"] = "web";
    moves[name] = {{"metadata", std::move(metadata)},
                   {"spec", std::move(spec)},
                   {"status", std::move(status)}};
    api.put("virtualmachineinstancemigrations", moves[name]);
}

void CausesFixture::put_event(const std::string& about, const std::string& reason,
                              const std::string& message) {
    const auto slash = about.find('/');
    auto& all = event_objects[about];
    all.push_back(
        {{"metadata", {{"name", "event-" + std::to_string(all.size())}, {"namespace", "shop"}}},
         {"regarding",
          {{"kind", about.substr(0, slash)},
           {"namespace", "shop"},
           {"name", about.substr(slash + 1)}}},
         {"reason", reason},
         {"note", message},
         {"deprecatedLastTimestamp", now()}});
}

std::vector<json::object> CausesFixture::written(const std::string& name) const {
    std::vector<json::object> bodies;
    for (const auto& request : api.calls()) {
        if (request.method == "PATCH" && request.target.find("/virtualmachineinstancemigrations/" +
                                                             name + "?") != std::string::npos) {
            bodies.push_back(json::parse(request.body).as_object());
        }
    }
    return bodies;
}

std::vector<std::string> CausesFixture::told(const std::string& reason) const {
    std::vector<std::string> notes;
    for (const auto& record : recorded.records) {
        if (record.note.reason == reason) {
            notes.push_back(record.note.regarding.name + ": " + record.note.note);
        }
    }
    return notes;
}

}  // namespace scout::aggregator
