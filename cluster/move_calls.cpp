// SPDX-License-Identifier: Apache-2.0
#include "cluster/move_calls.h"

#include <algorithm>
#include <utility>

#include "cluster/evacuation_facts.h"
#include "cluster/vmi_calls.h"
#include "kube/decode_text.h"

namespace scout::cluster {
namespace {

using kube::ApiResult;

// KubeVirt makes another one within milliseconds if the mark was still there (dossier §16).
constexpr unsigned most_rounds = 3;

tl::unexpected<kube::ApiError> failed(Errc code, std::string message) {
    return tl::unexpected(kube::ApiError{.error = {code, std::move(message)}});
}

bool is_in_post_copy(const kube::Vmi& vmi) {
    return vmi.migration && !vmi.migration->completed && vmi.migration->mode == "PostCopy";
}

}  // namespace

Task<ApiResult<kube::Migration>> MoveCalls::make(std::string space, std::string body) {
    return make(std::move(space), std::move(body), kube::CallOptions{});
}

Task<ApiResult<kube::Migration>> MoveCalls::rehearse(std::string space, std::string body) {
    kube::CallOptions options;
    options.dry_run = true;
    return make(std::move(space), std::move(body), options);
}

Task<ApiResult<kube::Migration>> MoveCalls::make(std::string space, std::string body,
                                                 kube::CallOptions options) {
    kube::Target collection{.resource = kube::resources::migrations(),
                            .object = {.space = std::move(space)}};
    auto stored = co_await client_.create(std::move(collection), std::move(body), options);
    co_return kube::decode_answer(std::move(stored), &kube::decode_migration);
}

Task<ApiResult<kube::Vmi>> MoveCalls::vmi(std::string space, std::string name) {
    auto seen = co_await client_.get(vmi_target(space, name));
    co_return kube::decode_answer(std::move(seen), &kube::decode_vmi);
}

Task<ApiResult<std::vector<kube::Migration>>> MoveCalls::unfinished(std::string space,
                                                                    std::string vmi) {
    auto list = co_await client_.get_path(moves_path(space, vmi));
    if (!list) {
        co_return tl::unexpected(std::move(list.error()));
    }
    auto moves = moves_in(*std::move(list), vmi);
    if (!moves) {
        co_return tl::unexpected(kube::ApiError{.error = std::move(moves.error())});
    }
    std::erase_if(*moves, [](const auto& move) { return move.is_final(); });
    co_return std::move(*moves);
}

/// What is gone already is done.
Task<ApiResult<void>> MoveCalls::remove(kube::Target target, kube::Preconditions same) {
    auto done = co_await client_.remove(std::move(target), std::move(same));
    if (!done && done.error().status == 404) {
        co_return ApiResult<void>{};
    }
    co_return done;
}

/// What was true before the migrations were deleted need not be: it is read anew, and acted on at
/// once.
Task<ApiResult<std::string>> MoveCalls::remove_target(kube::Vmi before,
                                                      std::vector<std::string> moves) {
    const auto now = co_await vmi(before.meta.space.str(), before.meta.name);
    if (!now) {
        co_return tl::unexpected(now.error());
    }
    auto target = waiting_target(*now);
    const auto& migration = now->migration;
    const bool same = now->meta.uid == before.meta.uid && now->node == before.node;
    if (target.empty() || !same || !migration ||
        std::find(moves.begin(), moves.end(), migration->uid) == moves.end()) {
        co_return std::string{};
    }
    kube::Target pod{.resource = kube::resources::pods(),
                     .object = {.space = before.meta.space.str(), .name = target}};
    kube::Preconditions none;
    auto done = co_await remove(std::move(pod), std::move(none));
    if (!done) {
        co_return tl::unexpected(std::move(done.error()));
    }
    co_return target;
}

Task<ApiResult<std::vector<kube::ObjectMeta>>> MoveCalls::remove_all(
    std::string space, std::string vmi, std::vector<kube::Migration> moves) {
    std::vector<kube::ObjectMeta> removed;
    for (unsigned round = 0; !moves.empty(); ++round) {
        if (round == most_rounds) {
            co_return failed(Errc::unavailable,
                             "KubeVirt makes a new migration for each that is deleted: " +
                                 moves.front().meta.name + " goes on");
        }
        for (const auto& move : moves) {
            removed.push_back(move.meta);
            kube::Target target{.resource = kube::resources::migrations(),
                                .object = {.space = space, .name = move.meta.name}};
            kube::Preconditions same{.uid = move.meta.uid, .resource_version = {}};
            auto done = co_await remove(std::move(target), std::move(same));
            if (!done) {
                co_return tl::unexpected(std::move(done.error()));
            }
        }
        auto left = co_await unfinished(space, vmi);
        if (!left) {
            co_return tl::unexpected(std::move(left.error()));
        }
        moves = std::move(*left);
        std::erase_if(moves, [](const auto& move) { return move.deletion.has_value(); });
    }
    co_return removed;
}

Task<ApiResult<void>> MoveCalls::unmark(std::string space, std::string vmi, std::string node) {
    return client_.command(evacuation_cancel(space, vmi), evacuation_cancel_body(node));
}

Task<ApiResult<MovesCancelled>> MoveCalls::cancel(std::string space, std::string name) {
    const auto seen = co_await vmi(space, name);
    if (!seen) {
        co_return tl::unexpected(seen.error());
    }
    if (is_in_post_copy(*seen)) {
        co_return failed(Errc::refused,
                         "the migration is in post-copy: its guest runs on the target already, and "
                         "an abort would lose it; wait for its end");
    }
    auto moves = co_await unfinished(space, name);
    if (!moves) {
        co_return tl::unexpected(std::move(moves.error()));
    }
    MovesCancelled out{.moves = {}, .mark = !seen->evacuation_node.empty(), .target_pod = {}};
    if (out.mark) {
        auto done = co_await unmark(space, name, seen->evacuation_node.str());
        if (!done) {
            co_return tl::unexpected(std::move(done.error()));
        }
    }
    const auto removed = co_await remove_all(space, name, std::move(*moves));
    if (!removed) {
        co_return tl::unexpected(removed.error());
    }
    std::vector<std::string> uids;
    for (const auto& meta : *removed) {
        out.moves.push_back(meta.name);
        uids.push_back(meta.uid);
    }
    if (!uids.empty()) {
        auto target = co_await remove_target(*seen, std::move(uids));
        if (!target) {
            co_return tl::unexpected(std::move(target.error()));
        }
        out.target_pod = std::move(*target);
    }
    co_return out;
}

}  // namespace scout::cluster
