// SPDX-License-Identifier: Apache-2.0
#include "kube/lease_client.h"

#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "kube/json.h"
#include "kube/timestamps.h"

namespace scout::kube {
namespace {

constexpr unsigned not_found = 404;
constexpr unsigned conflict = 409;

CallOptions urgent(std::chrono::milliseconds limit) {
    CallOptions options;
    options.urgency = Urgency::urgent;
    options.limit = limit;
    return options;
}

Result<std::optional<StoredLease>> stored(ApiResult<std::string> answer) {
    if (!answer && answer.error().status == conflict) {
        return std::nullopt;
    }
    if (!answer) {
        return fail(std::move(answer.error().error));
    }
    auto lease = parse_lease(std::move(*answer));
    if (!lease) {
        return fail(std::move(lease.error()).within("the lease as stored"));
    }
    return std::optional{std::move(*lease)};
}

}  // namespace

std::string lease_json(const ObjectName& name, const StoredLease& lease) {
    const auto& record = lease.record;
    boost::json::object metadata{{"name", name.name}, {"namespace", name.space}};
    if (!lease.version.empty()) {
        metadata["resourceVersion"] = lease.version;
    }
    boost::json::object spec{{"holderIdentity", record.holder},
                             {"leaseDurationSeconds", record.duration.count()},
                             {"leaseTransitions", record.transitions}};
    if (record.acquired) {
        spec["acquireTime"] = micro_time(*record.acquired);
    }
    if (record.renewed) {
        spec["renewTime"] = micro_time(*record.renewed);
    }
    return boost::json::serialize(boost::json::object{{"apiVersion", "coordination.k8s.io/v1"},
                                                      {"kind", "Lease"},
                                                      {"metadata", std::move(metadata)},
                                                      {"spec", std::move(spec)}});
}

Result<StoredLease> parse_lease(std::string body) {
    TextPool texts;
    JsonReader reader{texts};
    StoredLease lease;
    auto& record = lease.record;
    auto object = reader.parse(PaddedText::of(body));
    auto status = object ? object->read(Nested{"metadata", Field{"resourceVersion", lease.version}},
                                        Nested{"spec", Field{"holderIdentity", record.holder},
                                               Field{"leaseDurationSeconds", record.duration},
                                               Field{"leaseTransitions", record.transitions},
                                               Field{"acquireTime", record.acquired},
                                               Field{"renewTime", record.renewed}})
                         : fail(std::move(object.error()));
    if (!status) {
        return fail(std::move(status.error()));
    }
    return lease;
}

ClientLease::ClientLease(Client& client, ObjectName name)
    : client_(client), name_(std::move(name)) {}

Target ClientLease::target() const {
    return {.resource = resources::leases(), .object = name_};
}

Task<Result<std::optional<StoredLease>>> ClientLease::read(std::chrono::milliseconds limit) {
    auto lease = target();
    auto options = urgent(limit);
    auto answer = co_await client_.get(std::move(lease), options);
    if (!answer && answer.error().status == not_found) {
        co_return std::nullopt;
    }
    co_return stored(std::move(answer));
}

Task<Result<std::optional<StoredLease>>> ClientLease::create(LeaseRecord record,
                                                             std::chrono::milliseconds limit) {
    const StoredLease lease{.record = std::move(record)};
    auto collection = target();
    collection.object.name.clear();
    auto body = lease_json(name_, lease);
    auto options = urgent(limit);
    auto answer = co_await client_.create(std::move(collection), std::move(body), options);
    co_return stored(std::move(answer));
}

Task<Result<std::optional<StoredLease>>> ClientLease::update(StoredLease lease,
                                                             std::chrono::milliseconds limit) {
    auto object = target();
    auto body = lease_json(name_, lease);
    auto options = urgent(limit);
    auto answer = co_await client_.update(std::move(object), std::move(body), options);
    if (!answer && answer.error().status == not_found) {
        co_return std::nullopt;
    }
    co_return stored(std::move(answer));
}

}  // namespace scout::kube
