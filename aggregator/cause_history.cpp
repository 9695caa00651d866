// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cause_history.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace scout::aggregator {
namespace {

/// Sentences beyond these, and longer ones, are cut: a kubelet's message may be of any size.
constexpr std::size_t most_evidence = 8;
constexpr std::size_t longest_text = 512;
/// Nodes of the list and of the map, and their allocations.
constexpr std::size_t overhead = 256;

void shorten(std::string& text) {
    if (text.size() > longest_text) {
        auto end = longest_text;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
            --end;  // not in the middle of a character
        }
        text.resize(end);
    }
    text.shrink_to_fit();
}

std::size_t size_of(const KeptEnd& end) {
    std::size_t bytes = sizeof end + end.space.capacity() + end.vmi_name.capacity() +
                        end.vmi_uid.capacity() + end.pod.capacity() + end.pod_uid.capacity() +
                        end.node.capacity() + end.phase.capacity() + end.answer.resource.capacity();
    for (const auto& sentence : end.answer.evidence) {
        bytes += sizeof(std::string) + sentence.capacity();
    }
    return bytes;
}

std::size_t size_of(const KeptMove& kept) {
    const auto& move = kept.move;
    return sizeof kept + kept.space.capacity() + kept.vmi_name.capacity() + kept.uid.capacity() +
           move.name.capacity() + move.phase.capacity() + move.mode.capacity() +
           move.source.capacity() + move.target.capacity() + move.failure.capacity() +
           move.request.user.capacity() + move.request.why.capacity();
}

}  // namespace

void CauseHistory::keep_for(std::chrono::milliseconds keep, WallTime now) {
    keep_ = keep;
    expire(now);
}

void CauseHistory::put(KeptEnd end, WallTime now) {
    auto& evidence = end.answer.evidence;
    if (evidence.size() > most_evidence) {
        evidence.resize(most_evidence);
        evidence.shrink_to_fit();
    }
    std::for_each(evidence.begin(), evidence.end(), shorten);
    shorten(end.answer.resource);
    auto uid = end.pod_uid;
    const auto bytes = size_of(end) + uid.size() + overhead;
    put(Kept{.at = now, .bytes = bytes, .uid = std::move(uid), .what = std::move(end)});
}

void CauseHistory::put(KeptMove move, WallTime now) {
    shorten(move.move.failure);
    shorten(move.move.request.why);
    shorten(move.move.request.user);
    auto uid = move.uid;
    const auto bytes = size_of(move) + uid.size() + overhead;
    put(Kept{.at = now, .bytes = bytes, .uid = std::move(uid), .what = std::move(move)});
}

void CauseHistory::put(Kept kept) {
    if (const auto known = by_uid_.find(kept.uid); known != by_uid_.end()) {
        drop(known->second);
    }
    const auto now = kept.at;
    bytes_ += kept.bytes;
    kept_.push_back(std::move(kept));
    by_uid_[kept_.back().uid] = std::prev(kept_.end());
    while (kept_.size() > limits_.entries || bytes_ > limits_.bytes) {
        drop(kept_.begin());
    }
    expire(now);
}

void CauseHistory::drop(Place place) {
    bytes_ -= place->bytes;
    by_uid_.erase(place->uid);
    kept_.erase(place);
}

/// The wall clock may jump: what seems to be of later than now is as old as if it came now.
void CauseHistory::expire(WallTime now) {
    while (!kept_.empty() && (keep_.count() == 0 || kept_.front().at + keep_ <= now)) {
        drop(kept_.begin());
    }
}

const KeptEnd* CauseHistory::last_end(std::string_view space, std::string_view vmi_name) const {
    const KeptEnd* last = nullptr;
    WallTime at;
    for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
        const auto* const end = std::get_if<KeptEnd>(&kept->what);
        if (end == nullptr || end->space != space || end->vmi_name != vmi_name) {
            continue;
        }
        const auto ended = end->ended.value_or(kept->at);
        if (last == nullptr || ended > at) {
            last = end;
            at = ended;
        }
    }
    return last;
}

const KeptEnd* CauseHistory::end_of_pod(std::string_view space, std::string_view pod) const {
    for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
        const auto* const end = std::get_if<KeptEnd>(&kept->what);
        if (end != nullptr && end->space == space && end->pod == pod) {
            return end;
        }
    }
    return nullptr;
}

const cluster::PastMove* CauseHistory::move(const std::string& uid) const {
    const auto found = by_uid_.find(uid);
    const auto* const kept =
        found == by_uid_.end() ? nullptr : std::get_if<KeptMove>(&found->second->what);
    return kept == nullptr ? nullptr : &kept->move;
}

std::vector<cluster::PastMove> CauseHistory::moves(std::string_view space,
                                                   std::string_view vmi_name) const {
    std::vector<cluster::PastMove> moves;
    for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
        const auto* const move = std::get_if<KeptMove>(&kept->what);
        if (move != nullptr && move->space == space && move->vmi_name == vmi_name) {
            moves.push_back(move->move);
        }
    }
    std::stable_sort(moves.begin(), moves.end(),
                     [](const auto& a, const auto& b) { return a.created > b.created; });
    moves.resize(std::min(moves.size(), most_moves));
    return moves;
}

}  // namespace scout::aggregator
