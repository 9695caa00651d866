// SPDX-License-Identifier: Apache-2.0
#include "tests/aggregator/mover_fixture.h"

#include <chrono>
#include <utility>

#include "tests/support/run_to_end.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

std::string uid_of(const std::string& vmi) {
    return "vmi " + vmi;
}

std::string pod_uid_of(const std::string& vmi) {
    return "pod of " + vmi;
}

}  // namespace

Task<Result<std::optional<kube::StoredLease>>> FakeLease::read(
    std::chrono::milliseconds /*limit*/) {
    if (away) {
        co_return fail(Errc::unavailable, "the lease cannot be read");
    }
    co_return stored_;
}

Task<Result<std::optional<kube::StoredLease>>> FakeLease::create(
    kube::LeaseRecord record, std::chrono::milliseconds /*limit*/) {
    stored_ = {.record = std::move(record), .version = std::to_string(++version_)};
    co_return stored_;
}

Task<Result<std::optional<kube::StoredLease>>> FakeLease::update(
    kube::StoredLease stored, std::chrono::milliseconds /*limit*/) {
    if (away) {
        co_return fail(Errc::unavailable, "the lease cannot be written");
    }
    stored.version = std::to_string(++version_);
    stored_ = std::move(stored);
    co_return stored_;
}

Task<Status> RecordedEvents::create(kube::EventRecord record) {
    records.push_back(std::move(record));
    co_return Status{};
}

Task<Status> RecordedEvents::update(kube::EventRecord record) {
    again.push_back(std::move(record));
    co_return Status{};
}

MoverFixture::MoverFixture() {
    objects.follow_vms();
    put_kubevirt({});
    put_config({{"mode", "act"}});
    for (const auto* node : {"n1", "n2", "n3"}) {
        api.put("nodes", {{"metadata", {{"name", node}}}});
    }
    put_vmi("web", "n1");
    put_pod("virt-launcher-web-a", "web", "n1");
}

MoverFixture::~MoverFixture() = default;

void MoverFixture::TearDown() {
    if (scope) {
        test::run_until_done(loop, scope->close());
        test::run_until_done(loop, hook->stop());
        test::run_until_done(loop, desk->stop());
    }
}

void MoverFixture::start() {
    EvacuationDesk::Sources sources{.objects = {.kubevirts = objects.kubevirts,
                                                .vmis = objects.vmis,
                                                .migrations = objects.migrations,
                                                .launchers = objects.launchers,
                                                .policies = objects.policies,
                                                .namespaces = objects.namespaces,
                                                .nodes = objects.nodes},
                                    .settings = settings,
                                    .elector = elector,
                                    .events = events};
    desk.emplace(loop.get_executor(), sources, client, clock);
    hook.emplace(loop.get_executor(),
                 HookKeeper::Sources{.nodes = objects.nodes,
                                     .vmis = objects.vmis,
                                     .plugins = objects.plugins,
                                     .settings = settings,
                                     .desk = *desk,
                                     .elector = elector},
                 client, clock);
    scope.emplace(loop.get_executor());
    objects.start(*scope);
    scope->spawn("elector", [this] { return elector.run(); });
    scope->spawn("settings", [this] { return settings.run(); });
    scope->spawn("events", [this] { return events.run(); });
    scope->spawn("desk", [this] { return desk->run(); });
    scope->spawn("hook", [this] { return hook->run(); });
    ASSERT_TRUE(run_until([this] {
        return elector.leads() && settings.synced() && objects.vmis.synced() &&
               objects.migrations.synced() && objects.launchers.synced() &&
               objects.nodes.synced() && objects.policies.synced() && objects.namespaces.synced();
    }));
}

bool MoverFixture::run_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    loop.restart();
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        loop.run_one_for(20ms);
    }
    return true;
}

void MoverFixture::settle() {
    loop.restart();
    while (loop.run_one_for(5ms) > 0) {
    }
}

void MoverFixture::lose_leadership() {
    lease.away = true;
    clock.advance(3h);
    settle();
}

void MoverFixture::put_vmi(const std::string& name, const std::string& node, json::object status,
                           json::object metadata) {
    metadata["name"] = name;
    metadata["namespace"] = "shop";
    metadata["uid"] = uid_of(name);
    status["phase"] = "Running";
    status["nodeName"] = node;
    if (!status.contains("conditions")) {
        status["conditions"] = json::array{{{"type", "LiveMigratable"}, {"status", "True"}}};
    }
    api.put("virtualmachineinstances", {{"metadata", std::move(metadata)},
                                        {"spec", {{"evictionStrategy", "LiveMigrate"}}},
                                        {"status", std::move(status)}});
}

void MoverFixture::put_pod(const std::string& name, const std::string& vmi, const std::string& node,
                           const std::string& migration_uid) {
    json::object labels{{"kubevirt.io", "virt-launcher"}, {"kubevirt.io/created-by", uid_of(vmi)}};
    if (!migration_uid.empty()) {
        labels["kubevirt.io/migrationJobUID"] = migration_uid;
    }
    api.put("pods", {{"metadata",
                      {{"name", name},
                       {"namespace", "shop"},
                       {"uid", migration_uid.empty() ? pod_uid_of(vmi) : "target of " + vmi},
                       {"labels", std::move(labels)},
                       {"annotations", {{"kubevirt.io/domain", vmi}}}}},
                     {"spec", {{"nodeName", node}, {"terminationGracePeriodSeconds", 60}}},
                     {"status", {{"phase", "Running"}}}});
}

std::vector<std::string> MoverFixture::put_two_hundred() {
    std::vector<std::string> names;
    for (int i = 0; i < 200; ++i) {
        const auto vmi = "vm" + std::to_string(i);
        put_vmi(vmi, "n1");
        put_pod("virt-launcher-" + vmi, vmi, "n1");
        names.push_back(vmi);
    }
    return names;
}

void MoverFixture::put_move(const std::string& name, const std::string& vmi,
                            const std::string& phase) {
    api.put("virtualmachineinstancemigrations",
            {{"metadata", {{"name", name}, {"namespace", "shop"}, {"uid", "move " + name}}},
             {"spec", {{"vmiName", vmi}}},
             {"status", {{"phase", phase}}}});
}

void MoverFixture::put_config(json::object evacuation) {
    api.put("scoutconfigs", {{"metadata", {{"name", "default"}}},
                             {"spec", {{"evacuation", std::move(evacuation)}}}});
}

void MoverFixture::put_kubevirt(json::object configuration) {
    api.put("kubevirts", {{"metadata", {{"name", "kubevirt"}, {"namespace", "kubevirt"}}},
                          {"spec", {{"configuration", std::move(configuration)}}},
                          {"status", {{"phase", "Deployed"}}}});
}

void MoverFixture::put_node(const std::string& name) {
    api.put("nodes",
            {{"metadata", {{"name", name}, {"labels", {{"kubevirt.io/schedulable", "true"}}}}}});
}

void MoverFixture::open(SessionId session, const std::string& node, bool hook_served) {
    desk->open(session, node, sink);
    v1::Evacuations message;
    message.set_hook_served(hook_served);
    ASSERT_TRUE(desk->take(session, message));
}

void MoverFixture::name(SessionId session, const std::string& state,
                        const std::vector<std::string>& vmis, const std::string& reason) {
    v1::Evacuations message;
    message.set_hook_served(true);
    for (const auto& vmi : vmis) {
        auto& named = *message.add_evacuations();
        named.set_namespace_("shop");
        named.set_vmi(vmi);
        named.set_vmi_uid(uid_of(vmi));
        named.set_pod_uid(pod_uid_of(vmi));
        named.set_state(state);
        named.set_reason(reason);
    }
    const auto taken = desk->take(session, message);
    ASSERT_TRUE(taken) << taken.error().message;
}

void MoverFixture::order(SessionId session, std::uint64_t id, const std::string& step,
                         const std::string& object, const std::string& vmi) {
    v1::EvacuationOrder message;
    message.set_id(id);
    message.set_vmi_uid(uid_of(vmi));
    message.set_step(step);
    message.set_object(object);
    const auto taken = desk->order(session, message);
    ASSERT_TRUE(taken) << taken.error().message;
}

std::map<std::uint64_t, v1::EvacuationResult> MoverFixture::results(SessionId session) const {
    std::map<std::uint64_t, v1::EvacuationResult> out;
    if (const auto found = sink.sent.find(session); found != sink.sent.end()) {
        for (const auto& message : found->second) {
            if (message.has_evacuation_result()) {
                out[message.evacuation_result().id()] = message.evacuation_result();
            }
        }
    }
    return out;
}

std::vector<v1::EvacuationFacts> MoverFixture::facts(SessionId session) const {
    std::vector<v1::EvacuationFacts> out;
    if (const auto found = sink.sent.find(session); found != sink.sent.end()) {
        for (const auto& message : found->second) {
            if (message.has_evacuation_facts()) {
                out.push_back(message.evacuation_facts());
            }
        }
    }
    return out;
}

std::vector<v1::EvacuationRules> MoverFixture::rules(SessionId session) const {
    std::vector<v1::EvacuationRules> out;
    if (const auto found = sink.sent.find(session); found != sink.sent.end()) {
        for (const auto& message : found->second) {
            if (message.has_evacuation_rules()) {
                out.push_back(message.evacuation_rules());
            }
        }
    }
    return out;
}

v1::EvacuationResult MoverFixture::result(SessionId session, std::uint64_t id) {
    EXPECT_TRUE(run_until([&] { return results(session).contains(id); })) << "order " << id;
    return results(session)[id];
}

std::vector<std::string> MoverFixture::calls() const {
    std::vector<std::string> out;
    for (const auto& request : api.calls()) {
        if (request.target.find("/scoutconfigs") != std::string::npos ||
            request.target.find("/plugins") != std::string::npos ||
            request.target.find("/clusterroles") != std::string::npos) {
            continue;
        }
        out.push_back(request.method + " " + request.target);
    }
    return out;
}

}  // namespace scout::aggregator
