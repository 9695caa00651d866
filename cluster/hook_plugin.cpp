// SPDX-License-Identifier: Apache-2.0
#include "cluster/hook_plugin.h"

#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/heartbeat.h"
#include "base/node_name.h"
#include "kube/resource.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

/// An agent that comes and goes would have another condition made each time.
constexpr auto back_after = 60s;

constexpr std::string_view running =
    R"(vmi.status.phase == "Running" && !has(vmi.metadata.deletionTimestamp))";
constexpr std::string_view list_begin = " && !(vmi.status.nodeName in [";
constexpr std::string_view list_end = "])";
/// A stop waits that long for an agent that hangs, and one of virt-handler's ten workers with it.
constexpr const char* timeout = "5s";
constexpr const char* hook_point = "PreVMStop";
constexpr const char* on_failure = "Fail";

}  // namespace

std::string hook_condition(const NodeNames& left_out) {
    std::string names;
    for (const auto& name : left_out) {
        if (is_node_name(name)) {
            names += (names.empty() ? "\"" : ", \"") + name + "\"";
        }
    }
    std::string condition{running};
    if (!names.empty()) {
        condition += std::string{list_begin} + names + std::string{list_end};
    }
    return condition;
}

NodeNames left_out_by(std::string_view condition) {
    NodeNames names;
    const auto begin = condition.find(list_begin);
    if (begin == std::string_view::npos) {
        return names;
    }
    auto list = condition.substr(begin + list_begin.size());
    list = list.substr(0, list.find(']'));
    for (auto quote = list.find('"'); quote != std::string_view::npos; quote = list.find('"')) {
        list.remove_prefix(quote + 1);
        const auto name = list.substr(0, list.find('"'));
        if (is_node_name(name)) {
            names.emplace(name);
        }
        list.remove_prefix(std::min(list.size(), name.size() + 1));
    }
    return names;
}

std::string hook_plugin_body(const HookOwner& owner, const std::string& condition) {
    const auto& resource = kube::resources::plugins();
    const json::object owned{{"apiVersion", owner.api_version},
                             {"kind", owner.kind},
                             {"name", owner.name},
                             {"uid", owner.uid}};
    const json::object hook{{"socket", hook_socket},
                            {"permittedHooks", json::array{hook_point}},
                            {"condition", condition},
                            {"failureStrategy", on_failure},
                            {"timeout", timeout}};
    return json::serialize(json::object{
        {"apiVersion", resource.group + "/" + resource.version},
        {"kind", resource.kind},
        {"metadata", {{"name", hook_plugin_name}, {"ownerReferences", json::array{owned}}}},
        {"spec", {{"nodeHooks", json::array{hook}}}}});
}

/// Whether others may have hooks in it is KubeVirt's to say.
const kube::NodeHook* own_hook(const kube::Plugin* plugin) {
    if (plugin == nullptr) {
        return nullptr;
    }
    const auto ours = std::find_if(plugin->hooks.begin(), plugin->hooks.end(),
                                   [](const auto& hook) { return hook.socket == hook_socket; });
    return ours == plugin->hooks.end() ? nullptr : &*ours;
}

NodeNames left_out_by(const kube::Plugin* plugin) {
    const auto* const ours = own_hook(plugin);
    return ours == nullptr ? NodeNames{} : left_out_by(ours->condition);
}

bool is_hook_plugin(const kube::Plugin& plugin, std::string_view owner_uid,
                    std::string_view condition) {
    const bool owned = std::any_of(plugin.owners.begin(), plugin.owners.end(),
                                   [owner_uid](const auto& uid) { return uid == owner_uid; });
    const auto* const ours = own_hook(&plugin);
    return owned && ours != nullptr && ours->permitted.size() == 1 &&
           ours->permitted.front() == hook_point && ours->condition == condition &&
           ours->failure_strategy == on_failure && ours->timeout == timeout;
}

void HookCover::begin(NodeNames left_out, SteadyTime now) {
    left_out_ = std::move(left_out);
    began_ = now;
}

void HookCover::heard(const std::string& node, SteadyTime now) {
    auto [at, is_new] = agents_.try_emplace(node, Agent{.since = now, .heard = now});
    auto& agent = at->second;
    if (!is_new && now - agent.heard >= agent_silence_limit) {
        agent.since = now;
    }
    agent.heard = now;
}

void HookCover::look(const std::vector<std::string_view>& nodes, SteadyTime now) {
    NodeNames there;
    for (const auto node : nodes) {
        there.emplace(node);
        const auto agent = agents_.find(node);
        const auto heard = agent == agents_.end() ? began_ : std::max(began_, agent->second.heard);
        if (now - heard >= agent_silence_limit) {
            left_out_.emplace(node);
        } else if (agent != agents_.end() && now - agent->second.since >= back_after) {
            left_out_.erase(std::string{node});
        }
    }
    std::erase_if(left_out_, [&there](const auto& name) { return !there.contains(name); });
    std::erase_if(agents_, [&there, now](const auto& entry) {
        return !there.contains(entry.first) && now - entry.second.heard >= agent_silence_limit;
    });
}

bool HookCover::has_listened(SteadyTime now) const noexcept {
    return now - began_ >= agent_silence_limit;
}

std::size_t HookCover::agents(SteadyTime now) const {
    return static_cast<std::size_t>(std::count_if(
        agents_.begin(), agents_.end(),
        [now](const auto& entry) { return now - entry.second.heard < agent_silence_limit; }));
}

}  // namespace scout::cluster
