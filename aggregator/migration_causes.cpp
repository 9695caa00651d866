// SPDX-License-Identifier: Apache-2.0
#include "aggregator/migration_causes.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "aggregator/leader_call.h"
#include "aggregator/move_notes.h"
#include "base/logging.h"
#include "cluster/cause_facts.h"
#include "cluster/object_references.h"
#include "cluster/watched_records.h"
#include "kube/decode_text.h"
#include "migration/requester.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_jobs = 4096;
constexpr unsigned most_tries = 3;
constexpr auto look_idle = 60s;
constexpr std::chrono::milliseconds read_limit = 10s;
constexpr std::chrono::milliseconds write_limit = 10s;
constexpr auto events_of_nodes = "default";
constexpr unsigned not_found = 404;

kube::Target target_of(const std::string& space, const std::string& name) {
    return {.resource = kube::resources::migrations(), .object = {.space = space, .name = name}};
}

bool is_recorded(const kube::MoveRecord& move) {
    return migration::requester_named(recorded_on(move.annotations)).has_value();
}

/// Whether what ends a launcher tells more of a migration from it than is recorded.
bool tells_more(const kube::LauncherPod& pod, const kube::Migration& move) {
    if (move.meta.space != pod.meta.space || move.vmi_name != pod.vmi_name ||
        move.meta.uid == pod.migration_uid) {
        return false;
    }
    const cluster::LauncherSeen launcher{.space = pod.meta.space.str(),
                                         .name = pod.meta.name,
                                         .vmi_name = pod.vmi_name,
                                         .pod = pod.ending.get()};
    return migration::is_outdone(recorded_on(move.annotations),
                                 cluster::ending_told({}, launcher, move.creation));
}

/// By its conditions, as DisruptionTarget.
bool tells_its_end(const kube::LauncherPod& pod) {
    return pod.ending && !pod.ending->conditions.empty();
}

}  // namespace

std::string_view mode_word(std::size_t index) noexcept {
    return index < move_modes.size() ? move_modes.at(index) : move_modes.front();
}

MigrationCauses::MigrationCauses(const asio::any_io_executor& loop, Sources sources,
                                 kube::Client& client, const Clock& clock)
    : sources_(std::move(sources)), client_(client), clock_(clock), told_(client), alarm_(loop) {
    sources_.migrations.on_change([this](const Change& change) { take_change(change); });
    sources_.launchers.on_change([this](const auto& change) { take_ending(change); });
    sources_.elector.on_change([this](bool leads) {
        if (leads) {
            look_through();
        }
    });
}

/// What the last leader left undone.
void MigrationCauses::look_through() {
    sources_.migrations.each([this](const Move& move) {
        if (lacks_cause(*move)) {
            push(*move, false);
        }
    });
}

bool MigrationCauses::is_young(const kube::Migration& move) const {
    return move.creation && *move.creation + sources_.history.keep() > clock_.wall();
}

bool MigrationCauses::lacks_cause(const kube::Migration& move) const {
    return !migration::requester_named(recorded_on(move.annotations)) &&
           (!move.is_final() || is_young(move));
}

/// The first list brings those that had ended before; their history is read again from them.
void MigrationCauses::take_change(const Change& change) {
    if (!change.now) {
        begun_.erase(change.before->meta.uid);
        return;
    }
    const auto& move = *change.now;
    if (!move.is_final()) {
        if (begun_.insert(move.meta.uid).second) {
            push(move, false);
        }
        return;
    }
    begun_.erase(move.meta.uid);
    if (change.before && !change.before->is_final()) {
        push(move, true);
    } else if (!change.before && is_young(move)) {
        push(move, false);
    }
}

/// What ends a launcher may be told after the migration from it was looked into: a kubelet tells it
/// on the pod at its very end.
void MigrationCauses::take_ending(const kube::Informer<kube::LauncherPod>::Change& change) {
    const auto& pod = change.now;
    if (!pod || !tells_its_end(*pod) || (change.before && tells_its_end(*change.before))) {
        return;
    }
    for (const auto& uid : begun_) {
        const auto move = sources_.migrations.find_uid(uid);
        if (move && tells_more(*pod, *move)) {
            push(*move, false);
        }
    }
    const auto found = sources_.vmis.find(pod->meta.space.view(), pod->vmi_name);
    const auto* const vmi = found.get();
    if (vmi == nullptr || !vmi->migration || vmi->migration->source_pod != pod->meta.name) {
        return;
    }
    const auto last = sources_.migrations.find_uid(vmi->migration->uid);
    if (last && last->is_final() && tells_more(*pod, *last)) {
        push(*last, false);
    }
}

void MigrationCauses::push(const kube::Migration& move, bool ends) {
    if (jobs_.size() >= most_jobs) {
        if (++left_out_ == 1) {
            spdlog::warn("more migrations than are looked into at once most={}", most_jobs);
        }
        return;
    }
    jobs_.push_back({.space = move.meta.space.str(),
                     .name = move.meta.name,
                     .uid = move.meta.uid,
                     .ends = ends});
    alarm_.ring();
}

void MigrationCauses::again(Job job) {
    if (++job.tries < most_tries) {
        jobs_.push_back(std::move(job));
    } else {
        ++failed_;
    }
}

Task<> MigrationCauses::run() {
    for (;;) {
        while (!jobs_.empty()) {
            auto job = std::move(jobs_.front());
            jobs_.pop_front();
            co_await work(std::move(job));
        }
        const bool goes_on = co_await alarm_.wait(look_idle);
        if (!goes_on) {
            co_return;
        }
    }
}

/// Of one whose requester is written on it the informers know enough.
std::optional<kube::MoveRecord> MigrationCauses::known_end(const Job& job) const {
    const auto move = job.ends ? sources_.migrations.find_uid(job.uid) : nullptr;
    const auto vmi = move ? sources_.vmis.find(job.space, move->vmi_name.view()) : nullptr;
    if (!vmi) {
        return std::nullopt;
    }
    const auto& last = vmi->migration;
    if (!last || last->uid != job.uid || !last->completed) {
        return std::nullopt;
    }
    auto record = cluster::record_of(*move, *vmi);
    return is_recorded(record) ? std::optional{std::move(record)} : std::nullopt;
}

/// None: it is gone, or another one has its name. What informers keep of one is too little, but of
/// a known end.
Task<Result<std::optional<kube::MoveRecord>>> MigrationCauses::read(Job job) {
    if (auto known = known_end(job)) {
        co_return known;
    }
    kube::CallOptions options;
    options.limit = read_limit;
    auto body = co_await client_.get(target_of(job.space, job.name), options);
    if (!body && body.error().status == not_found) {
        co_return std::optional<kube::MoveRecord>{};
    }
    if (!body) {
        co_return fail(std::move(body.error().error));
    }
    auto move = kube::decode_text(*body, &kube::decode_move_record);
    if (!move) {
        co_return fail(std::move(move.error()));
    }
    if (move->meta.uid != job.uid) {
        co_return std::optional<kube::MoveRecord>{};
    }
    co_return std::optional{std::move(*move)};
}

/// Its VMI, if there is one, the launchers of that, and the launcher and the node that it leaves.
cluster::Records MigrationCauses::around(const kube::MoveRecord& move, const kube::Vmi* vmi) const {
    cluster::Records records;
    if (vmi != nullptr) {
        records.vmis.push_back(cluster::record_of(*vmi));
        add_launchers(records, records.vmis.front());
    }
    add_source(records, move);
    const auto left = cluster::node_left(move, vmi != nullptr ? &records.vmis.front() : nullptr);
    if (const auto node = sources_.nodes.find({}, left)) {
        records.nodes.push_back(cluster::record_of(*node));
    }
    return records;
}

Task<> MigrationCauses::work(Job job) {
    auto one = job;
    const auto answer = co_await read(std::move(one));
    if (!answer) {
        again(std::move(job));
        co_return;
    }
    const auto& found = *answer;
    if (!found) {
        co_return;
    }
    const auto& move = *found;
    const auto vmi = sources_.vmis.find(job.space, move.vmi_name.view());
    auto records = around(move, vmi.get());
    const auto* const record = vmi ? &records.vmis.front() : nullptr;
    const bool ours = move.meta.name.starts_with(migration::own_move_prefix);
    const bool stopping =
        vmi && !move.is_final() && sources_.told_to_stop && sources_.told_to_stop(vmi->meta.uid);
    job.told = stopping && (move.evacuation || ours);
    if (!is_recorded(move) && (move.evacuation || ours) && !stopping) {
        co_await add_events(&records, &move, record);
    }
    auto past = cluster::past_move(records, move, record, stopping);
    keep(move, past);
    if (!sources_.elector.leads()) {
        co_return;
    }
    if (std::exchange(job.ends, false)) {
        count(past);
    }
    const auto vmi_uid = vmi ? vmi->meta.uid : std::string{};
    co_await write(&move, &past, std::move(job), vmi_uid);
}

/// Why it was asked for is known best when it began.
void MigrationCauses::keep(const kube::MoveRecord& move, cluster::PastMove& past) {
    const auto* const known = sources_.history.move(move.meta.uid);
    if (known != nullptr && known->request.requester == past.request.requester) {
        past.request = known->request;
    }
    sources_.history.put(KeptMove{.space = move.meta.space.str(),
                                  .vmi_name = move.vmi_name.str(),
                                  .uid = move.meta.uid,
                                  .move = past},
                         clock_.wall());
}

void MigrationCauses::add_launchers(cluster::Records& records, const kube::VmiRecord& vmi) const {
    for (const auto& active : vmi.active_pods) {
        if (const auto pod = sources_.launchers.find_uid(active.uid)) {
            records.launchers.push_back(cluster::record_of(*pod));
        }
    }
}

/// Which is not active any more after its VM has left it.
void MigrationCauses::add_source(cluster::Records& records, const kube::MoveRecord& move) const {
    const auto name = move.state ? move.state->source_pod.str() : std::string{};
    const auto pod = name.empty() ? nullptr : sources_.launchers.find(move.meta.space.view(), name);
    const auto is_it = [&name](const kube::PodRecord& each) { return each.meta.name == name; };
    if (pod && std::none_of(records.launchers.begin(), records.launchers.end(), is_it)) {
        records.launchers.push_back(cluster::record_of(*pod));
    }
}

/// Those of the launcher and of the node that it leaves; what cannot be read is done without. All
/// outlive the call.
Task<> MigrationCauses::add_events(cluster::Records* records, const kube::MoveRecord* move,
                                   const kube::VmiRecord* vmi) {
    std::vector<cluster::EventSubject> subjects;
    if (auto pod = cluster::source_pod(*records, *move, vmi); !pod.empty()) {
        subjects.push_back(
            {.kind = "Pod", .space = move->meta.space.str(), .name = std::move(pod)});
    }
    if (auto node = cluster::node_left(*move, vmi); !node.empty()) {
        subjects.push_back({.kind = "Node", .space = events_of_nodes, .name = std::move(node)});
    }
    for (auto& subject : subjects) {
        auto events = co_await told_.about(std::move(subject), read_limit);
        if (!events) {
            spdlog::debug("Events cannot be read reason={}", log_value(events.error().message));
            co_return;
        }
        std::move(events->begin(), events->end(), std::back_inserter(records->events));
    }
}

Task<> MigrationCauses::write(const kube::MoveRecord* move, const cluster::PastMove* past, Job job,
                              std::string vmi_uid) {
    const auto wanted = notes_of(*move, *past);
    const auto options = leader_call(sources_.elector.may_write_for(), write_limit);
    if (move->deletion || has_notes(*move, wanted) || !options) {
        co_return;
    }
    kube::ApplyOptions apply;
    apply.force = true;
    auto body = body_of(*move, wanted);
    const auto answer = co_await client_.apply(target_of(job.space, job.name), std::move(body),
                                               std::move(apply), *options);
    if (answer) {
        const bool fresh = recorded_on(move->annotations) != to_string(past->request.requester);
        if (!move->is_final() && fresh && !job.told) {
            tell(*move, *past, vmi_uid);
        }
        co_return;
    }
    if (kube::may_pass(answer.error())) {
        again(std::move(job));
        co_return;
    }
    constexpr unsigned conflict = 409;
    if (answer.error().status != not_found && answer.error().status != conflict && ++failed_ == 1) {
        spdlog::warn("who wanted a migration cannot be written on it, the rest goes on reason={}",
                     log_value(answer.error().error.message));
    }
}

void MigrationCauses::tell(const kube::MoveRecord& move, const cluster::PastMove& past,
                           const std::string& vmi_uid) {
    const auto& request = past.request;
    const auto space = move.meta.space.str();
    sources_.events.record(
        {.regarding = cluster::vmi_reference(space, move.vmi_name.str(), vmi_uid),
         .related = cluster::move_reference(space, move.meta.name, move.meta.uid),
         .warning = false,
         .reason = "MigrationRequested",
         .action = "Record",
         .note = "migration " + move.meta.name + " was wanted by " +
                 std::string{to_string(request.requester)} +
                 (request.user.empty() ? std::string{} : " (" + request.user + ")") +
                 (request.certain ? ": " : ", not certain: ") + request.why});
}

void MigrationCauses::count(const cluster::PastMove& past) {
    const auto found = std::find(move_modes.begin() + 1, move_modes.end(), past.mode);
    const auto mode =
        found == move_modes.end() ? 0 : static_cast<std::size_t>(found - move_modes.begin());
    ++counters_.at(static_cast<std::size_t>(past.request.requester))
          .at(mode)
          .at(past.phase == "Succeeded" ? 0 : 1);
}

}  // namespace scout::aggregator
