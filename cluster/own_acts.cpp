// SPDX-License-Identifier: Apache-2.0
#include "cluster/own_acts.h"

#include <algorithm>
#include <array>
#include <utility>

namespace scout::cluster {

std::vector<OwnAct> own_acts(const Records& records, std::string_view space,
                             std::string_view vmi_name) {
    std::vector<OwnAct> acts;
    for (const auto& event : records.events) {
        if (event.kind == "VirtualMachineInstance" && event.space == space &&
            event.name == vmi_name && event.reporter.view().starts_with("virt-scout")) {
            acts.push_back(
                {.at = event.at, .reason = event.reason.str(), .text = event.message.str()});
        }
    }
    std::stable_sort(acts.begin(), acts.end(),
                     [](const OwnAct& a, const OwnAct& b) { return a.at > b.at; });
    acts.resize(std::min(acts.size(), most_own_acts));
    return acts;
}

std::string_view deed_of(std::string_view reason) noexcept {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> deeds{
        {{"EvacuationBegan", "began to move it"},
         {"EvacuationGivenUp", "gave up"},
         {"MovedAheadOfPressure", "moved it ahead of pressure"},
         {"NotMovedAheadOfPressure", "could not move it ahead of pressure"},
         {"MoveAheadOfPressureTakenBack", "took a move ahead of pressure back"}}};
    const auto* const found = std::find_if(
        deeds.begin(), deeds.end(), [reason](const auto& each) { return each.first == reason; });
    return found == deeds.end() ? std::string_view{} : found->second;
}

}  // namespace scout::cluster
