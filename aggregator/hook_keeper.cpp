// SPDX-License-Identifier: Apache-2.0
// The object itself. What is held in vain meanwhile is in hook_keeper_releases.cpp.
#include "aggregator/hook_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "aggregator/leader_call.h"
#include "base/logging.h"
#include "kube/decode_text.h"
#include "kube/objects/bare_object.h"
#include "kube/resource.h"
#include "migration/labels.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds look_every = 1s;
constexpr std::chrono::milliseconds write_limit = 10s;
constexpr auto between_writes = 5s;
/// A node without an agent must be left out before its guests' time is over: some 45 s.
constexpr auto try_again_after = 3s;
constexpr auto try_refused_again_after = 30s;
constexpr std::size_t touched_at_once = 16;
/// daemonset/base/roles.yaml
constexpr const char* owner_name = "virt-scout-aggregator";

kube::Target plugin_target() {
    return {.resource = kube::resources::plugins(),
            .object = {.space = {}, .name = cluster::hook_plugin_name}};
}

/// All of them, or that there is no such kind.
template <class T>
bool is_known(const kube::Informer<T>& informer) {
    return informer.synced() || informer.reflector().state() == kube::ReflectorState::absent;
}

cluster::Protection no(std::string reason, std::string message) {
    return {.state = cluster::Protection::State::no,
            .reason = std::move(reason),
            .message = std::move(message)};
}

Result<cluster::HookOwner> read_owner(kube::ApiResult<std::string> answer) {
    if (!answer) {
        return fail(
            std::move(answer.error().error).within("the object that the hook's one is to go with"));
    }
    const auto role = kube::decode_text(*answer, &kube::decode_bare);
    if (!role) {
        return fail(role.error());
    }
    const auto& resource = kube::resources::cluster_roles();
    return cluster::HookOwner{.api_version = resource.group + "/" + resource.version,
                              .kind = resource.kind,
                              .name = owner_name,
                              .uid = role->meta.uid};
}

}  // namespace

HookKeeper::HookKeeper(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                       const Clock& clock)
    : sources_(sources),
      client_(client),
      clock_(clock),
      acts_(client, clock, [this] { return sources_.elector.may_write_for(); }),
      alarm_(loop),
      scope_(loop),
      places_(std::make_shared<Places>(loop, touched_at_once)) {
    sources_.plugins.on_change([this](const auto& change) {
        if (!change.now) {
            owner_.reset();  // it went, perhaps with an owner that is another one now
        }
        alarm_.ring();
    });
    sources_.settings.on_change([this] {
        not_before_.reset();
        alarm_.ring();
    });
    sources_.elector.on_change([this](bool /*leads*/) { alarm_.ring(); });
    sources_.desk.on_agent(
        [this](const std::string& node) { cover_.heard(node, clock_.steady()); });
}

kube::Informer<kube::Plugin>::Pointer HookKeeper::plugin() const {
    return sources_.plugins.find({}, cluster::hook_plugin_name);
}

Task<> HookKeeper::run() {
    for (;;) {
        try {
            co_await turn();
        } catch (const std::exception& error) {
            spdlog::error("the node hook is looked at again reason={}", log_value(error.what()));
        }
        const bool goes_on = co_await alarm_.wait(look_every);
        if (!goes_on) {
            co_return;
        }
    }
}

Task<> HookKeeper::stop() {
    return scope_.close();
}

Task<> HookKeeper::turn() {
    const bool leads = sources_.elector.leads() && sources_.nodes.synced() &&
                       is_known(sources_.vmis) && is_known(sources_.plugins) &&
                       sources_.settings.synced();
    if (!std::exchange(led_, leads) && leads) {
        cover_.begin(cluster::left_out_by(plugin().get()), clock_.steady());
        let_go_.clear();
        not_before_.reset();
        written_at_ = clock_.steady();  // by whoever led before
    }
    if (!leads) {
        co_return;
    }
    look_at_nodes();
    const auto wanted = wish();
    tell(wanted);
    if (!not_before_ || clock_.steady() >= *not_before_) {
        co_await keep(wanted.there);
    }
    let_go();
}

/// virt-handler has been on a node that has this label, whatever it says now.
void HookKeeper::look_at_nodes() {
    std::vector<kube::Informer<kube::Node>::Pointer> with_vms;
    sources_.nodes.each([&with_vms](const auto& node) {
        if (node->labels.contains(migration::label::schedulable)) {
            with_vms.push_back(node);
        }
    });
    std::vector<std::string_view> names;
    names.reserve(with_vms.size());
    for (const auto& node : with_vms) {
        names.push_back(node->meta.name);
    }
    cover_.look(names, clock_.steady());
}

std::optional<cluster::Protection> HookKeeper::obstacle() const {
    const auto mode = sources_.settings.current().evacuation.mode;
    if (mode != cluster::EvacuationMode::act) {
        return no("NotActing", "evacuation.mode is " + std::string{cluster::to_string(mode)} +
                                   ": no stop is held, and nothing is moved");
    }
    // One answer that there is no such kind may be a mistake; after two the object is not there.
    const bool absent = sources_.plugins.reflector().state() == kube::ReflectorState::absent;
    if (absent && !plugin()) {
        return no("NoNodeHooks",
                  "this KubeVirt has no node hooks, which came with 1.9: the guest begins to stop "
                  "when its launcher is told to, and nothing is moved then");
    }
    const auto now = clock_.steady();
    if (cover_.agents(now) == 0 && (!plugin() || cover_.has_listened(now))) {
        return no("NoAgent",
                  "no agent follows launchers: the node hook would find nobody who answers");
    }
    if (!plugin() && !cover_.has_listened(now)) {
        return cluster::Protection{.state = cluster::Protection::State::unknown,
                                   .reason = "Beginning",
                                   .message = "which nodes have an agent is being found out"};
    }
    if (const auto left_out = cover_.left_out().size(); left_out > cluster::most_left_out) {
        return no("TooFewAgents",
                  "on " + std::to_string(left_out) + " nodes no agent follows launchers: beyond " +
                      std::to_string(cluster::most_left_out) + " the node hook is taken away");
    }
    return std::nullopt;
}

HookKeeper::Wish HookKeeper::wish() const {
    if (auto why_not = obstacle()) {
        return {.there = false, .protection = *std::move(why_not)};
    }
    if (!trouble_.empty()) {
        return {.there = true, .protection = no("NotWritten", trouble_)};
    }
    const bool listed = sources_.settings.current().evacuation.hooks;
    auto message = "the node hook is in place, without " +
                   std::to_string(cover_.left_out().size()) +
                   " nodes on which no agent follows launchers";
    if (!listed) {
        message += "; but KubeVirt lists no feature gate " + std::string{cluster::hooks_gate} +
                   ", without which 1.9 calls no hook";
    }
    return {.there = true,
            .protection = {.state = listed ? cluster::Protection::State::yes
                                           : cluster::Protection::State::unknown,
                           .reason = listed ? "NodeHook" : "GateNotListed",
                           .message = std::move(message)}};
}

void HookKeeper::tell(const Wish& wish) {
    auto protection = wish.protection;
    if (wish.there && trouble_.empty() && !plugin()) {
        protection = {.state = cluster::Protection::State::unknown,
                      .reason = "Beginning",
                      .message = "the node hook is being put in place"};
    }
    sources_.settings.tell_protection(std::move(protection));
}

Task<> HookKeeper::keep(bool there) {
    const auto known = plugin();
    if (!there) {
        trouble_.clear();
        // One that is being deleted waits for a finalizer of somebody else.
        if (known && !known->deletion) {
            auto uid = known->meta.uid;
            const auto done = co_await remove(std::move(uid));
            count(done);
        }
        co_return;
    }
    const auto owner = co_await find_owner();
    if (!owner) {
        count(fail(owner.error()));
        co_return;
    }
    auto condition = cluster::hook_condition(cover_.left_out());
    if (known && cluster::is_hook_plugin(*known, owner->uid, condition)) {
        trouble_.clear();
        co_return;
    }
    const auto done = co_await apply(*owner, std::move(condition));
    count(done);
}

void HookKeeper::count(const Status& done) {
    const auto now = clock_.steady();
    if (done) {
        ++counters_.written;
        trouble_.clear();
        written_at_ = now;
        not_before_ = now + between_writes;
        return;
    }
    if (done.error().code == Errc::cancelled) {
        return;
    }
    ++counters_.failed;
    const auto code = done.error().code;
    const bool may_pass = code == Errc::unavailable || code == Errc::timed_out;
    not_before_ = now + (may_pass ? try_again_after : try_refused_again_after);
    if (trouble_ != done.error().message) {
        trouble_ = done.error().message;
        spdlog::warn("the node hook's object is not written, tried again reason={}",
                     log_value(trouble_));
    }
}

/// When virt-scout is uninstalled nobody may be asked any more who would answer: every stop of a VM
/// would wait for nobody. So the object belongs to our role, with which the garbage collector of
/// the cluster takes it, whatever became of us.
Task<Result<cluster::HookOwner>> HookKeeper::find_owner() {
    if (owner_) {
        co_return *owner_;
    }
    const auto options = leader_call(sources_.elector.may_write_for(), write_limit);
    if (!options) {
        co_return fail(options.error());
    }
    kube::Target target{.resource = kube::resources::cluster_roles(),
                        .object = {.space = {}, .name = owner_name}};
    auto answer = co_await client_.get(std::move(target), *options);
    auto found = read_owner(std::move(answer));
    if (found) {
        owner_ = *found;
    }
    co_return found;
}

Task<Status> HookKeeper::apply(cluster::HookOwner owner, std::string condition) {
    const auto options = leader_call(sources_.elector.may_write_for(), write_limit);
    if (!options) {
        co_return fail(options.error());
    }
    auto body = cluster::hook_plugin_body(owner, condition);
    kube::ApplyOptions apply;
    apply.force = true;
    auto answer =
        co_await client_.apply(plugin_target(), std::move(body), std::move(apply), *options);
    if (answer) {
        spdlog::info("virt-handler asks agents before it stops a VM left_out={}",
                     cover_.left_out().size());
    }
    co_return kube::plain(kube::without_body(std::move(answer)));
}

Task<Status> HookKeeper::remove(std::string uid) {
    const auto options = leader_call(sources_.elector.may_write_for(), write_limit);
    if (!options) {
        co_return fail(options.error());
    }
    kube::Preconditions same{.uid = std::move(uid), .resource_version = {}};
    auto removed = co_await client_.remove(plugin_target(), std::move(same), *options);
    if (!removed && removed.error().status == 404) {
        co_return Status{};
    }
    if (removed) {
        spdlog::info("virt-handler asks agents no more before it stops a VM");
    }
    co_return kube::plain(std::move(removed));
}

HookCounters HookKeeper::counters() const {
    auto counters = counters_;
    counters.in_place = plugin() != nullptr;
    counters.left_out = cover_.left_out().size();
    return counters;
}

}  // namespace scout::aggregator
