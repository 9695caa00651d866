// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "cluster/cause_story.h"
#include "migration/cause.h"

namespace scout::aggregator {

/// A launcher that ended, and what ended it.
struct KeptEnd {
    std::string space;
    std::string vmi_name;
    std::string vmi_uid;
    std::string pod;
    std::string pod_uid;
    std::string node;
    std::string phase;  ///< the pod's last one that was seen
    std::optional<WallTime> ended;
    migration::CauseAnswer answer;
};

/// A migration, as it was seen last.
struct KeptMove {
    std::string space;
    std::string vmi_name;
    std::string uid;
    cluster::PastMove move;
};

/// What became of launchers and migrations, after their objects are gone too. The oldest goes when
/// its time is over, and when there are too many or they are too large. Loop thread.
class CauseHistory {
public:
    struct Limits {
        std::size_t entries = 20'000;
        std::size_t bytes = std::size_t{16} << 20U;
    };
    static constexpr std::chrono::milliseconds default_keep = std::chrono::hours{24};
    /// Of one VM, in an answer.
    static constexpr std::size_t most_moves = 50;

    CauseHistory() = default;
    explicit CauseHistory(Limits limits) : limits_(limits) {}

    /// From now on, of what is kept too; 0: nothing is kept.
    void keep_for(std::chrono::milliseconds keep, WallTime now);
    [[nodiscard]] std::chrono::milliseconds keep() const noexcept { return keep_; }

    /// In the place of what was told of the same pod or VMIM before.
    void put(KeptEnd end, WallTime now);
    void put(KeptMove move, WallTime now);
    /// Lets go what is too old.
    void expire(WallTime now);

    /// The last end of that VM, or what was told last of that pod. Null: of none. Valid until
    /// something changes. After a start all come at once, in no order.
    [[nodiscard]] const KeptEnd* last_end(std::string_view space, std::string_view vmi_name) const;
    [[nodiscard]] const KeptEnd* end_of_pod(std::string_view space, std::string_view pod) const;
    /// By the uid of its VMIM.
    [[nodiscard]] const cluster::PastMove* move(const std::string& uid) const;
    /// The youngest first.
    [[nodiscard]] std::vector<cluster::PastMove> moves(std::string_view space,
                                                       std::string_view vmi_name) const;

    [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    struct Kept {
        WallTime at;
        std::size_t bytes = 0;
        std::string uid;
        std::variant<KeptEnd, KeptMove> what;
    };
    using Place = std::list<Kept>::iterator;

    void put(Kept kept);
    void drop(Place place);

    Limits limits_;
    std::chrono::milliseconds keep_ = default_keep;
    std::list<Kept> kept_;  ///< the oldest first
    std::unordered_map<std::string, Place> by_uid_;
    std::size_t bytes_ = 0;
};

}  // namespace scout::aggregator
