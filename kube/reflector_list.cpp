// SPDX-License-Identifier: Apache-2.0
// The reflector's lists, and what it makes of answers that are none.
#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "kube/json.h"
#include "kube/list_document.h"
#include "kube/query.h"
#include "kube/reflector.h"
#include "kube/resource_version.h"
#include "kube/watch_event.h"

namespace scout::kube {
namespace {

constexpr std::size_t smallest_page = 20;
constexpr std::size_t largest_page = 5000;
// Each try has pages four times as large, so that it needs less time: versions expire within
// minutes.
constexpr unsigned most_tries = 3;
constexpr std::size_t page_growth = 4;

/// The first one, and that which is no doubt any more.
void tell_refusal(unsigned number, unsigned doubted, const std::string& kind,
                  const std::string& why) {
    if (number == 1) {
        spdlog::warn(
            "refused, asked again: a right is missing, or the server has just started kind={} "
            "error={}",
            kind, why);
    } else if (number == doubted + 1) {
        spdlog::error(
            "a right is missing: what is known of this kind goes stale until the account's role "
            "has it kind={} error={}",
            kind, why);
    }
}

/// Objects differ: a page of small ones says little of the next, which may be too large.
std::size_t next_limit(std::size_t limit, std::size_t wanted, std::size_t first) {
    const auto most = std::min(largest_page, limit * page_growth);
    const auto least = std::min({smallest_page, first, most});
    return std::clamp(wanted, least, most);
}

}  // namespace

/// One list under way.
struct Reflector::Pages {
    std::size_t bytes = 0;
    std::size_t limit = 0;  ///< objects of the next page
    std::string version;
    std::string token;  ///< of the next page
};

// The 410 in the middle of a list offers a token to go on from a newer version. It is not taken:
// what changed in between among the objects before it would never be told.
Task<Reflector::Outcome> Reflector::list_pages() {
    Outcome outcome;
    std::size_t bytes = settings_.page_bytes;
    for (unsigned tries = 0; tries < most_tries; ++tries) {
        outcome = co_await list_once(bytes);
        if (outcome.end != End::relist) {
            break;
        }
        bytes *= page_growth;
    }
    co_return outcome;
}

Task<Reflector::Outcome> Reflector::list_once(std::size_t page_bytes) {
    Pages pages{.bytes = page_bytes, .limit = first_page_};
    sink_.list_began(doubted_);
    do {
        auto request = page_request(pages.limit, pages.token);
        auto answer = co_await transport_.send(std::move(request), settings_.answer_limit);
        if (!answer && answer.error().code == Errc::invalid) {
            first_page_ = std::max<std::size_t>(1, first_page_ / 2);
        }
        auto outcome = answer ? take_page(pages, std::move(*answer))
                              : broken("list", std::move(answer.error()));
        if (outcome.end != End::good) {
            sink_.list_dropped();
            co_return outcome;
        }
    } while (!pages.token.empty());
    accept_list(pages.version);
    only_listed_ = true;
    co_return Outcome{};
}

/// A watch from a version that a store has not reached yet is silent until it has, and what went
/// away with the versions in between is never told. Without a version asked for the answer is as
/// new as the store.
Task<Reflector::Outcome> Reflector::look_for_set_back() {
    auto request = page_request(1);
    auto answer = co_await transport_.send(std::move(request), settings_.answer_limit);
    if (!answer) {
        co_return broken("list", std::move(answer.error()));
    }
    if (answer->head.status != 200) {
        co_return refusal("list", answer->head, answer->body);
    }
    const auto list = split_list(PaddedText::of(answer->body));
    if (list && compare_versions(list->version, version_) == VersionOrder::older) {
        co_return Outcome{.end = End::relist,
                          .why = to_text(call("list")) + ": expected version " + version_ +
                                 " or newer, found " + list->version};
    }
    co_return Outcome{};
}

HttpRequest Reflector::page_request(std::size_t limit, std::string_view token) const {
    Query query;
    query.add("limit", std::to_string(limit))
        .add("continue", token)
        .add("labelSelector", subject_.selection.labels)
        .add("fieldSelector", subject_.selection.fields);
    HttpRequest request;
    request.target = collection_path(subject_.resource, subject_.selection.space) + query.text();
    return request;
}

Reflector::Outcome Reflector::take_page(Pages& pages, HttpResponse answer) {
    if (answer.head.status != 200) {
        return refusal("list", answer.head, answer.body);
    }
    auto list = split_list(PaddedText::of(answer.body));
    if (!list || list->version.empty()) {
        return {.end = End::failed,
                .why = to_text(call("list")) + ": " +
                       (list ? "expected a list with a resourceVersion, found none"
                             : list.error().message)};
    }
    ++counters_.pages;
    if (pages.version.empty()) {
        if (auto outcome = doubt(list->version); outcome.end != End::good) {
            return outcome;
        }
        pages.version = list->version;
    }
    for (const auto& item : list->items) {
        auto object = reader_->parse(item);
        auto identity = object ? read_identity(*object) : fail(std::move(object.error()));
        if (identity) {
            sink_.listed(ChangeKind::added, *identity, *object);
        } else {
            sink_.unreadable(identity.error());
        }
    }
    if (!list->items.empty()) {
        const auto object_bytes = std::max<std::size_t>(1, answer.body.size() / list->items.size());
        pages.limit = next_limit(pages.limit, pages.bytes / object_bytes, first_page_);
    }
    if (!pages.token.empty() && list->continue_token == pages.token) {
        return {
            .end = End::failed,
            .why = to_text(call("list")) + ": expected another page, found the same one's token"};
    }
    pages.token = std::move(list->continue_token);
    return {};
}

Reflector::Outcome Reflector::doubt(const std::string& version) {
    if (doubted_ || compare_versions(version, seen_) != VersionOrder::older) {
        return {};
    }
    doubted_ = true;
    return {.end = End::relist,
            .why = to_text(call("list")) + ": expected version " + seen_ + " or newer, found " +
                   version + ", asking once more"};
}

void Reflector::accept_list(const std::string& version) {
    const bool restored = compare_versions(version, seen_) == VersionOrder::older;
    if (restored) {
        ++counters_.restored;
        spdlog::warn(
            "server went back to an older state, taken for a restored backup kind={} "
            "from={} to={}",
            display_name(subject_.resource), log_value(seen_), log_value(version));
    }
    ++counters_.lists;
    doubted_ = false;
    broke_off_ = false;
    synced_ = true;
    unlisted_ = false;
    absences_ = 0;
    pages_next_ = false;
    version_ = version;
    seen_ = version;
    sink_.list_ended();
}

/// A kind that is not served has no objects. One answer is not believed: it may come from a server
/// that is just being set up.
void Reflector::take_absence() {
    ++absences_;
    if (absences_ == 2) {
        synced_ = true;
        sink_.list_began(false);
        sink_.list_ended();
    }
}

Reflector::Outcome Reflector::refusal(std::string_view verb, const HttpHead& head,
                                      const std::string& body) {
    const auto error = api_error(call(verb), head, body);
    Outcome outcome{.end = End::failed, .why = error.error.message, .wait = error.retry_after};
    if (head.status == 410) {
        ++counters_.expired;
        outcome.end = End::relist;
    } else if (head.status == 403) {
        outcome.end = End::forbidden;
    } else if (verb == "watch" && (head.status == 405 || (head.status == 404 && only_listed_))) {
        outcome.end = End::unwatched;
    } else if (head.status == 404) {
        outcome.end = End::absent;
    } else if (says_version_too_large(body)) {
        // Not at once: a server that lags needs a moment.
        at_once_ = false;
        outcome.end = End::relist;
    }
    return outcome;
}

Reflector::Outcome Reflector::broken(std::string_view verb, Error error) {
    if (error.code == Errc::cancelled) {
        return {.end = End::cancelled};
    }
    return {.end = End::failed, .why = api_error(call(verb), std::move(error)).error.message};
}

CallName Reflector::call(std::string_view verb) const {
    return {.verb = std::string{verb},
            .resource = subject_.resource,
            .object = {.space = subject_.selection.space}};
}

void Reflector::say(const Outcome& outcome) {
    const auto kind = display_name(subject_.resource);
    const auto why = log_value(outcome.why);
    switch (outcome.end) {
        case End::good:
        case End::cancelled:
            return;
        case End::relist:
            spdlog::info("listing again kind={} why={}", kind, why);
            return;
        case End::unstreamed:
        case End::failed:
            ++counters_.errors;
            spdlog::log(
                state_ == ReflectorState::failing ? spdlog::level::debug : spdlog::level::warn,
                "watching failed, trying again kind={} error={}", kind, why);
            state_ = ReflectorState::failing;
            break;
        case End::forbidden:
            ++counters_.errors;
            ++counters_.forbidden;
            tell_refusal(++refusals_, settings_.doubted_refusals, kind, why);
            state_ = ReflectorState::forbidden;
            break;
        case End::absent:
            say_unserved(ReflectorState::absent, "the server does not serve this kind", why);
            break;
        case End::unwatched:
            say_unserved(ReflectorState::unwatched,
                         "the server does not watch this kind, so it is listed again and again",
                         why);
            break;
    }
    trouble_ = outcome.why;
}

void Reflector::say_unserved(ReflectorState state, std::string_view what, const std::string& why) {
    ++counters_.errors;
    if (std::exchange(state_, state) != state) {
        spdlog::warn("{} kind={} error={}", what, display_name(subject_.resource), why);
    }
}

void Reflector::say_watching() {
    if (state_ != ReflectorState::watching) {
        spdlog::info("watching kind={} version={}", display_name(subject_.resource),
                     log_value(version_));
    }
    state_ = ReflectorState::watching;
    only_listed_ = false;
    refusals_ = 0;
    trouble_.clear();
}

}  // namespace scout::kube
