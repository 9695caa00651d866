// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cpu_profiles.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "aggregator/leader_call.h"
#include "base/logging.h"
#include "cluster/node_profile.h"
#include "cluster/upgrade_answer.h"
#include "kube/resource.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr auto write_limit = 15s;
/// A profile that was tried shows among the objects by then, or is tried again.
constexpr auto try_again_after = 30s;
constexpr auto care_every = 60s;
/// Fleets have tens, and each is some 100 KB in etcd: who reports ever new ones must not fill it.
constexpr std::size_t most_profiles = 500;
constexpr unsigned most_made_for_node = 8;
constexpr auto made_for_node_within = 24h;
constexpr std::size_t most_names = 4096;
/// As agents call KubeVirt's own files. What another source says is compared with its own earlier
/// answers alone (design §3), so it names no profile of the node.
constexpr std::string_view labeller = "labeller";

kube::Target target_of(std::string name) {
    return {.resource = kube::resources::cpu_profiles(),
            .object = {.space = {}, .name = std::move(name)}};
}

kube::EventNote changed(const kube::Node& node, std::string note) {
    return {.regarding = {.api_version = "v1",
                          .kind = "Node",
                          .space = {},
                          .name = node.meta.name,
                          .uid = node.meta.uid},
            .related = {},
            .warning = false,
            .reason = "CPUProfileChanged",
            .action = "AnnotateNode",
            .note = std::move(note)};
}

}  // namespace

CpuProfiles::CpuProfiles(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                         const Clock& clock)
    : sources_(sources), client_(client), clock_(clock), alarm_(loop) {
    sources_.nodes.on_change([this](const auto& change) { take_node(change); });
    sources_.nodes.on_synced([this] { alarm_.ring(); });
    sources_.profiles.on_synced([this] { alarm_.ring(); });
    sources_.profiles.on_change([this](const auto& change) {
        tried_.erase(change.now ? change.now->meta.name : change.before->meta.name);
        alarm_.ring();
    });
    sources_.elector.on_change([this](bool /*leads*/) { take_leadership(); });
}

void CpuProfiles::follow(Registry& registry) {
    registry.observe([this](const Change& change) { take_change(change); });
    registry.observe_reports([this](const Node& node) { take_report(node); });
}

std::string_view CpuProfiles::reported(std::string_view node) const {
    const auto found = reported_.find(node);
    const bool there = found != reported_.end() && found->second.heard_of &&
                       sources_.profiles.find({}, found->second.name) != nullptr;
    return there ? std::string_view{found->second.name} : std::string_view{};
}

kube::Informer<cluster::CpuProfile>::Pointer CpuProfiles::named_by(const kube::Node& node) const {
    const auto name = cluster::named_profile(node);
    return name.empty() ? nullptr : sources_.profiles.find({}, name);
}

void CpuProfiles::take_report(const Node& node) {
    if (!sources_.elector.leads()) {
        return;
    }
    if (node.kind != NodeKind::agent || node.host.source != labeller || node.profile == nullptr) {
        forget(node.name);
        return;
    }
    auto& reported = reported_[node.name];
    if (reported.profile == node.profile && reported.heard_of) {
        return;
    }
    reported = {.name = name_of(*node.profile), .profile = node.profile, .heard_of = true};
    tell(node.name);
}

/// A node that is not heard of keeps what it names, and what it said last may be old. Heard of
/// again on the same stream it does not say it once more.
void CpuProfiles::take_change(const Change& change) {
    const auto found = reported_.find(change.node.name);
    if (found == reported_.end()) {
        return;
    }
    if (change.kind == ChangeKind::node_removed) {
        forget(change.node.name);
    } else if (change.kind == ChangeKind::node_changed) {
        const bool heard_of = change.node.freshness == Freshness::fresh;
        if (std::exchange(found->second.heard_of, heard_of) != heard_of) {
            tell(change.node.name);
        }
    }
}

void CpuProfiles::tell(const std::string& node) {
    if (on_change_) {
        on_change_(node);
    }
    alarm_.ring();
}

void CpuProfiles::forget(std::string_view node) {
    if (const auto found = reported_.find(node); found != reported_.end()) {
        reported_.erase(found);
        if (on_change_) {
            on_change_(std::string{node});
        }
    }
}

void CpuProfiles::take_leadership() {
    const auto before = std::exchange(reported_, {});
    for (const auto& [node, reported] : before) {
        if (on_change_) {
            on_change_(node);
        }
    }
    tried_.clear();
    alarm_.ring();
}

/// Hashing is most of the work where thousands of agents report at once.
const std::string& CpuProfiles::name_of(const StoredProfile& profile) {
    if (const auto found = names_.find(profile.digest); found != names_.end()) {
        return found->second;
    }
    if (names_.size() >= most_names) {
        names_.clear();
    }
    return names_.emplace(profile.digest, cluster::profile_name(profile.profile)).first->second;
}

void CpuProfiles::take_node(const kube::Informer<kube::Node>::Change& change) {
    if (!change.before || !change.now || !sources_.elector.leads()) {
        return;
    }
    const auto before = cluster::named_profile(*change.before);
    const auto now = cluster::named_profile(*change.now);
    if (before.empty() || now.empty() || before == now) {
        return;
    }
    const auto old_profile = sources_.profiles.find({}, before);
    const auto new_profile = sources_.profiles.find({}, now);
    sources_.events.record(changed(
        *change.now,
        old_profile && new_profile
            ? cluster::profile_change_note(*old_profile, *new_profile, sources_.map)
            : "the CPU profile changed from " + std::string{before} + " to " + std::string{now}));
}

/// Hosts change seldom: one agent must not use up what there is for the whole cluster.
bool CpuProfiles::may_make_for(const std::string& node) const {
    const auto found = made_for_.find(node);
    return found == made_for_.end() || found->second < most_made_for_node;
}

void CpuProfiles::count_made_for(const std::string& node) {
    if (++made_for_[node] == most_made_for_node) {
        spdlog::warn(
            "node tells of another CPU again and again: no further one is kept within a "
            "day node={} profiles={}",
            log_value(node), most_made_for_node);
    }
}

std::string CpuProfiles::missing() const {
    const auto found = std::find_if(reported_.begin(), reported_.end(), [this](const auto& entry) {
        const auto& [node, reported] = entry;
        return reported.heard_of && !tried_.contains(reported.name) && may_make_for(node) &&
               sources_.profiles.find({}, reported.name) == nullptr;
    });
    return found == reported_.end() ? std::string{} : found->first;
}

Task<> CpuProfiles::run() {
    for (;;) {
        if (sources_.elector.leads() && sources_.profiles.synced()) {
            co_await make_missing();
            co_await care();
        }
        const bool goes_on = co_await alarm_.wait(try_again_after);
        if (!goes_on) {
            co_return;
        }
    }
}

Task<> CpuProfiles::make_missing() {
    if (clock_.steady() - tried_since_ >= try_again_after) {
        tried_.clear();
        tried_since_ = clock_.steady();
    }
    if (clock_.steady() - counted_since_ >= made_for_node_within) {
        made_for_.clear();
        counted_since_ = clock_.steady();
    }
    for (auto node = missing(); !node.empty(); node = missing()) {
        auto name = reported_.at(node).name;
        auto profile = reported_.at(node).profile;
        tried_.insert(name);
        const auto done = co_await make(std::move(profile), name);
        count(done, counters_.made, name);
        if (done) {
            count_made_for(node);
        } else if (done.error().code == Errc::cancelled) {
            co_return;
        }
    }
}

Task<Status> CpuProfiles::make(SharedProfile profile, std::string name) {
    if (sources_.profiles.size() >= most_profiles) {
        co_return fail(Errc::refused,
                       "expected at most " + std::to_string(most_profiles) +
                           " CPUProfiles, found as many: remove those that no node needs");
    }
    auto body = cluster::cpu_profile_body(profile->profile);
    if (!body) {
        co_return fail(std::move(body.error()));
    }
    const auto options = leader_call(sources_.elector.may_write_for(), write_limit);
    if (!options) {
        co_return fail(options.error());
    }
    auto target = target_of(std::move(name));
    kube::ApplyOptions apply;
    apply.force = true;
    auto answer =
        co_await client_.apply(std::move(target), std::move(*body), std::move(apply), *options);
    co_return kube::plain(kube::without_body(std::move(answer)));
}

std::set<std::string, std::less<>> CpuProfiles::names_in_use() const {
    std::set<std::string, std::less<>> named;
    for (const auto& [node, reported] : reported_) {
        named.insert(reported.name);
    }
    sources_.nodes.each([&named](const auto& node) {
        named.emplace(cluster::named_profile(*node));
        named.emplace(cluster::named_profile(*node, cluster::former_profile_annotation));
    });
    return named;
}

/// By all nodes there are, or none is unused.
std::vector<cluster::ProfileStep> CpuProfiles::steps() const {
    std::vector<const cluster::CpuProfile*> profiles;
    sources_.profiles.each([&profiles](const auto& profile) { profiles.push_back(profile.get()); });
    return cluster::care_for(profiles, names_in_use(), clock_.wall());
}

Task<> CpuProfiles::care() {
    const auto now = clock_.steady();
    if (!sources_.nodes.synced() || (cared_ && now - *cared_ < care_every)) {
        co_return;
    }
    cared_ = now;
    auto due = steps();
    for (auto& step : due) {
        const auto name = step.name;
        // Writes take their time: a node may have come to name it meanwhile.
        if (step.kind == cluster::ProfileStep::Kind::remove && names_in_use().contains(name)) {
            continue;
        }
        std::uint64_t marked = 0;
        auto& successes =
            step.kind == cluster::ProfileStep::Kind::remove ? counters_.removed : marked;
        const auto done = co_await take_step(std::move(step));
        count(done, successes, name);
        if (!done && done.error().code == Errc::cancelled) {
            co_return;
        }
    }
}

Task<Status> CpuProfiles::take_step(cluster::ProfileStep step) {
    const auto options = leader_call(sources_.elector.may_write_for(), write_limit);
    if (!options) {
        co_return fail(options.error());
    }
    auto target = target_of(step.name);
    if (step.kind == cluster::ProfileStep::Kind::remove) {
        kube::Preconditions same{.uid = step.uid, .resource_version = step.version};
        auto removed = co_await client_.remove(std::move(target), std::move(same), *options);
        co_return kube::plain(std::move(removed));
    }
    auto body = cluster::unused_body(step.uid, step.since);
    auto answer = co_await client_.merge_patch(std::move(target), std::move(body), *options);
    co_return kube::plain(kube::without_body(std::move(answer)));
}

void CpuProfiles::count(const Status& done, std::uint64_t& successes, const std::string& profile) {
    (done ? successes : counters_.failed) += 1;
    if (!done && done.error().code != Errc::cancelled) {
        spdlog::warn("a CPUProfile is not written, tried again profile={} reason={}", profile,
                     log_value(done.error().message));
    }
}

}  // namespace scout::aggregator
