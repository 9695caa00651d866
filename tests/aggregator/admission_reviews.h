// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/base64.h"
#include "daemon/http_server.h"
#include "kube/event_recorder.h"

namespace scout::aggregator::test {

/// Keeps what it is given, and ends the recorder.
class KeptEvents final : public kube::EventPort {
public:
    std::vector<kube::EventRecord> records;

    Task<Status> create(kube::EventRecord record) override {
        records.push_back(std::move(record));
        co_return fail(Errc::cancelled, "enough");
    }
    Task<Status> update(kube::EventRecord /*record*/) override { co_return Status{}; }
};

/// What an API server asks a webhook about an object of namespace ns.
struct Review {
    std::string group = {};
    std::string kind = {};
    boost::json::object object;
    bool dry_run = false;
    std::string operation = "CREATE";
    boost::json::value old_object = nullptr;
};
inline std::string review(const Review& asked) {
    namespace json = boost::json;
    const json::object request{
        {"uid", "q1"},
        {"kind", {{"group", asked.group}, {"version", "v1"}, {"kind", asked.kind}}},
        {"namespace", "ns"},
        {"operation", asked.operation},
        {"dryRun", asked.dry_run},
        {"object", asked.object},
        {"oldObject", asked.old_object}};
    return json::serialize(json::object{
        {"kind", "AdmissionReview"}, {"apiVersion", "admission.k8s.io/v1"}, {"request", request}});
}

/// Of the answer to it.
inline boost::json::object response_of(const daemon::HttpAnswer& answer) {
    return boost::json::parse(answer.body).at("response").as_object();
}
inline std::string patch_of(const boost::json::object& response) {
    const auto* patch = response.if_contains("patch");
    return patch == nullptr ? "" : base64_decode(patch->as_string()).value();
}
inline std::vector<std::string> warnings_of(const boost::json::object& response) {
    std::vector<std::string> out;
    if (const auto* warnings = response.if_contains("warnings")) {
        for (const auto& warning : warnings->as_array()) {
            out.emplace_back(warning.as_string());
        }
    }
    return out;
}

}  // namespace scout::aggregator::test
