// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "kube/api_error.h"
#include "kube/object_sink.h"
#include "kube/resource.h"
#include "kube/transport.h"

namespace scout::kube {

class JsonObject;
class JsonReader;
class TextPool;

struct ReflectorSettings {
    /// What the server is asked to end a watch after, ± 20 %, so that watches spread over servers.
    std::chrono::milliseconds watch_timeout = std::chrono::minutes{5};
    /// How much longer than that, or than two bookmarks that do not come, a silent watch is waited
    /// for: then the connection is dead.
    std::chrono::milliseconds silence_grace = std::chrono::seconds{30};
    /// For one page of a list, and for the head of a watch.
    std::chrono::milliseconds answer_limit = std::chrono::seconds{60};
    /// Between lines of a streaming list. Over an etcd before 3.4.25 its end may never come.
    std::chrono::milliseconds stream_silence = std::chrono::seconds{15};
    BackoffRange backoff{std::chrono::milliseconds{800}, std::chrono::seconds{30}};
    /// Before another try where a person must act first: a right or the kind is missing.
    std::chrono::milliseconds slow_retry = std::chrono::seconds{60};
    /// So often it is asked again as after a fault: a server that has just started refuses all,
    /// until it has read its roles.
    unsigned doubted_refusals = 5;
    /// What a page of a list should have; its number of objects follows.
    std::size_t page_bytes = std::size_t{4} << 20U;
    bool streaming_lists = true;  ///< tried first; pages where the server refuses
    std::uint64_t seed = 0;       ///< of the jitter; one that differs in each process
};

enum class ReflectorState : std::uint8_t {
    starting,
    watching,
    failing,    ///< the server or the way to it is in trouble; tried again with back-off
    forbidden,  ///< a right is missing; what is known goes stale. Tried again slowly
    absent,     ///< the server has no such kind. Tried again slowly
    unwatched,  ///< the server lists the kind and does not watch it; listed again with back-off
};

struct ReflectorCounters {
    std::uint64_t lists = 0;  ///< complete ones
    std::uint64_t pages = 0;
    std::uint64_t watches = 0;  ///< begun ones, streaming lists included
    std::uint64_t events = 0;   ///< bookmarks apart
    std::uint64_t bookmarks = 0;
    std::uint64_t expired = 0;   ///< versions that the server no longer had (410)
    std::uint64_t restored = 0;  ///< times that the server's history went backwards for good
    std::uint64_t errors = 0;
    std::uint64_t forbidden = 0;  ///< of the errors
};

/// Keeps a sink equal to the server's objects of one kind: lists, then watches from there; lists
/// again when the server has forgotten where we were, and when its versions went backwards.
///
/// Lists are streamed (WatchList) where the server can, else read in pages. Loop thread; all that
/// the constructor takes by reference must outlive the reflector.
class Reflector {
public:
    struct Subject {
        Resource resource;
        Selection selection;
    };

    Reflector(Transport& transport, const Clock& clock, ObjectSink& sink, Subject subject,
              ReflectorSettings settings);
    ~Reflector();
    Reflector(const Reflector&) = delete;
    Reflector& operator=(const Reflector&) = delete;
    Reflector(Reflector&&) = delete;
    Reflector& operator=(Reflector&&) = delete;

    /// Goes on until it is cancelled; errors are retried, counted and logged.
    [[nodiscard]] Task<> run();

    [[nodiscard]] const Resource& resource() const noexcept { return subject_.resource; }
    [[nodiscard]] ReflectorState state() const noexcept { return state_; }
    /// Why it is not watching; empty while it is.
    [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }
    /// Neither list nor watch is allowed any more: what is known grows old without an end.
    [[nodiscard]] bool grows_stale() const noexcept { return unlisted_; }
    [[nodiscard]] const ReflectorCounters& counters() const noexcept { return counters_; }
    /// Up to where the server's history is known; empty before the first list.
    [[nodiscard]] const std::string& version() const noexcept { return version_; }

private:
    /// How a list or a watch ended.
    enum class End : std::uint8_t {
        good,        ///< go on at once
        relist,      ///< the version is of no use any more
        unstreamed,  ///< the server streams no lists
        failed,
        forbidden,
        absent,
        unwatched,  ///< the server does not watch this kind, which it may list
        cancelled,
    };
    struct Outcome {
        End end = End::good;
        std::string why;
        std::optional<std::chrono::milliseconds> wait;  ///< as the server asks
    };
    struct Pages;

    [[nodiscard]] Task<Outcome> turn();
    [[nodiscard]] Task<Outcome> look_for_set_back();
    [[nodiscard]] Task<Outcome> list();
    [[nodiscard]] Task<Outcome> stream_list();
    [[nodiscard]] Task<Outcome> list_pages();
    [[nodiscard]] Task<Outcome> list_once(std::size_t page_bytes);
    [[nodiscard]] Task<Outcome> watch();
    [[nodiscard]] std::chrono::milliseconds silence_limit(std::chrono::milliseconds timeout) const;
    [[nodiscard]] Task<Outcome> read_lines(std::unique_ptr<HttpStream> stream,
                                           std::chrono::milliseconds timeout);
    [[nodiscard]] Task<bool> pause(Outcome outcome);

    [[nodiscard]] HttpRequest watch_request(std::chrono::milliseconds timeout) const;
    [[nodiscard]] HttpRequest page_request(std::size_t limit, std::string_view token = {}) const;
    [[nodiscard]] Outcome take_page(Pages& pages, HttpResponse answer);
    [[nodiscard]] Outcome take_line(std::string_view line);
    void take_object(ChangeKind kind, JsonObject& object);
    [[nodiscard]] Outcome take_bookmark(JsonObject& object);
    [[nodiscard]] Outcome take_error(JsonObject& object);
    [[nodiscard]] Outcome doubt(const std::string& version);
    void accept_list(const std::string& version);
    void take_absence();

    [[nodiscard]] Outcome ended(SteadyTime since, std::uint64_t lines);
    [[nodiscard]] Outcome refusal(std::string_view verb, const HttpHead& head,
                                  const std::string& body);
    [[nodiscard]] Outcome broken(std::string_view verb, Error error);
    [[nodiscard]] CallName call(std::string_view verb) const;
    void say(const Outcome& outcome);
    /// Once: a kind that the server does not have may stay so for good.
    void say_unserved(ReflectorState state, std::string_view what, const std::string& why);
    void say_watching();

    Transport& transport_;
    const Clock& clock_;
    ObjectSink& sink_;
    Subject subject_;
    ReflectorSettings settings_;
    Backoff backoff_;
    std::mt19937_64 random_;
    std::unique_ptr<TextPool> texts_;
    std::unique_ptr<JsonReader> reader_;

    std::string version_;      ///< to watch from; empty: a list is due
    std::string seen_;         ///< the newest version that the server has shown
    bool listing_ = false;     ///< the open stream is still telling what there is
    bool doubted_ = false;     ///< the last list was older than what was seen: one more decides
    bool at_once_ = true;      ///< the next list need not wait
    bool broke_off_ = false;   ///< the last watch did not last: the store may be another one now
    bool bookmarked_ = false;  ///< bookmarks come: a watch without one for long is dead
    bool streaming_ = true;
    std::size_t first_page_ = 100;  ///< objects; fewer after a page over the transport's limit
    bool pages_next_ = false;       ///< a streaming list broke: the next one is read in pages
    unsigned broken_streams_ = 0;   ///< since the last that came to its end
    unsigned absences_ = 0;         ///< in a row
    unsigned refusals_ = 0;         ///< since a watch was open last
    bool only_listed_ = false;      ///< pages were read since a watch was open last
    bool synced_ = false;
    bool unlisted_ = false;  ///< the last list was refused

    ReflectorState state_ = ReflectorState::starting;
    std::string trouble_;
    ReflectorCounters counters_;
};

}  // namespace scout::kube
