// SPDX-License-Identifier: Apache-2.0
#include "migration/requester.h"

#include <array>
#include <utility>

namespace scout::migration {
namespace {

constexpr std::array<std::pair<Requester, std::string_view>, 10> words{{
    {Requester::user, "user"},
    {Requester::drain, "drain"},
    {Requester::descheduler, "descheduler"},
    {Requester::node_pressure, "node-pressure"},
    {Requester::forecast, "forecast"},
    {Requester::shutdown, "shutdown"},
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
    if (facts.node_shutting_down) {
        return answer(Requester::shutdown, "an evacuation while its node was shutting down", false);
    }
    if (facts.evicted_by_kubelet) {
        return answer(Requester::node_pressure,
                      "an evacuation after the kubelet told that it evicts the launcher", false);
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
    if (facts.node_shutting_down) {
        return answer(Requester::shutdown, "a migration of virt-scout while its node shut down",
                      false);
    }
    if (facts.pod_deleted && !facts.evicted_by_kubelet) {
        return answer(Requester::drain,
                      "a migration of virt-scout after its launcher was deleted in the API", false);
    }
    return answer(Requester::node_pressure,
                  "a migration of virt-scout, which begins those of such a name for launchers that "
                  "were told to stop",
                  facts.told_to_stop || facts.evicted_by_kubelet);
}

RequestAnswer seen(const RequestFacts& facts) {
    if (const auto recorded = requester_named(facts.recorded)) {
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

RequestAnswer who_wanted(const RequestFacts& facts) {
    auto out = seen(facts);
    out.user = facts.user;
    if (out.user.empty() && out.requester == Requester::user) {
        out.user = facts.client;
    }
    return out;
}

}  // namespace scout::migration
