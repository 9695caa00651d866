// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace scout::kube {

/// The object that an event is about.
struct ObjectReference {
    std::string api_version;
    std::string kind;
    std::string space;
    std::string name;
    std::string uid;

    auto operator<=>(const ObjectReference&) const = default;
};

/// What somebody wants to tell about an object. Two that are equal are one event that happened
/// again.
struct EventNote {
    ObjectReference regarding;
    std::optional<ObjectReference> related;
    bool warning = false;
    std::string reason;  ///< in CamelCase, at most 128 bytes
    std::string action;  ///< what we did or did not do, at most 128 bytes
    std::string note;    ///< for people; cut at 1,024 bytes

    auto operator<=>(const EventNote&) const = default;
};

/// An events.k8s.io/v1 Event of ours.
struct EventRecord {
    std::string space;
    std::string name;
    EventNote note;
    WallTime time;
    std::int64_t count = 1;  ///< above 1: a series
    WallTime last;           ///< of the series
};

struct EventWrite {
    enum class Verb : std::uint8_t { create, update };
    Verb verb = Verb::create;
    EventRecord record;
};

struct EventLimits {
    std::size_t series = 4096;    ///< that are remembered
    std::size_t sources = 16384;  ///< objects whose rate is remembered
    double burst = 25;            ///< new events about one object at once, as client-go has it
    std::chrono::seconds refill = std::chrono::minutes{5};    ///< for one more
    std::chrono::seconds refresh = std::chrono::minutes{30};  ///< between writes of a long series
    std::chrono::seconds finish = std::chrono::minutes{6};    ///< of silence end a series
};

/// Turns notes into as few writes as client-go does: the first is an event, the second makes it a
/// series of 2, more of them only count, until the series is refreshed or ends. Pure; memory is
/// bounded by the limits.
class EventSeries {
public:
    explicit EventSeries(EventLimits limits = {}) : limits_(limits) {}

    /// What to write now, if anything.
    [[nodiscard]] std::optional<EventWrite> take(EventNote note, SteadyTime now, WallTime wall);
    /// Series that are due. Ask about once a minute.
    [[nodiscard]] std::vector<EventWrite> due(SteadyTime now);

    /// Events that were about an object of which too much was told already.
    [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
    [[nodiscard]] std::size_t size() const noexcept { return series_.size(); }

private:
    struct Series {
        EventRecord record;
        std::int64_t written_count = 1;
        SteadyTime written;
        SteadyTime seen;
    };
    struct Bucket {
        double tokens;
        SteadyTime filled;
    };

    [[nodiscard]] bool may_tell(const ObjectReference& source, SteadyTime now);
    [[nodiscard]] double tokens(const Bucket& bucket, SteadyTime now) const;
    void make_room();
    [[nodiscard]] std::string event_name(const EventNote& note, WallTime wall);

    EventLimits limits_;
    std::map<EventNote, Series> series_;
    std::map<ObjectReference, Bucket> buckets_;
    std::uint64_t numbered_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace scout::kube
