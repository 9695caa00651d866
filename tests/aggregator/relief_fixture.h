// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "aggregator/pressure_relief.h"
#include "tests/aggregator/mover_fixture.h"

namespace scout::aggregator {

inline constexpr const char* migrations_kind = "virtualmachineinstancemigrations";

/// VMs web and db run on n1, which is about to run short of memory; n2 and n3 take VMs.
class ReliefFixture : public MoverFixture {
protected:
    ReliefFixture() {
        act();
        for (const auto* node : {"n1", "n2", "n3"}) {
            put_ready(node);
        }
        put_vmi("db", "n1");
        put_pod("virt-launcher-db-a", "db", "n1");
        api.answer = [this](const kube::HttpRequest& request) { return answer_move(request); };
    }

    void act(boost::json::object pressure = {{"mode", "act"}}) {
        api.put("scoutconfigs", {{"metadata", {{"name", "default"}}},
                                 {"spec", {{"pressure", std::move(pressure)}}}});
    }
    void put_ready(const std::string& node) {
        api.put("nodes",
                {{"metadata", {{"name", node}, {"labels", {{"kubevirt.io/schedulable", "true"}}}}},
                 {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}});
    }
    /// Runs it, and agents that are heard of.
    void lead() {
        start();
        scope->spawn("relief", [this] { return relief.run(); });
        for (const auto* node : {"n1", "n2"}) {
            ASSERT_TRUE(registry.introduce(
                {.node = node, .host_identity = node, .agent_version = ""}, clock.steady()));
        }
        pass(std::chrono::minutes{1});
    }
    /// Time passes, agents stay alive, and it looks once more.
    void pass(std::chrono::seconds time) {
        clock.advance(time);
        registry.touch("n1", clock.steady());
        registry.touch("n2", clock.steady());
        ring();
        settle();
    }
    /// A change of what is led or warned of is looked at without delay.
    void ring() { tell("n2", false), tell("n2", true), tell("n2", false); }

    void tell(const std::string& node, bool warned, std::vector<std::string> vms = {}) {
        migration::PressureReport report;
        report.lines.resize(1);
        auto& line = report.lines[0];
        line.signal = node == "n1" ? migration::PressureSignal::memory_available
                                   : migration::PressureSignal::pid_available;
        line.room = migration::SignalRoom{.available = 2000, .capacity = 100'000};
        line.at = 1000;
        line.warned = warned;
        if (warned && node == "n1") {
            line.reached =
                migration::TrendForecast{.in = std::chrono::minutes{5}, .confidence = 0.9};
        }
        report.order.resize(1);
        for (const auto& vm : vms) {
            report.order[0].first.push_back({.vmi = "shop/" + vm,
                                             .pod_uid = "pod of " + vm,
                                             .usage = 700,
                                             .vm_grace = std::nullopt});
        }
        static_cast<void>(registry.report_pressure(node, std::move(report), clock.steady()));
    }
    void press(std::vector<std::string> vms = {"web", "db"}) {
        tell("n1", false);
        tell("n1", true, std::move(vms));
        settle();
    }

    /// As the API server does it, with or without our webhook.
    kube::HttpResponse answer_move(const kube::HttpRequest& request) {
        kube::HttpResponse response;
        response.head.status = 200;
        response.body = "{}";
        if (request.method == "DELETE" &&
            request.target.find(migrations_kind) != std::string::npos) {
            deletes.push_back(request.body);
            api.remove(migrations_kind, request.target.substr(request.target.rfind('/') + 1));
        }
        if (request.method != "POST" || request.target.find(migrations_kind) == std::string::npos) {
            return response;
        }
        const bool dry = request.target.find("dryRun=All") != std::string::npos;
        const auto status = dry ? rehearsal_status : status_of_move;
        if (status != 200) {
            response.head.status = status;
            response.body = R"({"kind":"Status","message":"no","reason":"Forbidden"})";
            return response;
        }
        auto object = boost::json::parse(request.body).as_object();
        auto& metadata = object["metadata"].as_object();
        metadata["name"] = "virt-scout-forecast-" + std::to_string(++made);
        metadata["uid"] = "move " + std::to_string(made);
        metadata["creationTimestamp"] = rfc3339(clock.wall());
        if (dry && webhook) {
            object["spec"].as_object()["addedNodeSelector"] = {
                {"virt-scout.io/target-term", "0123"}};
        }
        if (!dry) {
            stored.push_back(object);
            if (stores) {
                api.put(migrations_kind, object);
            }
        }
        response.body = boost::json::serialize(object);
        return response;
    }
    void end(std::size_t index, const std::string& phase) {
        stored.at(index)["status"] = {{"phase", phase}};
        api.put(migrations_kind, stored.at(index));
        settle();
    }
    [[nodiscard]] std::string uid_of(std::size_t index) const {
        return std::string{stored.at(index).at("metadata").at("uid").as_string()};
    }
    [[nodiscard]] std::vector<std::string> moved() const {
        std::vector<std::string> names;
        for (const auto& object : stored) {
            names.emplace_back(object.at("spec").at("vmiName").as_string());
        }
        return names;
    }
    [[nodiscard]] std::uint64_t count(ReliefResult result) const {
        return relief.counters().results.at(static_cast<std::size_t>(result));
    }
    [[nodiscard]] std::size_t held(migration::ReliefHold hold) const {
        return relief.counters().held.at(static_cast<std::size_t>(hold));
    }
    [[nodiscard]] std::size_t posts() const {
        std::size_t all = 0;
        for (const auto& call : calls()) {
            all += call.starts_with("POST ") && call.find(migrations_kind) != std::string::npos ? 1
                                                                                                : 0;
        }
        return all;
    }

    unsigned rehearsal_status = 200;
    unsigned status_of_move = 200;
    bool webhook = true;
    bool stores = true;
    unsigned made = 0;
    std::vector<boost::json::object> stored;
    std::vector<std::string> deletes;
    std::string stopping;  ///< uid of a VMI whose launcher was told to stop
    Registry registry{{}, clock};
    PressureRelief relief{
        loop.get_executor(),
        {.objects = {.registry = registry,
                     .kubevirts = objects.kubevirts,
                     .nodes = objects.nodes,
                     .vmis = objects.vmis,
                     .migrations = objects.migrations,
                     .launchers = objects.launchers,
                     .told_to_stop = [this](std::string_view uid) { return uid == stopping; }},
         .registry = registry,
         .settings = settings,
         .elector = elector,
         .events = events},
        client,
        clock};
};

}  // namespace scout::aggregator
