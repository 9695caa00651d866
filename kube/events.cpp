// SPDX-License-Identifier: Apache-2.0
#include "kube/events.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <spdlog/fmt/fmt.h>

namespace scout::kube {
namespace {

// Limits of events.k8s.io/v1 and of object names.
constexpr std::size_t longest_word = 128;
constexpr std::size_t longest_note = 1024;
constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_suffix = 17;

/// At most so many bytes, and no broken character at the end.
void cut(std::string& text, std::size_t limit) {
    if (text.size() <= limit) {
        return;
    }
    std::size_t end = limit;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
        --end;
    }
    text.resize(end);
}

}  // namespace

std::optional<EventWrite> EventSeries::take(EventNote note, SteadyTime now, WallTime wall) {
    cut(note.reason, longest_word);
    cut(note.action, longest_word);
    cut(note.note, longest_note);
    const auto known = series_.find(note);
    if (known != series_.end()) {
        auto& series = known->second;
        ++series.record.count;
        series.record.last = wall;
        series.seen = now;
        if (series.written_count > 1) {
            return std::nullopt;
        }
        series.written_count = series.record.count;
        series.written = now;
        return EventWrite{EventWrite::Verb::update, series.record};
    }
    if (!may_tell(note.regarding, now)) {
        ++dropped_;
        return std::nullopt;
    }
    make_room();
    EventRecord record{.space = note.regarding.space.empty() ? "default" : note.regarding.space,
                       .name = event_name(note, wall),
                       .note = note,
                       .time = wall,
                       .last = wall};
    EventWrite write{EventWrite::Verb::create, record};
    series_.emplace(std::move(note),
                    Series{.record = std::move(record), .written = now, .seen = now});
    return write;
}

std::vector<EventWrite> EventSeries::due(SteadyTime now) {
    std::vector<EventWrite> writes;
    for (auto entry = series_.begin(); entry != series_.end();) {
        auto& series = entry->second;
        const bool ended = now - series.seen >= limits_.finish;
        const bool unsaid = series.record.count > series.written_count;
        if (unsaid && (ended || now - series.written >= limits_.refresh)) {
            series.written_count = series.record.count;
            series.written = now;
            writes.push_back({EventWrite::Verb::update, series.record});
        }
        entry = ended ? series_.erase(entry) : std::next(entry);
    }
    return writes;
}

bool EventSeries::may_tell(const ObjectReference& source, SteadyTime now) {
    if (buckets_.size() >= limits_.sources && !buckets_.contains(source)) {
        std::erase_if(buckets_, [this, now](const auto& entry) {
            return tokens(entry.second, now) >= limits_.burst;
        });
        if (buckets_.size() >= limits_.sources) {
            buckets_.erase(buckets_.begin());
        }
    }
    auto& bucket = buckets_.try_emplace(source, Bucket{limits_.burst, now}).first->second;
    bucket.tokens = tokens(bucket, now);
    bucket.filled = now;
    if (bucket.tokens < 1) {
        return false;
    }
    bucket.tokens -= 1;
    return true;
}

double EventSeries::tokens(const Bucket& bucket, SteadyTime now) const {
    const std::chrono::duration<double> passed = now - bucket.filled;
    return std::min(limits_.burst,
                    bucket.tokens + passed / std::chrono::duration<double>{limits_.refill});
}

void EventSeries::make_room() {
    if (series_.size() < limits_.series) {
        return;
    }
    series_.erase(std::min_element(
        series_.begin(), series_.end(),
        [](const auto& a, const auto& b) { return a.second.seen < b.second.seen; }));
}

std::string EventSeries::event_name(const EventNote& note, WallTime wall) {
    // Nanoseconds as client-go's names have them; ours are counted up within the millisecond.
    const std::chrono::nanoseconds time = wall.time_since_epoch();
    std::string name = note.regarding.name;
    cut(name, longest_name - longest_suffix);
    return fmt::format("{}.{:x}", name,
                       time.count() + static_cast<std::int64_t>(numbered_++ % 1'000'000));
}

}  // namespace scout::kube
