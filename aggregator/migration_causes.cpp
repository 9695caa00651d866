// SPDX-License-Identifier: Apache-2.0
#include "aggregator/migration_causes.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <spdlog/spdlog.h>

#include "aggregator/leader_call.h"
#include "base/logging.h"
#include "cluster/object_references.h"
#include "cluster/watched_records.h"
#include "kube/decode_text.h"
#include "migration/requester.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr std::size_t most_jobs = 4096;
constexpr unsigned most_tries = 3;
constexpr auto look_idle = 60s;
constexpr std::chrono::milliseconds read_limit = 10s;
constexpr std::chrono::milliseconds write_limit = 10s;
constexpr auto events_of_nodes = "default";
constexpr unsigned not_found = 404;
constexpr std::size_t longest_user = 253;  ///< daemonset/base/fences.yaml
constexpr std::array<std::string_view, 4> modes{"none", "PreCopy", "PostCopy", "Paused"};

kube::Target target_of(const std::string& space, const std::string& name) {
    return {.resource = kube::resources::migrations(), .object = {.space = space, .name = name}};
}

bool is_final(const kube::MoveRecord& move) {
    return move.phase == "Succeeded" || move.phase == "Failed";
}

bool is_recorded(const kube::MoveRecord& move) {
    return migration::requester_named(
               move.annotations.find(migration::cause_annotation).value_or(""))
        .has_value();
}

/// What ours should be. How it ended is told then, if it came to run.
std::map<std::string_view, std::string> annotations_of(const kube::MoveRecord& move,
                                                       const cluster::PastMove& past) {
    std::map<std::string_view, std::string> wanted;
    wanted[migration::cause_annotation] = to_string(past.request.requester);
    if (!past.request.user.empty() && past.request.user.size() <= longest_user) {
        wanted[migration::requester_annotation] = past.request.user;
    }
    const bool known = std::find(modes.begin() + 1, modes.end(), past.mode) != modes.end();
    if (is_final(move) && known) {
        wanted[migration::mode_annotation] = past.mode;
    }
    return wanted;
}

bool has(const kube::MoveRecord& move, const std::map<std::string_view, std::string>& wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&move](const auto& entry) {
        return move.annotations.find(entry.first) == entry.second;
    });
}

/// Of this object alone: of another uid, and of none, the API server answers 409.
std::string body_of(const kube::MoveRecord& move,
                    const std::map<std::string_view, std::string>& wanted) {
    const auto& resource = kube::resources::migrations();
    json::object annotations;
    for (const auto& [key, value] : wanted) {
        annotations[key] = value;
    }
    return json::serialize(json::object{{"apiVersion", resource.group + "/" + resource.version},
                                        {"kind", resource.kind},
                                        {"metadata",
                                         {{"name", move.meta.name},
                                          {"namespace", move.meta.space.str()},
                                          {"uid", move.meta.uid},
                                          {"annotations", std::move(annotations)}}}});
}

}  // namespace

std::string_view mode_word(std::size_t index) noexcept {
    return index < modes.size() ? modes.at(index) : modes.front();
}

MigrationCauses::MigrationCauses(const asio::any_io_executor& loop, Sources sources,
                                 kube::Client& client, const Clock& clock)
    : sources_(std::move(sources)), client_(client), clock_(clock), told_(client), alarm_(loop) {
    sources_.migrations.on_change([this](const Change& change) { take_change(change); });
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
    const auto recorded = move.annotations.find(migration::cause_annotation).value_or("");
    return !migration::requester_named(recorded) && (!move.is_final() || is_young(move));
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

/// Its VMI, if there is one, the launchers of that, and the node that it leaves.
cluster::Records MigrationCauses::around(const kube::MoveRecord& move, const kube::Vmi* vmi) const {
    cluster::Records records;
    if (vmi != nullptr) {
        records.vmis.push_back(cluster::record_of(*vmi));
        add_launchers(records, records.vmis.front());
    }
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
        vmi && !is_final(move) && sources_.told_to_stop && sources_.told_to_stop(vmi->meta.uid);
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
    const auto wanted = annotations_of(*move, *past);
    const auto options = leader_call(sources_.elector.may_write_for(), write_limit);
    if (move->deletion || has(*move, wanted) || !options) {
        co_return;
    }
    kube::ApplyOptions apply;
    apply.force = true;
    auto body = body_of(*move, wanted);
    const auto answer = co_await client_.apply(target_of(job.space, job.name), std::move(body),
                                               std::move(apply), *options);
    if (answer) {
        if (!is_final(*move) && !is_recorded(*move) && !job.told) {
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
    const auto found = std::find(modes.begin() + 1, modes.end(), past.mode);
    const auto mode = found == modes.end() ? 0 : static_cast<std::size_t>(found - modes.begin());
    ++counters_.at(static_cast<std::size_t>(past.request.requester))
          .at(mode)
          .at(past.phase == "Succeeded" ? 0 : 1);
}

}  // namespace scout::aggregator
