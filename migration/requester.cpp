// SPDX-License-Identifier: Apache-2.0
#include "migration/requester.h"

#include <array>
#include <utility>

namespace scout::migration {
namespace {

constexpr std::array<std::pair<Requester, std::string_view>, 12> words{{
    {Requester::user, "user"},
    {Requester::drain, "drain"},
    {Requester::descheduler, "descheduler"},
    {Requester::node_pressure, "node-pressure"},
    {Requester::forecast, "forecast"},
    {Requester::shutdown, "shutdown"},
    {Requester::taint, "taint"},
    {Requester::preemption, "preemption"},
    {Requester::launcher_update, "launcher-update"},
    {Requester::hotplug, "hotplug"},
    {Requester::volume, "volume"},
    {Requester::cross_cluster, "cross-cluster"},
}};

constexpr std::string_view evacuation_prefix = "kubevirt-evacuation-";
constexpr std::string_view update_prefix = "kubevirt-workload-update-";
constexpr std::string_view api_prefix = "kubevirt-migrate-vm-";

RequestAnswer answer(Requester requester, std::string why, bool certain = true) {
    return {.requester = requester, .user = {}, .why = std::move(why), .certain = certain};
}

/// Who wants a launcher's VM moved by ending the launcher so, and how that is said; none: nobody.
struct Ender {
    Requester requester{};
    std::string_view what;
};
std::optional<Ender> ender_of(Cause ending) noexcept {
    switch (ending) {
        case Cause::node_pressure:
        case Cause::own_limit:
            return Ender{Requester::node_pressure, "the kubelet told that it evicts its launcher"};
        case Cause::api_eviction:
            return Ender{Requester::drain, "its launcher was evicted through the API"};
        case Cause::preemption:
            return Ender{Requester::preemption,
                         "its launcher was preempted for a pod that goes before it"};
        case Cause::taint:
            return Ender{Requester::taint,
                         "its launcher was deleted for a taint that it does not tolerate"};
        case Cause::node_shutdown:
            return Ender{Requester::shutdown, "its launcher was ended by the node's shutdown"};
        case Cause::liveness:
        case Cause::kubelet_readmission:
        case Cause::garbage_collection:
        case Cause::node_removed:
        case Cause::owner_delete:
        case Cause::guest_shutdown:
        case Cause::unknown:
            break;
    }
    return std::nullopt;
}

/// What was concluded from what was seen when the VMIM was made, which may have been too early,
/// gives way.
bool outdoes(Requester told, Requester recorded) noexcept {
    const bool guessed = recorded == Requester::drain || recorded == Requester::node_pressure ||
                         recorded == Requester::shutdown;
    return guessed && told != recorded;
}

std::optional<RequestAnswer> ended_by(const RequestFacts& facts, std::string_view move,
                                      bool certain = false) {
    const auto ender = ender_of(facts.ending);
    if (!ender) {
        return std::nullopt;
    }
    return answer(ender->requester, std::string{move} + " after " + std::string{ender->what},
                  certain);
}

/// All evacuation VMIMs look alike; what asked for the eviction shows elsewhere.
RequestAnswer evacuation(const RequestFacts& facts) {
    if (facts.priority == "system-maintenance") {
        return answer(Requester::descheduler,
                      "an evacuation of priority system-maintenance, which KubeVirt gives to the "
                      "descheduler's");
    }
    if (facts.of_now && facts.descheduled) {
        return answer(Requester::descheduler, "the VMI's eviction-source is descheduler");
    }
    if (auto told = ended_by(facts, "an evacuation")) {
        return std::move(*told);
    }
    if (facts.node_shutting_down) {
        return answer(Requester::shutdown, "an evacuation while its node was shutting down", false);
    }
    if (facts.pod_deleted) {
        return answer(Requester::drain, "an evacuation after its launcher was deleted in the API",
                      false);
    }
    if (facts.told_to_stop) {
        return answer(Requester::node_pressure,
                      "an evacuation after its launcher was told to stop, as our agent saw", false);
    }
    return answer(Requester::drain,
                  "an evacuation of priority " +
                      (facts.priority.empty() ? std::string{"none"} : facts.priority) +
                      ": its launcher was evicted through the API");
}

RequestAnswer workload_update(const RequestFacts& facts) {
    if (facts.volume_update) {
        return answer(Requester::volume, "it has the label kubevirt.io/volume-update-migration");
    }
    // Volumes are labelled: user-triggered without the label is plugging.
    if (facts.priority == "user-triggered") {
        return answer(Requester::hotplug,
                      "an update of priority user-triggered, which KubeVirt gives to hotplug");
    }
    if (facts.priority == "system-critical") {
        return answer(Requester::launcher_update,
                      "an update of priority system-critical, which KubeVirt gives to outdated "
                      "launchers");
    }
    // Before 1.7 there was no priority: the VMI's conditions tell, while it lasts.
    if (facts.of_now && facts.volumes_pending) {
        return answer(Requester::volume, "an update while the VMI's volumes change", false);
    }
    if (facts.of_now && facts.hotplug_pending) {
        return answer(Requester::hotplug, "an update while the VMI waits for a hotplug", false);
    }
    return answer(Requester::launcher_update, "an update by KubeVirt of no further kind",
                  facts.of_now && facts.launcher_outdated);
}

/// We make them where KubeVirt makes no evacuation of an eviction. Anyone may use such a name.
RequestAnswer own_move(const RequestFacts& facts) {
    if (facts.name.starts_with(forecast_move_prefix)) {
        return answer(Requester::forecast,
                      "a migration of virt-scout, by its name ahead of pressure that it expected",
                      false);
    }
    if (auto told = ended_by(facts, "a migration of virt-scout", true)) {
        return std::move(*told);
    }
    if (facts.node_shutting_down) {
        return answer(Requester::shutdown, "a migration of virt-scout while its node shut down",
                      false);
    }
    if (facts.pod_deleted) {
        return answer(Requester::drain,
                      "a migration of virt-scout after its launcher was deleted in the API", false);
    }
    return answer(Requester::node_pressure,
                  "a migration of virt-scout, which begins those of such a name for launchers that "
                  "were told to stop",
                  facts.told_to_stop);
}

RequestAnswer seen(const RequestFacts& facts) {
    if (const auto recorded = requester_named(facts.recorded)) {
        auto told = ended_by(facts, "a migration");
        if (told && outdoes(told->requester, *recorded)) {
            return std::move(*told);
        }
        return answer(*recorded, "it was recorded when the VMIM was made");
    }
    if (facts.crosses) {
        return answer(Requester::cross_cluster, "it has sendTo or receive");
    }
    if (facts.evacuation) {
        return evacuation(facts);
    }
    if (facts.workload_update) {
        return workload_update(facts);
    }
    // Annotations can be taken off by anyone; the names of KubeVirt's own stay.
    if (facts.name.starts_with(evacuation_prefix)) {
        auto out = evacuation(facts);
        out.certain = false;
        return out;
    }
    if (facts.name.starts_with(update_prefix)) {
        auto out = workload_update(facts);
        out.certain = false;
        return out;
    }
    if (facts.name.starts_with(own_move_prefix)) {
        return own_move(facts);
    }
    if (facts.name.starts_with(api_prefix)) {
        return answer(Requester::user, "it was asked for through the VM's migrate (virtctl, UI)");
    }
    return answer(Requester::user, "none of KubeVirt's own controllers makes such a VMIM");
}

}  // namespace

std::string_view to_string(Requester requester) noexcept {
    for (const auto& [known, word] : words) {
        if (known == requester) {
            return word;
        }
    }
    return "user";
}

std::optional<Requester> requester_named(std::string_view word) noexcept {
    for (const auto& [known, name] : words) {
        if (name == word) {
            return known;
        }
    }
    return std::nullopt;
}

bool is_outdone(std::string_view recorded, Cause ending) noexcept {
    const auto ender = ender_of(ending);
    const auto known = requester_named(recorded);
    return ender && (!known || outdoes(ender->requester, *known));
}

RequestAnswer who_wanted(const RequestFacts& facts) {
    auto out = seen(facts);
    out.user = facts.user;
    if (out.user.empty() && out.requester == Requester::user) {
        out.user = facts.client;
    }
    return out;
}

}  // namespace scout::migration
