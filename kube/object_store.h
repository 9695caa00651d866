// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/object_sink.h"
#include "kube/objects/meta.h"

namespace scout::kube {

enum class FoundBy : std::uint8_t {
    watch,
    list,  ///< the first list, or a later one that found what no watch had told
};

/// An object without its type. The meta lies inside the object.
struct StoredObject {
    std::shared_ptr<const void> object;
    const ObjectMeta* meta = nullptr;
};

/// `before` alone: deleted; `now` alone: added; both: updated. With FoundBy::list an object may
/// have changed several times in between.
struct StoreChange {
    std::shared_ptr<const void> before;
    std::shared_ptr<const void> now;
    FoundBy found_by = FoundBy::watch;
};

struct StoreCounters {
    std::uint64_t undecodable = 0;  ///< times that an object came and could not be read
    std::uint64_t stale = 0;        ///< events that told nothing new: duplicate or out of order
};

/// The objects of one kind as the last list and the events since tell them, by uid. Memory grows
/// with the decoded objects. An object that cannot be decoded keeps its former state (or stays
/// away, if it had none), is counted and named in a warning, at most one in ten seconds.
///
/// Loop thread. Handlers are called after the change is in the store; they may read it.
class ObjectStore final : public ObjectSink {
public:
    using Decoder = std::function<Result<StoredObject>(JsonObject&)>;

    /// The kind's name is for warnings. The clock must outlive the store.
    ObjectStore(std::string kind, Decoder decoder, const Clock& clock);

    void on_change(std::function<void(const StoreChange&)> handler);
    /// Once, when the first list is in the store.
    void on_synced(std::function<void()> handler);

    void list_began(bool doubted) override;
    void listed(ChangeKind kind, const ObjectIdentity& identity, JsonObject& object) override;
    void list_ended() override;
    void list_dropped() override;
    void changed(ChangeKind kind, const ObjectIdentity& identity, JsonObject& object) override;
    void unreadable(const Error& error) override;

    [[nodiscard]] const StoredObject* find_uid(std::string_view uid) const;
    [[nodiscard]] const StoredObject* find(std::string_view space, std::string_view name) const;
    void each(const std::function<void(const StoredObject&)>& visit) const;

    [[nodiscard]] bool synced() const noexcept { return synced_; }
    [[nodiscard]] std::size_t size() const noexcept { return by_uid_.size(); }
    [[nodiscard]] const StoreCounters& counters() const noexcept { return counters_; }

private:
    struct Slot {
        StoredObject stored;
        std::uint64_t listed_in = 0;  ///< the last list that has it
    };
    /// Keys lie in the objects themselves.
    using ByUid = std::unordered_map<std::string_view, Slot>;
    using Name = std::pair<std::string_view, std::string_view>;
    struct NameHash {
        std::size_t operator()(const Name& name) const noexcept;
    };

    [[nodiscard]] std::optional<StoredObject> decode(const ObjectIdentity& identity,
                                                     JsonObject& object);
    void stage(const ObjectIdentity& identity, JsonObject& object);
    void unstage(std::string_view uid);
    void sweep();
    void put(StoredObject now, FoundBy found_by);
    void replace(ByUid::iterator slot, StoredObject now);
    /// `version`: up to which the object is gone; what is newer tells of its return.
    void drop(ByUid::iterator slot, FoundBy found_by, std::string_view version);
    void bury(std::string_view uid, std::string_view version);
    [[nodiscard]] bool is_stale(const ObjectIdentity& identity) const;
    void tell(const StoreChange& change) const;
    void warn(std::string_view name, const Error& error);

    std::string kind_;
    Decoder decoder_;
    const Clock& clock_;
    std::vector<std::function<void(const StoreChange&)>> on_change_;
    std::vector<std::function<void()>> on_synced_;

    ByUid by_uid_;
    std::unordered_map<Name, const StoredObject*, NameHash> by_name_;
    bool synced_ = false;

    /// The list that is under way: what is new or changed in it, in its order.
    std::vector<StoredObject> staged_;
    std::unordered_map<std::string_view, std::size_t> staged_by_uid_;
    std::uint64_t list_ = 0;
    std::uint64_t unreadable_in_list_ = 0;
    bool doubted_ = false;

    /// The last deleted objects by uid, each with the version that it went with, so that late
    /// events do not raise them.
    std::unordered_map<std::string, std::string> graves_;
    std::deque<std::string> grave_order_;

    StoreCounters counters_;
    std::optional<SteadyTime> warned_at_;
    std::uint64_t unsaid_ = 0;
};

}  // namespace scout::kube
