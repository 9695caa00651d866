// SPDX-License-Identifier: Apache-2.0
#include "cluster/move_calls.h"

#include <algorithm>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "cluster/evacuation_facts.h"
#include "cluster/vmi_calls.h"
#include "kube/decode_text.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using kube::ApiResult;

// KubeVirt makes another one within milliseconds if the mark was still there (dossier §16).
constexpr unsigned most_rounds = 3;

tl::unexpected<kube::ApiError> failed(Errc code, std::string message) {
    return tl::unexpected(kube::ApiError{.error = {code, std::move(message)}});
}

/// The target pod of one that is handed off and has not started; empty: there is none.
std::string waiting_target(const std::vector<kube::Migration>& moves, const kube::Vmi& vmi) {
    const bool waits = std::any_of(moves.begin(), moves.end(), [&vmi](const auto& move) {
        return vmi.migration && vmi.migration->uid == move.meta.uid &&
               move_phase(move.phase.view()) == migration::MovePhase::prepared;
    });
    return waits ? vmi.migration->target_pod.str() : std::string{};
}

bool is_in_post_copy(const kube::Vmi& vmi) {
    return vmi.migration && !vmi.migration->completed && vmi.migration->mode == "PostCopy";
}

}  // namespace

Task<ApiResult<kube::Migration>> MoveCalls::make(std::string space, std::string body) {
    kube::Target collection{.resource = kube::resources::migrations(),
                            .object = {.space = std::move(space)}};
    auto stored = co_await client_.create(std::move(collection), std::move(body));
    if (!stored) {
        co_return tl::unexpected(std::move(stored.error()));
    }
    auto move = kube::decode_text(*stored, &kube::decode_migration);
    if (!move) {
        co_return tl::unexpected(kube::ApiError{.error = std::move(move.error())});
    }
    co_return std::move(*move);
}

Task<ApiResult<kube::Vmi>> MoveCalls::vmi(std::string space, std::string name) {
    auto text = co_await client_.get(vmi_target(space, name));
    if (!text) {
        co_return tl::unexpected(std::move(text.error()));
    }
    auto vmi = kube::decode_text(*text, &kube::decode_vmi);
    if (!vmi) {
        co_return tl::unexpected(kube::ApiError{.error = std::move(vmi.error())});
    }
    co_return std::move(*vmi);
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

Task<ApiResult<void>> MoveCalls::remove(kube::Migration move) {
    kube::Target target{.resource = kube::resources::migrations(),
                        .object = {.space = move.meta.space.str(), .name = move.meta.name}};
    kube::Preconditions same{.uid = move.meta.uid};
    auto done = co_await client_.remove(std::move(target), std::move(same));
    if (!done && done.error().status == 404) {
        co_return ApiResult<void>{};
    }
    co_return done;
}

Task<ApiResult<void>> MoveCalls::remove_pod(std::string space, std::string name) {
    kube::Target pod{.resource = kube::resources::pods(),
                     .object = {.space = std::move(space), .name = std::move(name)}};
    kube::Preconditions none;
    auto done = co_await client_.remove(std::move(pod), std::move(none));
    if (!done && done.error().status == 404) {
        co_return ApiResult<void>{};
    }
    co_return done;
}

Task<ApiResult<std::vector<std::string>>> MoveCalls::remove_all(
    std::string space, std::string vmi, std::vector<kube::Migration> moves) {
    std::vector<std::string> names;
    for (unsigned round = 0; round < most_rounds && !moves.empty(); ++round) {
        for (const auto& move : moves) {
            names.push_back(move.meta.name);
            auto done = co_await remove(move);
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
    co_return names;
}

Task<ApiResult<void>> MoveCalls::unmark(std::string space, std::string vmi, std::string node) {
    auto body = json::serialize(json::object{{"evacuationNodeName", node}});
    return client_.command(evacuation_cancel(space, vmi), std::move(body));
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
    out.target_pod = waiting_target(*moves, *seen);
    auto names = co_await remove_all(space, name, std::move(*moves));
    if (!names) {
        co_return tl::unexpected(std::move(names.error()));
    }
    out.moves = std::move(*names);
    if (!out.target_pod.empty()) {
        auto done = co_await remove_pod(std::move(space), out.target_pod);
        if (!done) {
            co_return tl::unexpected(std::move(done.error()));
        }
    }
    co_return out;
}

}  // namespace scout::cluster
