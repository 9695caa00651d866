// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cluster/cpu_profile.h"
#include "cluster/levels.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/node.h"
#include "migration/matrix.h"

namespace scout::cluster {

/// The level label of one node: what it should say and what it says.
struct LevelLabel {
    std::optional<unsigned> level;       ///< 0 to 100; none: the node must not have the label
    std::optional<std::string> carried;  ///< whatever is there; none: no label

    [[nodiscard]] bool in_step() const;
    bool operator==(const LevelLabel&) const = default;
};

/// How the counted nodes of an architecture stand.
struct LevelStanding {
    std::size_t counted = 0;
    unsigned best = 0;          ///< the highest level
    std::size_t with_best = 0;  ///< how many have it
};

/// Keeps the levels of a fleet current while its nodes come, change and go and while time passes:
/// what judge_levels() says of all nodes at once. A change touches the class of one node, and then
/// the nodes of those classes whose level it changed. Pure; one thread; times need not be
/// monotonic, but a node that ceased to count does so until its object changes or time has gone on.
class LevelKeeper {
public:
    /// `options.map` must outlive this. `kubevirts`: of which the default machine types are.
    LevelKeeper(LevelOptions options, std::vector<kube::KubeVirt> kubevirts);

    /// Judges by these from now on. Until every node was put again, no level means anything; what
    /// was seen of cordons and told of labels is kept.
    void start_over(LevelOptions options, std::vector<kube::KubeVirt> kubevirts);

    /// A node that came or changed, or whose profile did. `named`: the CPUProfile that it names,
    /// null if there is none.
    void put(const kube::Node& node, WallTime now, const CpuProfile* named = nullptr);
    /// A node that went; nothing if it is not known.
    void remove(std::string_view name);
    /// Nodes whose grace is over cease to count.
    void pass(WallTime now);
    /// When pass() has something to do; none: only changes of nodes change anything.
    [[nodiscard]] std::optional<WallTime> next() const;

    /// None: no such node.
    [[nodiscard]] std::optional<LevelLabel> find(std::string_view name) const;
    /// Whether some counted node of the architecture (empty: of any) carries a label of at least
    /// this level, whatever it should carry: what the scheduler goes by.
    [[nodiscard]] bool is_carried(std::string_view arch, unsigned level) const;

    struct Change {
        std::string name;
        LevelLabel label;
    };
    /// Nodes whose label, wanted or carried, is not as it was told last; one that is in step is
    /// told only after it was not. In no order.
    [[nodiscard]] std::vector<Change> take_changes();

    /// Of the architecture; empty: of the one with the highest level, of equals the one with most
    /// nodes.
    [[nodiscard]] LevelStanding standing(std::string_view arch) const;

    [[nodiscard]] std::size_t nodes() const noexcept { return nodes_.size(); }
    /// Nodes that the truth layer knows by a profile, and those that name one which is not used:
    /// there is none of that name, or their labels say otherwise.
    [[nodiscard]] std::size_t by_profile() const noexcept { return by_profile_; }
    [[nodiscard]] std::size_t profile_unused() const noexcept { return profile_unused_; }

private:
    struct Node;
    struct Class {
        std::optional<unsigned> level;  ///< when changes were taken last
        std::vector<Node*> nodes;
    };
    /// Nodes of one architecture: they alone are each other's destinations.
    struct Group {
        explicit Group(migration::Matrix::Options options) : matrix(std::move(options)) {}
        migration::Matrix matrix;  ///< of the counted nodes
        std::unordered_map<std::uint32_t, Class> classes;
        bool changed = false;
    };
    /// Where a counted node is.
    struct Seat {
        Group* group = nullptr;  ///< null: it is not counted
        migration::Matrix::NodeId place = 0;
        std::size_t index = 0;  ///< among the nodes of its class
    };
    struct Node {
        std::string_view name;
        LevelLabel told;
        std::optional<std::string> carried;
        bool cordoned = false;
        std::optional<WallTime> cordon_seen;
        std::optional<WallTime> counts_until;
        bool by_profile = false;
        bool profile_unused = false;
        Seat seat;
    };

    [[nodiscard]] Group& group_of(const std::string& arch);
    void note_profile(Node& node, bool used, bool unused);
    void sit_down(Node& node, const kube::Node& object, const std::string& arch,
                  const CpuProfile* profile);
    void leave(const Seat& seat);
    void stop_counting(Node& node);
    void expect(Node& node, std::optional<WallTime> counts_until);
    void find_changed_levels(Group& group);
    [[nodiscard]] LevelStanding standing(const Group& group) const;
    [[nodiscard]] unsigned level_of(const Node& node) const;
    [[nodiscard]] LevelLabel label_of(const Node& node) const;

    LevelOptions options_;
    std::vector<kube::KubeVirt> kubevirts_;
    std::map<std::string, Group, std::less<>> groups_;  ///< by architecture
    std::map<std::string, Node, std::less<>> nodes_;
    std::set<std::pair<WallTime, Node*>> graces_;
    std::unordered_set<Node*> touched_;  ///< since changes were taken
    std::size_t by_profile_ = 0;
    std::size_t profile_unused_ = 0;
};

}  // namespace scout::cluster
