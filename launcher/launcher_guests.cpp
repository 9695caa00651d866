// SPDX-License-Identifier: Apache-2.0
#include "launcher/launcher_guests.h"

#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "base/shield.h"

namespace scout::launcher {
namespace {

using hypervisor::Connection;
using hypervisor::GuestEvent;
using hypervisor::GuestState;
using hypervisor::Reach;

/// Folders of pods lie on the node's own disk: what takes longer is a dead mount.
constexpr std::chrono::seconds folder_limit{5};
/// Answers of one moment become one comparison.
constexpr std::chrono::milliseconds gather{100};
/// A pod's folder comes before the folders in it: after a change one more look follows, then others
/// at twice the distance each, until the ordinary ones are as near.
constexpr std::chrono::milliseconds first_look_again{1'000};
constexpr std::chrono::milliseconds quiet{50};
/// As long as a resync may take beyond one call.
constexpr std::chrono::seconds resync_limit{60};

/// Runs the function when it goes.
template <class Fn>
class AtEnd {
public:
    explicit AtEnd(Fn fn) : fn_(std::move(fn)) {}
    ~AtEnd() { fn_(); }
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;
    AtEnd(AtEnd&&) = delete;
    AtEnd& operator=(AtEnd&&) = delete;

private:
    Fn fn_;
};

std::vector<std::filesystem::path> folders_of(const std::filesystem::path& pods_dir,
                                              const std::vector<LauncherSocket>& launchers) {
    std::vector<std::filesystem::path> folders{pods_dir};
    for (const auto& launcher : launchers) {
        folders.push_back(pods_dir / launcher.pod_uid / sockets_folder);
    }
    return folders;
}

}  // namespace

LauncherGuests::LauncherGuests(LauncherConfig config, asio::any_io_executor loop,
                               BlockingPool& pool, const Clock& clock)
    : config_(std::move(config)),
      loop_(std::move(loop)),
      pool_(pool),
      clock_(clock),
      home_(loop_),
      table_(config_.ask),
      folders_(loop_, config_.pods_dir),
      turn_(loop_) {
    state_.since = clock_.wall();
    resync_at_ = clock_.steady() + config_.resync;
}

Task<Result<hypervisor::HostDocuments>> LauncherGuests::probe() {
    co_return fail(Errc::refused,
                   "launchers tell of their guests, not of what their host can run: KubeVirt's "
                   "labeller files or another libvirt do");
}

Result<std::vector<GuestState>> LauncherGuests::guests() const {
    if (state_.reach == Reach::connecting) {
        return fail(Errc::unavailable, "guests below " + config_.pods_dir.string() +
                                           " are not known since " + rfc3339(state_.since) +
                                           (state_.reason.empty() ? ": launchers are being asked"
                                                                  : ": " + state_.reason));
    }
    return inventory_.guests();
}

Task<Status> LauncherGuests::resync() {
    if (!looked_) {
        co_return fail(Errc::unavailable,
                       config_.pods_dir.string() + " cannot be read: " +
                           (state_.reason.empty() ? "not tried yet" : state_.reason));
    }
    const auto now = clock_.steady();
    auto waiter = std::make_shared<Waiter>(loop_, now);
    waiter->done.expires_after(resync_limit);
    waiters_.push_back(waiter);
    table_.ask_all(now);
    turn_.ring();
    const auto [error] = co_await waiter->done.async_wait(as_result);
    std::erase(waiters_, waiter);
    if (auto& outcome = waiter->outcome; outcome.has_value()) {
        co_return std::move(outcome.value());
    }
    co_return error ? fail(Errc::cancelled, "gave up waiting for the launchers")
                    : fail(Errc::timed_out, "not all launchers could be asked in time");
}

Task<> LauncherGuests::run() {
    co_await asio::this_coro::throw_if_cancelled(false);
    scope_ = std::make_unique<TaskScope>(loop_);
    scope_->spawn("launcher folders", [this] { return follow_folders(); });
    scope_->spawn("launcher calls", [this] { return ask_in_turn(); });
    asio::steady_timer forever(loop_, asio::steady_timer::time_point::max());
    co_await forever.async_wait(as_result);
    co_await shield(scope_->close());
    links_.clear();
}

Task<> LauncherGuests::follow_folders() {
    auto again = first_look_again;
    for (;;) {
        auto look = [pods_dir = config_.pods_dir] { return find_launchers(pods_dir); };
        const auto found = co_await offload(pool_, folder_limit, std::move(look));
        if (found) {
            looked(*found);
        } else {
            lost(found.error());
        }
        turn_.ring();
        const bool came = co_await folders_.wait(std::min(again, config_.look), quiet);
        again = came ? first_look_again : std::min(2 * again, config_.look);
    }
}

void LauncherGuests::looked(const std::vector<LauncherSocket>& found) {
    looked_ = true;
    const bool changed = table_.found(found, clock_.steady());
    changed_ = changed || changed_;
    folders_.watch(folders_of(config_.pods_dir, found));
    std::erase_if(links_, [this](const auto& link) {
        const auto now = table_.launchers().find(link.first);
        return now == table_.launchers().end() || now->second.socket != link.second->socket;
    });
    if (changed) {
        news_.tell(table_);
    }
    end_prompts();
}

void LauncherGuests::lost(const Error& error) {
    ++state_.attempts;
    state_.reason = error.message;
    looked_ = false;
    const bool was_connected = state_.reach == Reach::connected;
    if (was_connected) {
        state_.reach = Reach::unreachable;
        state_.since = clock_.wall();
        changed_ = true;
    }
    watchers_.tell(Connection(state_));
    if (was_connected) {
        tell(inventory_.lost(state_.since));
    }
    end_waits();
}

Task<> LauncherGuests::ask_in_turn() {
    for (bool going = true; going;) {
        for (auto& question : table_.take_due(clock_.steady())) {
            scope_->spawn("launcher call",
                          [this, asked = std::move(question)] { return ask(asked); });
        }
        publish_if_due();
        going = co_await turn_.wait(until_next());
    }
}

std::chrono::milliseconds LauncherGuests::until_next() const {
    auto next = std::min(table_.next_due(), resync_at_);
    if (changed_ && may_publish()) {
        next = std::min(next, publish_at_);
    }
    const auto span = std::chrono::ceil<std::chrono::milliseconds>(next - clock_.steady());
    return std::max(span, std::chrono::milliseconds{0});
}

Task<> LauncherGuests::ask(Question question) {
    Result<std::optional<Domain>> answer = fail(Errc::internal, "the call ended by itself");
    const AtEnd end([this, &question, &answer] {
        count(question, answer);
        if (table_.answered(question, std::move(answer), clock_.steady())) {
            if (!std::exchange(changed_, true)) {
                publish_at_ = clock_.steady() + gather;
            }
            news_.tell(table_);
        }
        end_prompts();
        turn_.ring();
    });
    answer = co_await domain_of(question.socket);
}

void LauncherGuests::count(const Question& question, const Result<std::optional<Domain>>& answer) {
    if (!answer && answer.error().code == Errc::timed_out) {
        ++counters_.stuck_calls;
    }
    if (answer && question.failing) {
        spdlog::info("launcher answers again pod={}", log_value(question.socket.pod_uid));
    } else if (!answer && !question.failing && answer.error().code != Errc::cancelled) {
        spdlog::warn("launcher does not answer pod={} error={}", log_value(question.socket.pod_uid),
                     log_value(answer.error().message));
    }
}

Task<Result<std::optional<Domain>>> LauncherGuests::domain_of(LauncherSocket socket) {
    auto linked = co_await link_to(socket);
    if (!linked) {
        co_return fail(std::move(linked.error()));
    }
    const auto link = *std::move(linked);
    auto domain = co_await link->client->domain();
    // A connection that broke does not come back; one that is slow is kept, for a new one would
    // only wait in its launcher's queue too.
    if (!domain && domain.error().code != Errc::timed_out) {
        drop(link);
    }
    co_return domain;
}

void LauncherGuests::drop(const std::shared_ptr<Link>& link) {
    const auto now = links_.find(link->socket.pod_uid);
    if (now != links_.end() && now->second == link) {
        links_.erase(now);
    }
}

Task<Result<std::shared_ptr<LauncherGuests::Link>>> LauncherGuests::link_to(LauncherSocket socket) {
    const auto known = links_.find(socket.pod_uid);
    auto link = known == links_.end() ? nullptr : known->second;
    if (!link || link->socket != socket) {
        auto work = [pods_dir = config_.pods_dir, socket] {
            return connect_launcher(pods_dir, socket);
        };
        auto connected = co_await offload(pool_, folder_limit, std::move(work));
        if (!connected) {
            co_return fail(std::move(connected.error()));
        }
        auto client = LauncherClient::open(home_, *std::move(connected), config_.calls);
        if (!client) {
            co_return fail(std::move(client.error()));
        }
        link = std::make_shared<Link>();
        link->socket = socket;
        link->client = *std::move(client);
        links_.insert_or_assign(socket.pod_uid, link);
    }
    if (!link->shaken) {
        auto shaken = co_await link->client->handshake();
        if (!shaken) {
            if (shaken.error().code != Errc::timed_out) {
                drop(link);
            }
            co_return fail(std::move(shaken.error()));
        }
        link->shaken = true;
    }
    co_return link;
}

bool LauncherGuests::is_answered(const Prompt& prompt) const {
    return std::all_of(prompt.pods.begin(), prompt.pods.end(), [this, &prompt](const auto& pod) {
        return table_.asked_since(pod, prompt.since);
    });
}

void LauncherGuests::end_prompts() {
    for (const auto& prompt : prompts_) {
        if (is_answered(*prompt)) {
            prompt->done.cancel();
        }
    }
}

Task<> LauncherGuests::ask_now(std::vector<std::string> pods, std::chrono::milliseconds limit) {
    const auto prompt = std::make_shared<Prompt>(loop_, std::move(pods), clock_.steady());
    for (const auto& pod : prompt->pods) {
        table_.hurry(pod, prompt->since);
    }
    if (is_answered(*prompt)) {
        co_return;
    }
    turn_.ring();
    prompt->done.expires_after(limit);
    prompts_.push_back(prompt);
    co_await prompt->done.async_wait(as_result);
    std::erase(prompts_, prompt);
}

Task<Result<std::shared_ptr<LauncherGuests::Link>>> LauncherGuests::link_to_pod(
    std::string pod_uid) {
    const auto known = table_.launchers().find(pod_uid);
    if (known == table_.launchers().end() || known->second.socket.state != SocketState::ready) {
        co_return fail(Errc::not_found, "launcher of pod " + pod_uid + ": it cannot be asked");
    }
    auto linked = co_await link_to(known->second.socket);
    co_return linked;
}

Task<Result<std::optional<DomainStats>>> LauncherGuests::stats(std::string pod_uid) {
    auto linked = co_await link_to_pod(std::move(pod_uid));
    if (!linked) {
        co_return fail(std::move(linked.error()));
    }
    const auto link = *std::move(linked);
    auto stats = co_await link->client->stats();
    co_return stats;
}

Task<Result<std::uint64_t>> LauncherGuests::dirty_rate(std::string pod_uid) {
    auto linked = co_await link_to_pod(std::move(pod_uid));
    if (!linked) {
        co_return fail(std::move(linked.error()));
    }
    const auto link = *std::move(linked);
    auto rate = co_await link->client->dirty_rate();
    co_return rate;
}

/// At the start everybody is waited for, so that no guest seems to be missing; later nobody.
bool LauncherGuests::may_publish() const {
    return looked_ && (state_.reach != Reach::connecting || table_.all_asked_since(SteadyTime{}));
}

void LauncherGuests::publish_if_due() {
    const auto now = clock_.steady();
    if (!may_publish()) {
        return;
    }
    if (now >= resync_at_) {
        resync_at_ = now + config_.resync;
        ++counters_.resyncs;
        changed_ = true;
        publish_at_ = now;
    }
    if (changed_ && now >= publish_at_) {
        publish();
    }
    end_waits();
}

void LauncherGuests::publish() {
    changed_ = false;
    const auto events = inventory_.resynced(table_.guests(), clock_.wall());
    if (state_.reach != Reach::connected) {
        counters_.reconnects += state_.reach == Reach::unreachable ? 1 : 0;
        state_ = {.reach = Reach::connected, .since = clock_.wall(), .reason = {}, .attempts = 0};
        watchers_.tell(Connection(state_));
    }
    tell(events);
}

void LauncherGuests::end_waits() {
    for (const auto& waiter : waiters_) {
        if (waiter->outcome || (looked_ && !table_.all_asked_since(waiter->since))) {
            continue;
        }
        if (looked_ && changed_) {
            publish();
        }
        waiter->outcome = looked_ ? Status{} : fail(Errc::unavailable, state_.reason);
        waiter->done.cancel();
    }
}

void LauncherGuests::tell(const std::vector<GuestEvent>& events) {
    for (const auto& event : events) {
        events_.tell(event);
    }
}

}  // namespace scout::launcher
