// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migration/comparison.h"
#include "migration/labels.h"
#include "migration/node_selector.h"

/// One migration that is aimed: what a VirtualMachineInstanceMigration may ask of its target beside
/// what the VM asks for itself, and by what it is refused (dossier §4.5, §6.1, §6.3, §16; proposal
/// added-node-selector-term; design §7.2). Pure; any thread; nothing here fails.
namespace scout::migration {

/// What is asked of one move's target. It only ever leaves fewer nodes.
struct MoveWish {
    Labels added = {};  ///< spec.addedNodeSelector; what the VM asks for itself wins
    std::optional<NodeSelectorTerm> term = std::nullopt;  ///< whichever carrier it came in

    [[nodiscard]] bool empty() const noexcept { return added.empty() && !term; }
};

/// Why a move is refused, or waits, or what to know of it. The codes are words of docs/json.md.
struct MoveReason {
    std::string_view code;  ///< refers to a literal
    std::string text;       ///< one sentence for a person
};

/// The first of what may be many, and how many more there are in the text of the last one.
class MoveReasons {
public:
    void add(std::string_view code, std::string text);
    [[nodiscard]] std::vector<MoveReason> take() &&;

private:
    std::vector<MoveReason> reasons_;
    std::size_t more_ = 0;
};

/// A VirtualMachineInstanceMigration before it is made.
struct MoveRequest {
    std::string space;     ///< namespace; empty: the one of its VMI
    std::string name;      ///< empty: made up by the API server
    std::string vmi;       ///< spec.vmiName
    std::string priority;  ///< spec.priority
    MoveWish wish;
    std::string_view term_path;  ///< where the term stands, for faults; refers to a literal
    struct Peer {                ///< spec.sendTo, spec.receive (dossier §6.6)
        std::string id;
        std::string url;  ///< of sendTo alone
    };
    std::optional<Peer> send_to;
    std::optional<Peer> receive;
    /// After so long KubeVirt gives a target pod up that fits no node (dossier §6.5): at least 0.
    std::int64_t give_up_seconds = 300;
    std::vector<MoveReason> faults;  ///< what is wrong with how it was written
    std::vector<std::string> notes;  ///< what to know of how it was written

    /// Goes to another cluster or comes from one. With both it is a move like any other.
    [[nodiscard]] bool crosses() const noexcept {
        return send_to.has_value() != receive.has_value();
    }
};

/// Largest term: bytes as annotations of one object may have them in all; of requirements and
/// values together as many as a cluster has nodes.
inline constexpr std::size_t most_term_bytes = std::size_t{256} << 10U;
inline constexpr std::size_t most_term_items = 5000;

/// In addedNodeSelector it stands for a term that is in another carrier (design §7.2).
inline constexpr std::string_view sentinel_key = "virt-scout.io/target-term";

/// Its requirements, and the values that they name.
[[nodiscard]] std::size_t items_of(const NodeSelectorTerm& term) noexcept;

/// What the API server or KubeVirt refuses of the request alone, or takes though nothing good comes
/// of it: labels that no node can have, an empty term.
[[nodiscard]] std::vector<MoveReason> request_faults(const MoveRequest& request);

/// What of a VMI and its cluster decides whether KubeVirt takes a request.
struct AskedVm {
    std::string phase;        ///< of the VMI; empty: not set yet
    std::string node;         ///< on which it runs
    std::string hostname;     ///< label kubernetes.io/hostname of that node; empty: not known
    std::string not_movable;  ///< reason of a condition LiveMigratable that is False; empty: none
    std::string why;          ///< message of that condition
    std::string under_way;    ///< name of a migration of the VMI that has not ended; empty: none
    bool name_taken = false;  ///< a migration of the request's name is there
    std::optional<bool> crossing_gate;  ///< DecentralizedLiveMigration; none: not known
    Labels own;                         ///< what its target pod asks for by itself
};

/// Keys of `added` that the VM asks for itself, with another value: they have no effect.
[[nodiscard]] std::vector<std::string> ignored_keys(const Labels& added, const Labels& own);

/// The others, with what the VM does not ask for itself.
[[nodiscard]] Labels effective(const Labels& added, const Labels& own);

/// What to know of a wish that is taken: which keys have no effect, and which stay with a VM of
/// host-model, for KubeVirt copies CPU labels from each launcher pod to the next (dossier §5.4).
[[nodiscard]] std::vector<MoveReason> wish_remarks(const MoveWish& wish, const Labels& own,
                                                   bool host_model);

[[nodiscard]] std::vector<MoveReason> admission_faults(const MoveRequest& request,
                                                       const AskedVm& subject);

/// The node has all that is asked for. `wish.added` as effective() gives it.
[[nodiscard]] bool meets(const MoveWish& wish, const Labels& node, std::string_view name);

/// What of it the node does not have, for people, with what a label is there instead; the first
/// few. Empty: nothing. `wish.added` as it was asked for.
[[nodiscard]] std::string lacking(const MoveWish& wish, const Labels& node, std::string_view name);

/// Nodes that are asked for by metadata.name, and by kubernetes.io/hostname: of each list one must
/// be the target.
struct NamedNodes {
    std::vector<std::vector<std::string>> names;
    std::vector<std::vector<std::string>> hostnames;
};
[[nodiscard]] NamedNodes named_nodes(const MoveWish& wish);

/// Takes into the answer of compare() that the node does not meet the term, with the first of what
/// it lacks.
void apply(const NodeSelectorTerm& term, const Labels& node, std::string_view name,
           Comparison& comparison);

/// "disktype In (ssd), zone Exists", for people; of many values the first five.
[[nodiscard]] std::string to_text(const NodeSelectorTerm& term);
/// The same with `added`, as "disk=ssd".
[[nodiscard]] std::string to_text(const MoveWish& wish);

}  // namespace scout::migration
