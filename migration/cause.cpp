// SPDX-License-Identifier: Apache-2.0
#include "migration/cause.h"

#include <algorithm>
#include <utility>

#include "migration/cause_order.h"
#include "migration/cause_votes.h"

namespace scout::migration {
namespace {

/// Weighs what was said.
class Judgement {
public:
    explicit Judgement(const CauseFacts& facts) : facts_(facts), said_(hear(facts)) {}

    [[nodiscard]] CauseAnswer judge();

private:
    using Votes = std::vector<Vote>;
    [[nodiscard]] WallTime began(Votes::const_iterator last) const;
    void judge_told();
    void judge_hints();
    void judge_deletion();
    void judge_silence();
    void judge_unseen();
    void excuse_hints();
    void decide(const Vote& vote);
    void doubt_owner();
    void put_first(const std::string& sentence);

    /// The launcher ended, or ends.
    [[nodiscard]] bool goes() const {
        return said_.ended || facts_.pod_deleting || facts_.told_to_stop || has_lost_node(facts_);
    }
    [[nodiscard]] bool is_deletion(Deletion whose) const {
        return facts_.vmi_deleting && deletion_of(facts_) == whose;
    }
    void say(std::string sentence) { said_.say(std::move(sentence)); }

    const CauseFacts& facts_;
    Testimony said_;
    bool contradicted_ = false;
    CauseAnswer answer_;
};

void Judgement::decide(const Vote& vote) {
    answer_.cause = vote.cause;
    answer_.resource = vote.resource;
    put_first(vote.evidence);
}

/// As what decides is.
void Judgement::put_first(const std::string& sentence) {
    auto& all = said_.evidence;
    const auto found = std::find(all.begin(), all.end(), sentence);
    if (found != all.end()) {
        std::rotate(all.begin(), found, found + 1);
    }
}

/// When the first one of those before `last` began; the epoch: none of them is dated.
WallTime Judgement::began(Votes::const_iterator last) const {
    WallTime first{};
    for (auto vote = said_.told.cbegin(); vote != last; ++vote) {
        if (vote->at != WallTime{} && (first == WallTime{} || vote->at < first)) {
            first = vote->at;
        }
    }
    return first;
}

void Judgement::judge_told() {
    // The owner's deletion comes before what it brought about, and after what brought it about. A
    // kubelet dates its condition anew when all containers have ended: the earliest word counts.
    const auto owner =
        std::stable_partition(said_.told.begin(), said_.told.end(),
                              [](const Vote& vote) { return vote.cause != Cause::owner_delete; });
    if (owner != said_.told.end() && owner->at != WallTime{} && owner->at < began(owner)) {
        std::iter_swap(said_.told.begin(), owner);
    }
    const auto& first = said_.told.front();
    decide(first);
    answer_.certain = true;
    for (const auto& vote : said_.told) {
        if (answer_.resource.empty() && vote.cause == first.cause) {
            answer_.resource = vote.resource;
        }
        const bool same = vote.cause == first.cause &&
                          (vote.resource.empty() || vote.resource == answer_.resource);
        if (!same) {
            answer_.certain = false;
            contradicted_ = true;
        }
    }
    const bool node_is_back =
        first.cause == Cause::node_removed && facts_.nodes_known && facts_.node_there;
    if (node_is_back) {
        answer_.certain = false;
        say("contradiction: the Node object " + facts_.node + " is there (made anew?)");
    }
    if (contradicted_) {
        say("contradiction: the evidence names more than one cause");
    }
}

/// Nobody said it, but something may have been the cause: the one that most speaks for, if the
/// launcher ended or ends at all.
void Judgement::judge_hints() {
    const auto votes_for = [this](const Vote& vote) {
        return std::count_if(said_.hinted.begin(), said_.hinted.end(),
                             [&vote](const Vote& each) { return each.cause == vote.cause; });
    };
    const auto best = std::max_element(
        said_.hinted.begin(), said_.hinted.end(),
        [&votes_for](const Vote& a, const Vote& b) { return votes_for(a) < votes_for(b); });
    decide(*best);
    for (const auto& vote : said_.hinted) {
        if (vote.cause == best->cause && answer_.resource.empty()) {
            answer_.resource = vote.resource;
        }
        if (vote.cause != best->cause && !contradicted_) {
            contradicted_ = true;
            say("contradiction: the evidence allows more than one cause");
        }
    }
    answer_.certain = false;
}

/// Of a guest that shut down when its VMI was deleted, before by the clocks: it was told to, unless
/// they differ.
void Judgement::judge_deletion() {
    const auto owner = std::find_if(said_.hinted.begin(), said_.hinted.end(), [](const Vote& vote) {
        return vote.cause == Cause::owner_delete;
    });
    decide(*owner);
    answer_.certain = false;
}

void Judgement::judge_unseen() {
    answer_.cause = Cause::unknown;
    say(facts_.unseen);
    put_first(facts_.unseen);
}

/// Of what runs on, what may end a launcher is told as what it is.
void Judgement::excuse_hints() {
    for (const auto& vote : said_.hinted) {
        const auto found = std::find(said_.evidence.begin(), said_.evidence.end(), vote.evidence);
        if (found != said_.evidence.end()) {
            *found += " (has not ended it)";
        }
    }
}

void Judgement::judge_silence() {
    if (!goes() && !has_left(facts_) && facts_.pod_there) {
        excuse_hints();
    }
    if (!goes() && !has_left(facts_) && !facts_.unseen.empty()) {
        judge_unseen();
        return;
    }
    if (has_left(facts_) || !goes()) {
        const auto perhaps = has_left(facts_) ? std::string{} : facts_.perhaps_unseen;
        if (!perhaps.empty()) {
            say(perhaps);
        }
        answer_.certain = facts_.pod_there && perhaps.empty();
        put_first(perhaps.empty() ? left_text(facts_) : perhaps);
        return;
    }
    if ((said_.guest_ended || said_.guest_crashed) && !is_pod_deleted_first(facts_)) {
        answer_.cause = Cause::guest_shutdown;
        // A probe's kill leaves its trace in Events alone.
        answer_.certain = said_.guest_ended && facts_.events_known && facts_.pod_there &&
                          facts_.vmi_there && said_.hinted.empty() &&
                          !is_deletion(Deletion::perhaps_after);
        if (!facts_.events_known) {
            say("no Events: a kill by a liveness probe would look the same");
        }
        return;
    }
    answer_.cause = Cause::unknown;
    if (!facts_.events_known) {
        say("no Events: what the kubelet told is missing");
    }
}

/// Right behind what decides, so that it is read with it.
void Judgement::doubt_owner() {
    auto& all = said_.evidence;
    const auto place = std::min<std::ptrdiff_t>(std::ssize(all), 1);
    all.insert(all.begin() + place,
               "names of launchers are cut to 58 characters: this one may have "
               "been of VM " +
                   facts_.perhaps_of);
    answer_.certain = false;
}

CauseAnswer Judgement::judge() {
    const bool by_itself = said_.guest_ended && !is_pod_deleted_first(facts_);
    const bool with_vmi = by_itself && is_deletion(Deletion::perhaps_owners);
    if (!said_.told.empty()) {
        judge_told();
    } else if (goes() && !has_left(facts_) && with_vmi) {
        judge_deletion();
    } else if (goes() && !has_left(facts_) && !by_itself && !said_.hinted.empty()) {
        judge_hints();
    } else {
        judge_silence();
    }
    if (!facts_.perhaps_of.empty()) {
        doubt_owner();
    }
    answer_.ended = said_.ended;
    answer_.evidence = std::move(said_.evidence);
    return std::move(answer_);
}

}  // namespace

CauseAnswer find_cause(const CauseFacts& facts) {
    return Judgement(facts).judge();
}

}  // namespace scout::migration
