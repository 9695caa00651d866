// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "migration/cause.h"

/// What came first: the end of a guest, or a deletion. Pure; any thread; nothing here fails.
namespace scout::migration {

/// Whose a deletion of the VMI is. KubeVirt deletes what a VirtualMachine or a replica set controls
/// once it is final, in the same second, and before its launcher has ended (syncRunStrategy() of
/// its pkg/virt-controller/watch/vm/vm.go, cleanFinishedVmis() of watch/replicaset/replicaset.go),
/// and no other VMI. Who stops a VM deletes it before: its guest ends by that. Ends are dated by
/// the clock of the node and deletions by that of the API server: within seconds the order is no
/// proof.
enum class Deletion : std::uint8_t {
    owners,          ///< it came before the end, or nobody else deletes it
    perhaps_owners,  ///< by the clocks it came before
    perhaps_after,   ///< by the clocks it came with the end or after it
    after_the_end,
};
[[nodiscard]] Deletion deletion_of(const CauseFacts& facts) noexcept;

/// Its pod was deleted while its guest ran, and not because its VMI was: what is left after a
/// guest's end is deleted, too.
[[nodiscard]] bool is_pod_deleted_first(const CauseFacts& facts) noexcept;

}  // namespace scout::migration
