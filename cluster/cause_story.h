// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/own_acts.h"
#include "cluster/records.h"
#include "migration/cause.h"
#include "migration/requester.h"

/// What became of a VM, from the objects of a cluster alone. Pure.
namespace scout::cluster {

/// One of a VM's migrations.
struct PastMove {
    std::string name;
    std::string phase;  ///< KubeVirt's word; empty: not seen by it yet
    std::string mode;   ///< PreCopy, PostCopy, Paused; empty: it did not come to run
    std::string source;
    std::string target;
    std::string failure;
    std::optional<WallTime> created;
    std::optional<WallTime> ended;
    migration::RequestAnswer request;
};

inline constexpr std::size_t most_past_moves = 5;  ///< that KubeVirt keeps

struct CauseStory {
    std::string vmi;  ///< NAMESPACE/NAME
    std::string vmi_phase;
    std::string mark;  ///< node that it is marked to leave while no migration runs; or empty
    std::string pod;   ///< the launcher that is spoken of; empty: there is none
    std::string node;
    std::string pod_phase;
    std::optional<WallTime> ended;
    migration::CauseAnswer answer;
    std::vector<PastMove> moves;  ///< the youngest first
    std::vector<OwnAct> acts;     ///< the latest first
};

/// Of a VM ("NAMESPACE/NAME", a name that only one has, or a uid) or one of its launcher pods, also
/// if the objects are gone and only Events tell of them. Of a VM that runs the launcher which ended
/// last, and not by moving away, is spoken of, if the one that runs has no cause to tell. Errors:
/// not_found, with the name that is nearest; invalid if several fit, with their names.
[[nodiscard]] Result<CauseStory> find_story(const Records& records, std::string_view name);

/// Who wanted this migration. `vmi` may be null: it is gone. `told_to_stop`: an agent of ours saw
/// that the source's launcher was.
[[nodiscard]] migration::RequestAnswer requester_of(const Records& records,
                                                    const kube::MoveRecord& move,
                                                    const kube::VmiRecord* vmi,
                                                    bool told_to_stop = false);

/// The launcher that this migration takes the VM away from: by its state, or else, before it is
/// handed off, the pod of the VMI's node that was not made for it; empty: not known.
[[nodiscard]] std::string source_pod(const Records& records, const kube::MoveRecord& move,
                                     const kube::VmiRecord* vmi);

/// And the node; empty: not known.
[[nodiscard]] std::string node_left(const kube::MoveRecord& move, const kube::VmiRecord* vmi);

/// What a migration came to, and who wanted it. The rest as above.
[[nodiscard]] PastMove past_move(const Records& records, const kube::MoveRecord& move,
                                 const kube::VmiRecord* vmi, bool told_to_stop = false);

}  // namespace scout::cluster
