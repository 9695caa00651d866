// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "kube/objects/node.h"

namespace scout::cluster {

/// Value of a label or an annotation; none: there is none.
using LabelValue = std::optional<std::string>;

/// What we write of a node, all of it in one patch. Annotations are replaced, never taken away.
struct NodeMarks {
    LabelValue level;           ///< level_label
    LabelValue profile;         ///< profile_annotation
    LabelValue former_profile;  ///< former_profile_annotation

    bool operator==(const NodeMarks&) const = default;
};

/// Those that the node carries. An annotation that is no name of a profile counts as none.
[[nodiscard]] NodeMarks carried_marks(const kube::Node& node);
/// The same with this level, and with the profile that the node was reported to have; empty:
/// nobody reports, and the profile stays.
[[nodiscard]] NodeMarks wanted_marks(const NodeMarks& carried, std::optional<unsigned> level,
                                     std::string_view reported_profile);

/// The Node object that is meant. With its uid no write makes a node of a name that is gone, nor
/// marks one that came in its place: the API server answers 409.
struct NodeName {
    std::string name;
    std::string uid;

    bool operator==(const NodeName&) const = default;
};

/// A server-side apply of the marks; what is none is taken away, if nobody else wrote it.
[[nodiscard]] std::string apply_body(const NodeName& node, const NodeMarks& marks);

/// A JSON merge patch that takes the level label away, whoever wrote it.
[[nodiscard]] std::string removal_body(const NodeName& node);

struct LabelPlanRules {
    /// A change waits until nothing more changed on its node for so long, so that nodes that come
    /// one after the other are written once, …
    std::chrono::milliseconds quiet{1000};
    std::chrono::milliseconds longest{3000};  ///< … but not longer than this
    double per_second = 20;                   ///< never more; above 0
    /// Until every node was tried that was wrong at the start, or became so soon after.
    double first_fill_per_second = 100;
    std::chrono::milliseconds first_fill_least{30'000};
    double jitter = 0.1;  ///< writes are farther apart by up to this share
    /// At a time: fewer than a transport has places, so that the rest of its calls need not wait.
    std::size_t under_way = 6;
    /// A write that was accepted shows in the node by then; else it is made again.
    std::chrono::milliseconds shown_after{10'000};
    BackoffRange retry;  ///< of a node whose write failed
};

/// Which nodes to write now. Levels of a whole fleet may change at once; the API server gets them
/// at a rate, and never two writes of one node at a time. Pure; one thread.
class LabelPlan {
public:
    /// `now`: when this process became the one that writes.
    LabelPlan(LabelPlanRules rules, std::uint64_t seed, SteadyTime now);

    /// A node's marks, whenever either side changed. Equal: nothing is to be written.
    void set(const NodeName& node, NodeMarks wanted, NodeMarks carried, SteadyTime now);
    /// The node is gone.
    void forget(std::string_view node);

    struct Write {
        std::string node;
        /// The level is to go. It may be somebody else's, which no apply would take away: `body`
        /// is a merge patch then, of nothing else; else a server-side apply (force).
        bool merge = false;
        std::string body;
    };
    /// What to start now. Each node is under way until done().
    [[nodiscard]] std::vector<Write> take(SteadyTime now);
    /// `accepted`: by the API server. A node that is not under way is a broken caller:
    /// std::logic_error.
    void done(std::string_view node, bool accepted, SteadyTime now);

    /// When take() has something to give, unless something changes before; none: then only.
    [[nodiscard]] std::optional<SteadyTime> next() const;

    [[nodiscard]] std::size_t waiting() const noexcept { return due_.size(); }
    [[nodiscard]] std::size_t under_way() const noexcept { return under_way_; }

private:
    enum class Phase : std::uint8_t {
        settling,   ///< more may change
        under_way,  ///< being written
        accepted,   ///< and not seen in the node yet
        failed,     ///< tried again later
    };
    struct Node {
        std::string_view name;
        std::string uid;
        NodeMarks wanted;
        NodeMarks carried;
        NodeMarks written;  ///< last
        Phase phase = Phase::settling;
        SteadyTime changed;             ///< first change that was not written
        std::optional<SteadyTime> due;  ///< is in due_
        bool of_first_fill = false;
        unsigned tries = 0;  ///< that failed or did not show, one after the other
        bool gone = false;
    };
    using Nodes = std::map<std::string, Node, std::less<>>;

    void plan(Node& node, std::optional<SteadyTime> due);
    void settle(Node& node, SteadyTime now);
    void drop(Nodes::iterator node);
    [[nodiscard]] std::chrono::milliseconds retry_delay(const Node& node);
    void take_slot(SteadyTime now);
    void note_first_fill(SteadyTime now);
    [[nodiscard]] Write begin(Node& node);

    LabelPlanRules rules_;
    std::mt19937_64 random_;
    SteadyTime start_;
    SteadyTime slot_;  ///< of the next write
    bool filled_ = false;
    std::size_t untried_ = 0;  ///< nodes of the first fill that were never written
    Nodes nodes_;              ///< that are not as they should be, or under way
    std::set<std::pair<SteadyTime, Node*>> due_;
    std::size_t under_way_ = 0;
};

}  // namespace scout::cluster
