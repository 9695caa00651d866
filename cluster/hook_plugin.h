// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/objects/plugin.h"

/// The Plugin object by which virt-handler asks agents before it stops a VM (dossier §3.4), and the
/// nodes on which it must not ask, for nobody answers there. Pure; time is passed in.
namespace scout::cluster {

using NodeNames = std::set<std::string, std::less<>>;

inline constexpr const char* hook_plugin_name = "virt-scout";
/// As virt-handler's container has it, and the host.
inline constexpr const char* hook_socket = "/var/run/kubevirt/plugins/virt-scout.sock";
/// Each name costs in every stop, and virt-handler keeps every condition that it has seen for ever.
inline constexpr std::size_t most_left_out = 200;

/// CEL over `vmi`, as simple as can be: an error at run time blocks every stop and every delete.
/// Names that no node can have are not in it.
[[nodiscard]] std::string hook_condition(const NodeNames& left_out);
/// The names in a condition of ours.
[[nodiscard]] NodeNames left_out_by(std::string_view condition);

/// Our hook among those of the object; null: it has none, or there is no object.
[[nodiscard]] const kube::NodeHook* own_hook(const kube::Plugin* plugin);
/// The nodes that it leaves out; none without it.
[[nodiscard]] NodeNames left_out_by(const kube::Plugin* plugin);

/// The cluster-scoped object with which the Plugin goes.
struct HookOwner {
    std::string api_version;
    std::string kind;
    std::string name;
    std::string uid;
};

/// The server-side apply of it.
[[nodiscard]] std::string hook_plugin_body(const HookOwner& owner, const std::string& condition);
/// Whether the API server has it so already.
[[nodiscard]] bool is_hook_plugin(const kube::Plugin& plugin, std::string_view owner_uid,
                                  std::string_view condition);

/// Which nodes are to be left out, by who of their agents was heard of when.
///
/// A node is left out once its agent was not heard of for as long as two heartbeats may take, and
/// asked about again when the agent has been there for a minute. Who just began to lead has heard
/// of nobody: it first believes what its predecessor wrote.
class HookCover {
public:
    /// Leadership begins; `left_out`: by the object that is there.
    void begin(NodeNames left_out, SteadyTime now);
    void heard(const std::string& node, SteadyTime now);
    /// With the nodes that run VMs; others are forgotten.
    void look(const std::vector<std::string_view>& nodes, SteadyTime now);

    [[nodiscard]] const NodeNames& left_out() const noexcept { return left_out_; }
    /// Who leads has done so for long enough to have heard of every agent that is there.
    [[nodiscard]] bool has_listened(SteadyTime now) const noexcept;
    /// Agents that are there.
    [[nodiscard]] std::size_t agents(SteadyTime now) const;

private:
    struct Agent {
        SteadyTime since;  ///< it has been there without a gap
        SteadyTime heard;
    };

    std::map<std::string, Agent, std::less<>> agents_;
    NodeNames left_out_;
    SteadyTime began_{};
};

}  // namespace scout::cluster
