// SPDX-License-Identifier: Apache-2.0
#include "kube/reflector.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "kube/json.h"
#include "kube/query.h"
#include "kube/resource_version.h"
#include "kube/watch_event.h"

namespace scout::kube {
namespace {

// A server that ends watches sooner would be asked in a loop.
constexpr std::chrono::seconds short_watch{1};
// Servers send a bookmark about once a minute. A watch that was silent for longer may wait for a
// version that will not come: the history was set back below it.
constexpr std::chrono::minutes bookmark_interval{1};
constexpr int most_missed_bookmarks = 2;
// How much sooner than asked for a watch may end that was not broken off.
constexpr std::chrono::seconds punctual{2};
constexpr std::uint64_t lines_in_a_row = 64;
constexpr unsigned most_broken_streams = 3;
constexpr double jitter = 0.2;

}  // namespace

Reflector::Reflector(Transport& transport, const Clock& clock, ObjectSink& sink, Subject subject,
                     ReflectorSettings settings)
    : transport_(transport),
      clock_(clock),
      sink_(sink),
      subject_(std::move(subject)),
      settings_(settings),
      backoff_(settings.seed, settings.backoff),
      random_(settings.seed),
      texts_(std::make_unique<TextPool>()),
      reader_(std::make_unique<JsonReader>(*texts_)),
      streaming_(settings.streaming_lists) {}

Reflector::~Reflector() = default;

Task<> Reflector::run() {
    for (;;) {
        auto outcome = co_await turn();
        say(outcome);
        if (outcome.end == End::forbidden) {
            unlisted_ = version_.empty();
        }
        if (outcome.end == End::absent) {
            unlisted_ = false;  // that there are none is known
            take_absence();
        }
        if (outcome.end == End::relist || outcome.end == End::forbidden ||
            outcome.end == End::absent || outcome.end == End::unwatched) {
            // Without a watch only another list tells what is new.
            version_.clear();
        }
        const bool goes_on = co_await pause(std::move(outcome));
        if (!goes_on) {
            co_return;
        }
    }
}

Task<Reflector::Outcome> Reflector::turn() {
    if (version_.empty()) {
        auto listed = co_await list();
        if (listed.end != End::good) {
            co_return listed;
        }
    }
    if (broke_off_) {
        auto looked = co_await look_for_set_back();
        if (looked.end != End::good) {
            co_return looked;
        }
        broke_off_ = false;
    }
    auto watched = co_await watch();
    co_return watched;
}

Task<Reflector::Outcome> Reflector::list() {
    if (streaming_ && !pages_next_ && broken_streams_ < most_broken_streams) {
        auto streamed = co_await stream_list();
        // A streaming list is a watch: it needs the right to that, and a server that watches the
        // kind. Without them pages still tell how things are, and whether there is such a kind.
        const bool may_page = streamed.end == End::unstreamed || streamed.end == End::forbidden ||
                              streamed.end == End::unwatched || streamed.end == End::absent;
        if (!may_page) {
            co_return streamed;
        }
    }
    auto listed = co_await list_pages();
    co_return listed;
}

Task<Reflector::Outcome> Reflector::stream_list() {
    sink_.list_began(doubted_);
    listing_ = true;
    auto outcome = co_await watch();
    if (!std::exchange(listing_, false)) {
        co_return outcome;
    }
    sink_.list_dropped();
    if (outcome.end == End::good) {
        outcome.end = End::failed;
        outcome.why = to_text(call("watch")) + ": the server ended the list before it was complete";
    }
    co_return outcome;
}

Task<Reflector::Outcome> Reflector::watch() {
    const auto timeout = jittered(settings_.watch_timeout, jitter, random_);
    auto request = watch_request(timeout);
    ++counters_.watches;
    broke_off_ = true;
    auto stream = co_await transport_.open(std::move(request), settings_.answer_limit);
    if (!stream) {
        co_return broken("watch", std::move(stream.error()));
    }
    const HttpHead head = (*stream)->head();
    if (listing_ && (head.status == 200 || head.status >= 500)) {
        // Until the list is complete this stream counts as one that broke.
        pages_next_ = true;
        ++broken_streams_;
    }
    if (head.status == 200) {
        const auto since = clock_.steady();
        auto outcome = co_await read_lines(std::move(*stream), timeout);
        broke_off_ = outcome.end != End::good || clock_.steady() - since + punctual < timeout;
        co_return outcome;
    }
    const auto body = co_await (*stream)->rest(settings_.answer_limit);
    if (!body && body.error().code == Errc::cancelled) {
        co_return Outcome{.end = End::cancelled};
    }
    if (listing_ && (head.status == 400 || head.status == 422)) {
        streaming_ = false;
        spdlog::info("server does not stream lists, reading pages kind={} status={}",
                     display_name(subject_.resource), head.status);
        co_return Outcome{.end = End::unstreamed};
    }
    co_return refusal("watch", head, body ? *body : std::string{});
}

/// Something on the way may keep a watch open whose server is gone. Where bookmarks come, their
/// absence tells.
std::chrono::milliseconds Reflector::silence_limit(std::chrono::milliseconds timeout) const {
    if (listing_) {
        return settings_.stream_silence;
    }
    const std::chrono::milliseconds missed{most_missed_bookmarks * bookmark_interval};
    return (bookmarked_ ? std::min(timeout, missed) : timeout) + settings_.silence_grace;
}

Task<Reflector::Outcome> Reflector::read_lines(std::unique_ptr<HttpStream> stream,
                                               std::chrono::milliseconds timeout) {
    const auto loop = co_await asio::this_coro::executor;
    const auto since = clock_.steady();
    if (!listing_) {
        say_watching();
    }
    for (std::uint64_t lines = 0;; ++lines) {
        const auto limit = silence_limit(timeout);
        const auto line = co_await stream->next_line(limit);
        if (!line) {
            bookmarked_ = bookmarked_ && lines > 0;
            co_return broken("watch", line.error());
        }
        const auto& text = *line;
        if (!text) {
            co_return ended(since, lines);
        }
        auto outcome = take_line(*text);
        if (outcome.end != End::good) {
            co_return outcome;
        }
        if (!listing_ && clock_.steady() - since >= short_watch) {
            at_once_ = true;
            backoff_.reset();
        }
        if (lines % lines_in_a_row == lines_in_a_row - 1) {
            // A flood of events must not keep the loop from everything else.
            co_await asio::post(loop, asio::use_awaitable);
        }
    }
}

Reflector::Outcome Reflector::take_line(std::string_view line) {
    auto event = parse_watch_line(*reader_, PaddedText::promised(line));
    if (!event) {
        // Whatever it was is lost: only a list can make up for it.
        at_once_ = false;
        return {.end = End::relist,
                .why = to_text(call("watch")) + ": expected a watch event, found " +
                       event.error().message};
    }
    if (event->kind == WatchKind::error) {
        return take_error(event->object);
    }
    switch (event->kind) {
        case WatchKind::added:
            take_object(ChangeKind::added, event->object);
            return {};
        case WatchKind::modified:
            take_object(ChangeKind::modified, event->object);
            return {};
        case WatchKind::deleted:
            take_object(ChangeKind::deleted, event->object);
            return {};
        case WatchKind::bookmark:
        case WatchKind::error:
            break;
    }
    return take_bookmark(event->object);
}

void Reflector::take_object(ChangeKind kind, JsonObject& object) {
    ++counters_.events;
    const auto identity = read_identity(object);
    if (!identity) {
        sink_.unreadable(identity.error());
        return;
    }
    // The version lies in the line, which the sink leaves alone.
    if (listing_) {
        sink_.listed(kind, *identity, object);
        return;
    }
    sink_.changed(kind, *identity, object);
    const auto order = compare_versions(identity->version, version_);
    if (order == VersionOrder::newer || order == VersionOrder::unknown) {
        version_ = identity->version;
        seen_ = version_;
    }
}

Reflector::Outcome Reflector::take_bookmark(JsonObject& object) {
    ++counters_.bookmarks;
    const auto bookmark = read_bookmark(object);
    if (!bookmark || bookmark->version.empty()) {
        return {};
    }
    if (listing_) {
        if (!bookmark->ends_list) {
            return {};
        }
        pages_next_ = false;
        broken_streams_ = 0;
        auto outcome = doubt(bookmark->version);
        if (outcome.end == End::good) {
            listing_ = false;
            accept_list(bookmark->version);
            say_watching();
        }
        return outcome;
    }
    if (compare_versions(bookmark->version, version_) == VersionOrder::older) {
        return {.end = End::relist,
                .why = to_text(call("watch")) + ": the server's version went back from " +
                       version_ + " to " + bookmark->version};
    }
    bookmarked_ = true;
    version_ = bookmark->version;
    seen_ = version_;
    return {};
}

Reflector::Outcome Reflector::take_error(JsonObject& object) {
    const auto error = read_stream_error(object);
    if (!error) {
        return {.end = End::failed, .why = to_text(call("watch")) + ": " + error.error().message};
    }
    HttpHead head;
    head.status = error->code;
    return refusal("watch", head, error->body);
}

Reflector::Outcome Reflector::ended(SteadyTime since, std::uint64_t lines) {
    const auto lasted = clock_.steady() - since;
    if (lines == 0 && lasted >= bookmark_interval) {
        return {.end = End::relist,
                .why = to_text(call("watch")) + ": not even a bookmark came in the whole watch"};
    }
    if (lasted >= short_watch) {
        backoff_.reset();
        return {};
    }
    if (lines == 0) {
        return {.end = End::failed,
                .why = to_text(call("watch")) + ": the server ended the watch at once"};
    }
    return {.wait = settings_.backoff.least};
}

HttpRequest Reflector::watch_request(std::chrono::milliseconds timeout) const {
    const auto seconds = std::max(std::chrono::seconds{1},
                                  std::chrono::duration_cast<std::chrono::seconds>(timeout));
    Query query;
    query.add("watch", "1")
        .add("allowWatchBookmarks", "true")
        .add("timeoutSeconds", std::to_string(seconds.count()))
        .add("labelSelector", subject_.selection.labels)
        .add("fieldSelector", subject_.selection.fields);
    if (listing_) {
        // Without a version: as new as the store behind the server.
        query.add("sendInitialEvents", "true").add("resourceVersionMatch", "NotOlderThan");
    } else {
        query.add("resourceVersion", version_);
    }
    HttpRequest request;
    request.target = collection_path(subject_.resource, subject_.selection.space) + query.text();
    return request;
}

Task<bool> Reflector::pause(Outcome outcome) {
    std::chrono::milliseconds wait{0};
    switch (outcome.end) {
        case End::good:
            wait = outcome.wait.value_or(wait);
            break;
        case End::relist:
            wait = std::exchange(at_once_, false) ? wait : backoff_.next();
            break;
        case End::unstreamed:
        case End::unwatched:
        case End::failed:
            wait = std::max(backoff_.next(), outcome.wait.value_or(wait));
            break;
        case End::absent:
            // Who starts must not wait long for the answer that decides.
            wait = !synced_ ? backoff_.next() : jittered(settings_.slow_retry, jitter, random_);
            break;
        case End::forbidden:
            wait = refusals_ <= settings_.doubted_refusals
                       ? backoff_.next()
                       : jittered(settings_.slow_retry, jitter, random_);
            break;
        case End::cancelled:
            co_return false;
    }
    asio::steady_timer timer(co_await asio::this_coro::executor, wait);
    const auto [error] = co_await timer.async_wait(as_result);
    co_return !error;
}

}  // namespace scout::kube
