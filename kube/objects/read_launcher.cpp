// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/read_launcher.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "kube/objects/read_meta.h"
#include "kube/objects/read_migration_settings.h"

namespace scout::kube {
namespace {

/// One of spec.containers.
struct Container {
    ContainerSpec spec;
    ContainerRequests requests;
    std::vector<std::string> command;
};

std::optional<std::chrono::seconds> seconds_of(std::string_view text) {
    std::uint32_t number = 0;
    const auto* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && at == end ? std::optional{std::chrono::seconds{number}}
                                             : std::nullopt;
}

std::optional<LauncherGrace> grace_in(const std::vector<std::string>& command) {
    const std::string_view flag = launcher_grace_flag;
    for (std::size_t at = 0; at < command.size(); ++at) {
        const std::string_view word = command[at];
        const bool apart = word == flag && at + 1 < command.size();
        const bool joined = word.starts_with(flag) && word.substr(flag.size()).starts_with('=');
        if (!apart && !joined) {
            continue;
        }
        const auto time = seconds_of(apart ? command[at + 1] : word.substr(flag.size() + 1));
        return time ? std::optional{LauncherGrace{.time = *time,
                                                  .container = 0,
                                                  .word = apart ? at + 1 : at,
                                                  .joined = joined}}
                    : std::nullopt;
    }
    return std::nullopt;
}

}  // namespace

[[nodiscard]] static Status read_json(JsonValue value, Container& target) {
    auto& spec = target.spec;
    return read_members(value, Field{"name", spec.name}, Field{"command", target.command},
                        Nested{"resources", Nested{"limits", Field{"memory", spec.memory_limit}},
                               Field{"requests", target.requests}});
}

/// One of spec.initContainers.
struct InitContainer {
    ContainerRequests requests;
};

[[nodiscard]] static Status read_json(JsonValue value, InitContainer& target) {
    SharedText restarts;
    auto done = read_members(value, Field{"restartPolicy", restarts},
                             Nested{"resources", Field{"requests", target.requests}});
    target.requests.stays = restarts == "Always";
    return done;
}

/// Most containers of a pod request nothing, and informers hold every launcher.
static void add(ContainerRequests requests, std::vector<ContainerRequests>& to) {
    if (!requests.memory.empty() || !requests.storage.empty()) {
        to.push_back(std::move(requests));
    }
}

Status read_json(JsonValue value, ContainerRequests& target) {
    QuantityText memory{target.memory};
    QuantityText storage{target.storage};
    return read_members(value, Field{"memory", memory}, Field{"ephemeral-storage", storage});
}

Status read_json(JsonValue value, InitRequests& target) {
    std::vector<InitContainer> containers;
    auto done = read_json(value, containers);
    for (auto& container : containers) {
        add(std::move(container.requests), target.target);
    }
    return done;
}

Status read_json(JsonValue value, LauncherContainers& target) {
    std::vector<Container> containers;
    auto done = read_json(value, containers);
    for (std::size_t at = 0; at < containers.size(); ++at) {
        target.specs.push_back(containers[at].spec);
        add(std::move(containers[at].requests), target.requests);
        if (containers[at].spec.name == "compute") {
            target.target = grace_in(containers[at].command);
            if (target.target) {
                target.target->container = at;
            }
        }
    }
    return done;
}

}  // namespace scout::kube
