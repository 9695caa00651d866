// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/launcher_pod.h"

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

#include "kube/objects/read_meta.h"

namespace scout::kube {

namespace {

/// One of spec.containers.
struct Container {
    SharedText name;
    std::vector<std::string> command;
};

struct Containers {
    std::optional<std::chrono::seconds>& grace;
};

constexpr std::string_view grace_flag = "--grace-period-seconds";

std::optional<std::chrono::seconds> seconds_of(std::string_view text) {
    std::uint32_t number = 0;
    const auto* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && at == end ? std::optional{std::chrono::seconds{number}}
                                             : std::nullopt;
}

/// "--grace-period-seconds", "45" or both in one; nothing for what is no number.
std::optional<std::chrono::seconds> grace_in(const std::vector<std::string>& command) {
    for (std::size_t at = 0; at < command.size(); ++at) {
        const std::string_view word = command[at];
        if (word == grace_flag && at + 1 < command.size()) {
            return seconds_of(command[at + 1]);
        }
        if (word.starts_with(grace_flag) && word.substr(grace_flag.size()).starts_with('=')) {
            return seconds_of(word.substr(grace_flag.size() + 1));
        }
    }
    return std::nullopt;
}

}  // namespace

[[nodiscard]] static Status read_json(JsonValue value, Container& target) {
    return read_members(value, Field{"name", target.name}, Field{"command", target.command});
}

[[nodiscard]] static Status read_json(JsonValue value, Containers& target) {
    std::vector<Container> containers;
    auto done = read_json(value, containers);
    for (const auto& container : containers) {
        if (container.name == "compute") {
            target.grace = grace_in(container.command);
        }
    }
    return done;
}

Result<LauncherPod> decode_launcher_pod(JsonObject& object) {
    LauncherPod pod;
    Containers containers{pod.launcher_grace};
    auto status = object.read(
        metadata(pod.meta,
                 Nested{"labels", Field{"kubevirt.io/created-by", pod.vmi_uid},
                        Field{"kubevirt.io/migrationJobUID", pod.migration_uid}},
                 Nested{"annotations", Field{"kubevirt.io/domain", pod.vmi_name}},
                 Field{"deletionTimestamp", pod.deletion},
                 Field{"deletionGracePeriodSeconds", pod.deletion_grace}),
        Nested{"spec", Field{"nodeName", pod.node}, Field{"nodeSelector", pod.node_selector},
               Field{"terminationGracePeriodSeconds", pod.grace}, Field{"containers", containers}},
        Nested{"status", Field{"phase", pod.phase}});
    return decoded(std::move(pod), std::move(status));
}

}  // namespace scout::kube
