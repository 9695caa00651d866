// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/heartbeat.h"
#include "migration/pressure_report.h"

/// Which VMs to move away from nodes that are about to run short of something, before their
/// kubelets evict them (design §6, "Before the mark"; decision 0016). Pure; any thread; nothing
/// here fails. Times are ages: how long ago something was.
namespace scout::migration {

struct ReliefPolicy {
    unsigned moves_per_minute = 2;  ///< that may be begun, of the whole cluster
    unsigned outbound = 2;          ///< KubeVirt's limits (dossier §6.5): of one node …
    unsigned in_cluster = 5;        ///< … and of all
    double confidence = 0.8;        ///< 0 to 1; of less steady falls nothing is made
    /// What is freed shall last for so long.
    std::chrono::milliseconds ahead = PressurePolicy{}.ahead;
    /// Of a threshold, so much more than it shall be left then.
    double margin = 0.1;
    /// Of what is needed: a VM that frees less is not worth a move. What the fall takes in half a
    /// minute, or one of twenty moves.
    double worth = 0.05;
    /// Of what is needed: where all that may move free less together, none moves, for the kubelet
    /// would evict all the same, minutes later.
    double use = 0.25;
    /// An agent that is silent for longer tells nothing of now.
    std::chrono::milliseconds silence = agent_silence_limit;
    /// After the last move that was begun for a node: until then its trend shows the time before.
    std::chrono::milliseconds settle = std::chrono::minutes{1};
    /// A VM that came, or was to be moved by us, stays for so long.
    std::chrono::milliseconds rest = std::chrono::minutes{30};
    /// One that was begun has a target pod by then, or is taken back: it keeps others from moving.
    std::chrono::milliseconds patience = std::chrono::minutes{2};
    /// A node is a target again when no threshold of it was warned of for so long.
    std::chrono::milliseconds calm = std::chrono::minutes{5};
};

/// Why nothing is moved though it would relieve a node.
enum class ReliefHold : std::uint8_t {
    // Of a node, or of one signal of it:
    agent_silent,  ///< what it told last may be over
    no_target,     ///< every other node that could take VMs is short of something itself
    moving,        ///< moves that were begun for it have not ended
    settling,      ///< they have, and its agent has not yet told what came of it
    evicting,      ///< the kubelet evicts already: that is the evacuation's
    nobody,        ///< no launcher is told that has any of it
    // Of moves at once:
    rate,           ///< moves_per_minute
    node_limit,     ///< outbound
    cluster_limit,  ///< in_cluster
    // Of a VM:
    not_seen,        ///< the cluster has no such VM on that node
    stopping,        ///< not Running, or being deleted
    marked,          ///< KubeVirt evacuates it already
    not_migratable,  ///< its condition LiveMigratable is not True
    owner,           ///< its eviction strategy does not ask for a live migration
    moved_lately,    ///< within `rest`
    backing_off,     ///< a move of it was refused, or not answered, just before
    usage_unknown,   ///< nobody knows what it would free
    frees_nothing,
    frees_too_little,  ///< less than `worth`; of a signal: all together less than `use`
};
inline constexpr std::size_t relief_holds = 19;
[[nodiscard]] std::string_view to_string(ReliefHold hold) noexcept;  // "agent-silent", …

struct ReliefVm {
    std::string vmi;  ///< "NAMESPACE/NAME"
    std::string uid;
    std::string node;                ///< on which it runs
    std::optional<ReliefHold> hold;  ///< why it cannot or must not be moved at all
    bool moving = false;             ///< by whomever
    /// Since it came by a migration, or since we began one of it, the shorter time.
    std::optional<std::chrono::milliseconds> moved;
};

struct ReliefNode {
    std::string name;
    const PressureReport* report = nullptr;  ///< null: none was told
    std::chrono::milliseconds told{0};       ///< since the report
    std::chrono::milliseconds silent{0};     ///< since its agent was heard
    /// Since a threshold was last seen warned of; none: not within `calm`.
    std::optional<std::chrono::milliseconds> warned;
    bool strained = false;    ///< its Node object has a …Pressure condition
    bool takes_vms = false;   ///< Ready and schedulable, for KubeVirt too
    std::size_t leaving = 0;  ///< migrations from it that have not ended, by whomever
    std::size_t begun = 0;    ///< of them, those that were begun for its relief
    std::optional<std::chrono::milliseconds> ended;  ///< since the last of those ended
};

struct ReliefWorld {
    std::vector<ReliefNode> nodes;
    std::map<std::string, ReliefVm, std::less<>> vms;  ///< by the UIDs of their launchers' pods
    std::size_t moving = 0;  ///< migrations of the cluster that have not ended
    std::vector<std::chrono::milliseconds> begun;  ///< since each move that was begun lately
};

/// One to begin now.
struct ReliefMove {
    std::string node;
    std::string pod_uid;
    std::string vmi;
    std::string vmi_uid;
    PressureSignal signal{};
    bool soft = false;     ///< of the threshold
    std::uint64_t at = 0;  ///< where it lies, in the unit of the signal
    std::optional<std::chrono::milliseconds> expected;  ///< none: it is passed
    std::uint64_t frees = 0;                            ///< in the unit of the signal

    friend bool operator==(const ReliefMove&, const ReliefMove&) = default;
};

struct HeldRelief {
    std::string node;
    std::optional<PressureSignal> signal;  ///< none: all of the node's
    std::string vmi;                       ///< empty: not of one VM
    ReliefHold hold{};

    friend auto operator<=>(const HeldRelief&, const HeldRelief&) = default;
};

struct ReliefPlan {
    std::vector<ReliefMove> moves;
    std::vector<HeldRelief> held;
    std::vector<std::string> pressed;  ///< nodes that are no targets, by name
};

/// A move that was begun and not handed off yet: until then it costs its VM nothing to take it
/// back.
struct ReliefWait {
    bool has_pod = false;  ///< its target pod was made, and waits to be scheduled
    std::chrono::milliseconds age{0};
    bool pressed = true;  ///< its node needs it, as far as known
};
enum class ReliefRecall : std::uint8_t {
    no_pod,  ///< a quota, a backup or the like keeps its target pod from being made
    over,    ///< its node is at ease
};
/// Why it is taken back; none: it is left to go on.
[[nodiscard]] std::optional<ReliefRecall> recall_of(const ReliefWait& wait,
                                                    const ReliefPolicy& policy) noexcept;

/// A threshold is warned of, or passed.
[[nodiscard]] bool is_pressed(const ReliefNode& node, const ReliefPolicy& policy) noexcept;

/// How much must be freed so that the threshold is not passed within `ahead`; none: nothing is done
/// for this line. It is warned of, and passed if it is a soft one, or expected with confidence.
[[nodiscard]] std::optional<std::uint64_t> relief_needed(const PressureLine& line,
                                                         const ReliefPolicy& policy) noexcept;

/// Nodes by how soon their kubelets act, and of each the fewest VMs, in the order in which the
/// kubelet would evict them; those that cannot be moved, or are not worth it, are passed over.
[[nodiscard]] ReliefPlan plan_relief(const ReliefWorld& world, const ReliefPolicy& policy);

}  // namespace scout::migration
