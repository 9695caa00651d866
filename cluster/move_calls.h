// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/task.h"
#include "kube/api_error.h"
#include "kube/client.h"
#include "kube/objects/migration.h"
#include "kube/objects/vmi.h"

/// Migrations that somebody makes and takes back by hand, with their own rights.
namespace scout::cluster {

/// What was taken back of a VMI's migrations.
struct MovesCancelled {
    std::vector<std::string> moves;  ///< names of those that had not ended
    bool mark = false;               ///< KubeVirt was evacuating it, and does not any more
    std::string target_pod;          ///< was deleted too; empty: none had to be
};

/// Loop thread; the client must outlive it, and it must outlive its calls.
class MoveCalls {
public:
    explicit MoveCalls(kube::Client& client) : client_(client) {}

    /// Made once: one that may have been made though no answer came is an error too.
    [[nodiscard]] Task<kube::ApiResult<kube::Migration>> make(std::string space, std::string body);
    /// What would be made of it, by all webhooks; nothing is.
    [[nodiscard]] Task<kube::ApiResult<kube::Migration>> rehearse(std::string space,
                                                                  std::string body);

    /// Takes back every migration of the VMI that has not ended, in the order that KubeVirt hears
    /// (dossier §16): the mark of an evacuation first, for else it makes another one at once; then
    /// the migrations, the target pod of one between hand-off and start, which hears of nothing
    /// else, and newcomers. The VMI stays where it runs; how each ends is told by follow-up reads.
    /// Errors: not_found, without such a VMI; refused, in post-copy, whose abort loses the guest;
    /// as of each call, with what was done until then undone by nobody.
    [[nodiscard]] Task<kube::ApiResult<MovesCancelled>> cancel(std::string space, std::string vmi);

private:
    [[nodiscard]] Task<kube::ApiResult<kube::Migration>> make(std::string space, std::string body,
                                                              kube::CallOptions options);
    [[nodiscard]] Task<kube::ApiResult<kube::Vmi>> vmi(std::string space, std::string name);
    [[nodiscard]] Task<kube::ApiResult<std::vector<kube::Migration>>> unfinished(std::string space,
                                                                                 std::string vmi);
    [[nodiscard]] Task<kube::ApiResult<void>> unmark(std::string space, std::string vmi,
                                                     std::string node);
    [[nodiscard]] Task<kube::ApiResult<void>> remove(kube::Target target, kube::Preconditions same);
    /// All that were removed.
    [[nodiscard]] Task<kube::ApiResult<std::vector<kube::ObjectMeta>>> remove_all(
        std::string space, std::string vmi, std::vector<kube::Migration> moves);
    /// Its name, if one of these migrations waits for it; `moves` are their uids.
    [[nodiscard]] Task<kube::ApiResult<std::string>> remove_target(kube::Vmi before,
                                                                   std::vector<std::string> moves);

    kube::Client& client_;
};

}  // namespace scout::cluster
