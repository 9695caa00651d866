// SPDX-License-Identifier: Apache-2.0
#include "cluster/launcher_standing.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "migration/quantity.h"
#include "migration/scheduling/requests.h"

namespace scout::cluster {
namespace {

namespace scheduling = migration::scheduling;

const std::string memory = "memory";
const std::string storage = "ephemeral-storage";

/// False if a quantity is none.
bool read(const kube::ContainerRequests& asked, scheduling::Resources& target) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    for (const auto& [name, text] :
         std::array{std::pair{memory, asked.memory}, std::pair{storage, asked.storage}}) {
        const auto amount =
            text.empty() ? Result<migration::Quantity>{} : migration::Quantity::parse(text.view());
        if (!amount) {
            return false;
        }
        target[name] = static_cast<std::int64_t>(std::min(amount->rounded_up(), most));
    }
    return true;
}

std::uint64_t with_overhead(const std::string& name, const scheduling::Resources& requests,
                            const scheduling::Resources& overhead) {
    const auto found = requests.find(name);
    return found == requests.end() || found->second == 0
               ? 0
               : static_cast<std::uint64_t>(found->second) +
                     static_cast<std::uint64_t>(overhead.at(name));
}

}  // namespace

std::optional<migration::PodStanding> standing_of(const kube::LauncherPod& pod) {
    scheduling::PodAsk asked;
    scheduling::Resources overhead;
    bool good = read(pod.requests.overhead, overhead);
    for (const auto& container : pod.requests.containers) {
        good = read(container, asked.containers.emplace_back().requests) && good;
    }
    for (const auto& container : pod.requests.init_containers) {
        auto& init = asked.init_containers.emplace_back();
        init.restarts = container.stays;
        good = read(container, init.ask.requests) && good;
    }
    if (!good) {
        return std::nullopt;
    }
    const auto requests = scheduling::requests_when_new(std::move(asked));
    return migration::PodStanding{.priority = pod.priority,
                                  .memory_request = with_overhead(memory, requests, overhead),
                                  .storage_request = with_overhead(storage, requests, overhead)};
}

}  // namespace scout::cluster
