// SPDX-License-Identifier: Apache-2.0
#include "aggregator/move_landings.h"

#include <cstddef>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "cluster/object_references.h"
#include "cluster/term_json.h"
#include "kube/api_error.h"
#include "kube/resource.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr auto until_rung = 1h;
constexpr std::size_t most_waiting = 1000;
constexpr unsigned most_tries = 3;
constexpr std::chrono::milliseconds read_limit = 10s;

bool asks_for_nodes(const kube::Migration& move) {
    return !move.added_node_selector.empty() ||
           move.annotations.find(cluster::term_annotation).has_value();
}

bool has_landed(const std::optional<kube::MigrationState>& state) {
    return state && !state->uid.empty() && state->completed && !state->failed;
}

/// Whether it has just done so: of a VMI that was not known before it may be long ago.
bool is_news(const kube::Informer<kube::Vmi>::Change& change) {
    if (!change.before || !change.now || !has_landed(change.now->migration)) {
        return false;
    }
    const auto& before = change.before->migration;
    const auto& now = change.now->migration;
    return now && (!has_landed(before) || !before || before->uid != now->uid);
}

migration::Labels own_labels(const kube::Vmi& vmi, const migration::Labels& added) {
    migration::Labels own;
    for (const auto& [key, value] : added) {
        if (const auto asked = vmi.node_selector.find(key)) {
            own.insert_or_assign(key, std::string{*asked});
        }
    }
    return own;
}

}  // namespace

MoveLandings::MoveLandings(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                           const Clock& clock, std::chrono::milliseconds settle)
    : sources_(sources), client_(client), clock_(clock), settle_(settle), alarm_(loop) {
    sources_.vmis.on_change([this](const auto& change) { take(change); });
}

void MoveLandings::take(const kube::Informer<kube::Vmi>::Change& change) {
    if (!is_news(change) || !sources_.elector.leads()) {
        return;
    }
    const auto& state = change.now->migration;
    const auto move = state ? sources_.migrations.find_uid(state->uid) : nullptr;
    if (move && asks_for_nodes(*move)) {
        push({.vmi = change.now, .move = move->meta.name, .due = {}});
    }
}

void MoveLandings::push(Landing landing) {
    if (waiting_.size() >= most_waiting) {
        ++counters_.unclear;
        return;
    }
    landing.due = clock_.steady() + settle_;
    waiting_.push_back(std::move(landing));
    alarm_.ring();
}

Task<> MoveLandings::run() {
    for (;;) {
        while (!waiting_.empty() && waiting_.front().due <= clock_.steady()) {
            auto landing = std::move(waiting_.front());
            waiting_.pop_front();
            co_await judge(std::move(landing));
        }
        std::chrono::milliseconds longest = until_rung;
        if (!waiting_.empty()) {
            longest = std::chrono::ceil<std::chrono::milliseconds>(waiting_.front().due -
                                                                   clock_.steady());
        }
        const bool goes_on = co_await alarm_.wait(longest);
        if (!goes_on) {
            co_return;
        }
    }
}

/// Informers keep too little of a migration: a term may be in a field.
Task<> MoveLandings::judge(Landing landing) {
    kube::CallOptions options;
    options.limit = read_limit;
    kube::Target target{.resource = kube::resources::migrations(),
                        .object = {.space = landing.vmi->meta.space.str(), .name = landing.move}};
    const auto body = co_await client_.get(std::move(target), options);
    if (!body && kube::may_pass(body.error()) && ++landing.tries < most_tries) {
        push(std::move(landing));
        co_return;
    }
    if (body) {
        compare(*landing.vmi, *body);
    } else {
        ++counters_.unclear;
    }
}

void MoveLandings::compare(const kube::Vmi& vmi, std::string_view object) {
    const auto& state = vmi.migration;
    const auto node = state ? sources_.nodes.find({}, state->target_node.view()) : nullptr;
    const auto move = cluster::read_carried_move(object);
    if (!node || !move || !state || move->uid != state->uid) {
        ++counters_.unclear;
        return;
    }
    const auto lacking = cluster::lacking(*move, *node);
    if (lacking.empty()) {
        ++counters_.as_asked;
        return;
    }
    ++counters_.elsewhere;
    tell(vmi, *move, lacking);
}

void MoveLandings::tell(const kube::Vmi& vmi, const cluster::CarriedMove& move,
                        const std::string& lacking) {
    const auto node = vmi.migration ? vmi.migration->target_node.str() : std::string{};
    const auto& added = move.request.wish.added;
    const auto ignored = migration::ignored_keys(added, own_labels(vmi, added));
    spdlog::warn("a VM landed elsewhere than its migration asked vmi={} node={} lacking={}",
                 log_value(vmi.meta.space.str() + "/" + vmi.meta.name), log_value(node),
                 log_value(lacking));
    sources_.events.record(
        {.regarding = cluster::vmi_reference(vmi.meta.space.str(), vmi.meta.name, vmi.meta.uid),
         .related = cluster::move_reference(vmi.meta.space.str(), move.request.name, move.uid),
         .warning = true,
         .reason = "MigrationLandedElsewhere",
         .action = "CompareTarget",
         .note = "migration " + move.request.name + " brought it to node " + node +
                 ", which lacks what was asked for: " + lacking +
                 (ignored.empty() ? std::string{}
                                  : "; what the VM asks for itself wins: " + ignored.front())});
}

}  // namespace scout::aggregator
