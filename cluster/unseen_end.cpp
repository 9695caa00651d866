// SPDX-License-Identifier: Apache-2.0
#include "cluster/unseen_end.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace scout::cluster {
namespace {

using namespace std::chrono_literals;

/// A VMI that is made so soon after its VirtualMachine is the first one.
constexpr auto made_together = 60s;

constexpr const char* what_helps =
    "Events last an hour, and an aggregator keeps what ended (--aggregator kube:)";

std::string than(WallTime older, std::string_view what, WallTime younger) {
    return " (" + rfc3339(older) + ") than " + std::string{what} + " (" + rfc3339(younger) + ")";
}

const kube::PodRecord* running_of(const kube::VmiRecord& vmi,
                                  const std::vector<LauncherSeen>& launchers) {
    const auto found =
        std::find_if(launchers.begin(), launchers.end(), [&vmi](const LauncherSeen& each) {
            return each.pod != nullptr && each.pod->vmi_uid == vmi.meta.uid &&
                   !each.pod->is_final();
        });
    return found == launchers.end() ? nullptr : found->pod;
}

/// When the VMI began, as far as that is told. The target of a migration is younger.
std::optional<WallTime> begin_of(const kube::VmiRecord& vmi, const kube::PodRecord* running) {
    const bool is_first = running != nullptr && running->migration_uid.empty();
    return !vmi.creation && is_first ? running->creation : vmi.creation;
}

std::string sign_in_moves(const Records& records, const kube::VmiRecord& vmi, WallTime begin) {
    for (const auto& move : records.moves) {
        if (move.meta.space == vmi.meta.space && move.vmi_name == vmi.meta.name && move.creation &&
            *move.creation < begin) {
            return "an earlier one ended, for VMIM " + move.meta.name + " is older" +
                   than(*move.creation, "this VMI", begin);
        }
    }
    return {};
}

/// Its VirtualMachine is older: no sign of another one, but there may have been one.
std::string older_vm(const Records& records, const kube::VmiRecord& vmi, WallTime begin) {
    for (const auto& vm : records.vms) {
        if (vm.meta.space == vmi.meta.space && vm.meta.name == vmi.meta.name && vm.creation &&
            *vm.creation + made_together < begin) {
            return "nothing ends the launcher that it has; an end before this VMI would not be "
                   "seen, for the VirtualMachine is older" +
                   than(*vm.creation, "it", begin) + ": " + what_helps;
        }
    }
    return {};
}

/// Of a VM whose launchers are called like its own, or of its own.
bool may_be_earlier(const std::vector<LauncherSeen>& launchers) {
    return std::any_of(launchers.begin(), launchers.end(), [](const LauncherSeen& each) {
        return each.pod == nullptr && !each.perhaps_of.empty();
    });
}

std::string sign_in_events(const Records& records, const kube::VmiRecord& vmi,
                           const std::vector<LauncherSeen>& launchers) {
    std::string ended;
    for (const auto& event : records.events) {
        const bool older = event.at != WallTime{} && vmi.creation && event.at < *vmi.creation;
        if (event.space != vmi.meta.space) {
            continue;
        }
        if (event.kind == "VirtualMachineInstance" && event.name == vmi.meta.name &&
            (older || (!event.uid.empty() && event.uid != vmi.meta.uid))) {
            return "an earlier one ended, for an Event " + event.reason.str() + " (" +
                   event.message.str() + ") is about a VMI before this one";
        }
        const bool of_gone =
            event.kind == "Pod" &&
            std::any_of(launchers.begin(), launchers.end(), [&event](const LauncherSeen& each) {
                return each.pod == nullptr && each.perhaps_of.empty() && event.name == each.name;
            });
        if (of_gone && older) {
            ended = event.name.str() + " ended before";
        }
    }
    return ended;
}

}  // namespace

UnseenEnd unseen_end(const Records& records, const kube::VmiRecord& vmi,
                     const std::vector<LauncherSeen>& launchers) {
    const auto* const running = running_of(vmi, launchers);
    if (running == nullptr && vmi.phase == "Running") {
        return {.why = std::string{"no launcher pod of it is among what was read, so whether one "
                                   "ends or ended is not known: read pods and Events too; "} +
                       what_helps,
                .perhaps = {}};
    }
    const auto begin = begin_of(vmi, running);
    auto sign = sign_in_events(records, vmi, launchers);
    if (begin && sign.empty()) {
        sign = sign_in_moves(records, vmi, *begin);
    }
    if (sign.empty() && may_be_earlier(launchers)) {
        return {.why = {},
                .perhaps =
                    "nothing ends the launcher that it has; Events tell of one that may "
                    "have been its own before, or another VM's"};
    }
    if (sign.empty()) {
        return {.why = {}, .perhaps = begin ? older_vm(records, vmi, *begin) : std::string{}};
    }
    return {.why = "nothing ends the launcher that it has; " + sign +
                   ", and nothing that was read tells by what; " + what_helps,
            .perhaps = {}};
}

}  // namespace scout::cluster
