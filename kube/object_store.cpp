// SPDX-License-Identifier: Apache-2.0
#include "kube/object_store.h"

#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "kube/resource_version.h"

namespace scout::kube {
namespace {

constexpr std::chrono::seconds warning_interval{10};
constexpr std::size_t most_graves = 1024;
/// In the place of a list's number: a streaming list brought the object's deletion.
constexpr std::uint64_t told_deleted = 0;

std::pair<std::string_view, std::string_view> name_of(const ObjectMeta& meta) {
    return {meta.space.view(), meta.name};
}

bool is_newer(std::string_view version, std::string_view than) {
    const auto order = compare_versions(version, than);
    return order == VersionOrder::newer || order == VersionOrder::unknown;
}

std::string full_name(std::string_view space, std::string_view name) {
    return space.empty() ? std::string{name} : std::string{space} + "/" + std::string{name};
}

}  // namespace

ObjectStore::ObjectStore(std::string kind, Decoder decoder, const Clock& clock)
    : kind_(std::move(kind)), decoder_(std::move(decoder)), clock_(clock) {}

void ObjectStore::on_change(std::function<void(const StoreChange&)> handler) {
    on_change_.push_back(std::move(handler));
}

void ObjectStore::on_synced(std::function<void()> handler) {
    on_synced_.push_back(std::move(handler));
}

void ObjectStore::list_began(bool doubted) {
    list_dropped();
    ++list_;
    doubted_ = doubted;
}

void ObjectStore::list_dropped() {
    staged_by_uid_.clear();
    staged_ = {};
    unreadable_in_list_ = 0;
}

void ObjectStore::listed(ChangeKind kind, const ObjectIdentity& identity, JsonObject& object) {
    const auto known = by_uid_.find(identity.uid);
    if (kind == ChangeKind::deleted) {
        unstage(identity.uid);
        bury(identity.uid, identity.version);
        if (known != by_uid_.end()) {
            known->second.listed_in = told_deleted;
        }
        return;
    }
    if (known != by_uid_.end()) {
        known->second.listed_in = list_;
        if (!doubted_ && compare_versions(identity.version, known->second.stored.meta->version) ==
                             VersionOrder::equal) {
            unstage(identity.uid);
            return;
        }
    }
    stage(identity, object);
}

void ObjectStore::stage(const ObjectIdentity& identity, JsonObject& object) {
    const auto staged = staged_by_uid_.find(identity.uid);
    if (staged != staged_by_uid_.end() &&
        !is_newer(identity.version, staged_[staged->second].meta->version)) {
        ++counters_.stale;
        return;
    }
    auto now = decode(identity, object);
    if (!now) {
        return;
    }
    unstage(identity.uid);
    staged_by_uid_.emplace(now->meta->uid, staged_.size());
    staged_.push_back(std::move(*now));
}

void ObjectStore::unstage(std::string_view uid) {
    const auto staged = staged_by_uid_.find(uid);
    if (staged != staged_by_uid_.end()) {
        const auto place = staged->second;
        staged_by_uid_.erase(staged);
        staged_[place] = {};
    }
}

void ObjectStore::list_ended() {
    sweep();
    if (doubted_) {
        graves_.clear();
        grave_order_.clear();
    }
    auto staged = std::exchange(staged_, {});
    for (auto& now : staged) {
        if (now.meta != nullptr) {
            put(std::move(now), FoundBy::list);
        }
    }
    list_dropped();
    if (!std::exchange(synced_, true)) {
        for (const auto& handler : on_synced_) {
            handler();
        }
    }
}

void ObjectStore::sweep() {
    if (unreadable_in_list_ > 0) {
        spdlog::warn(
            "list has objects without a readable name, so none is taken for deleted "
            "kind={} count={}",
            kind_, unreadable_in_list_);
    }
    std::vector<std::string> gone;
    for (const auto& [uid, slot] : by_uid_) {
        const bool unlisted = slot.listed_in != list_ && unreadable_in_list_ == 0;
        if (unlisted || slot.listed_in == told_deleted) {
            gone.emplace_back(uid);
        }
    }
    for (const auto& uid : gone) {
        const auto slot = by_uid_.find(uid);
        drop(slot, FoundBy::list, slot->second.stored.meta->version);
    }
}

void ObjectStore::changed(ChangeKind kind, const ObjectIdentity& identity, JsonObject& object) {
    if (kind == ChangeKind::deleted) {
        const auto known = by_uid_.find(identity.uid);
        if (known == by_uid_.end()) {
            ++counters_.stale;
            bury(identity.uid, identity.version);
        } else if (compare_versions(identity.version, known->second.stored.meta->version) ==
                   VersionOrder::older) {
            // It went before it came back.
            ++counters_.stale;
        } else {
            drop(known, FoundBy::watch, identity.version);
        }
        return;
    }
    if (is_stale(identity)) {
        ++counters_.stale;
        return;
    }
    if (auto now = decode(identity, object)) {
        put(std::move(*now), FoundBy::watch);
    }
}

void ObjectStore::unreadable(const Error& error) {
    ++unreadable_in_list_;
    warn("?", error);
}

bool ObjectStore::is_stale(const ObjectIdentity& identity) const {
    const auto known = by_uid_.find(identity.uid);
    if (known != by_uid_.end()) {
        return !is_newer(identity.version, known->second.stored.meta->version);
    }
    // An object that left the selection comes back with its uid, and a newer version than it went
    // with. All else that is told of a buried one is late.
    const auto grave = graves_.find(std::string{identity.uid});
    return grave != graves_.end() &&
           compare_versions(identity.version, grave->second) != VersionOrder::newer;
}

void ObjectStore::put(StoredObject now, FoundBy found_by) {
    const auto namesake = by_name_.find(name_of(*now.meta));
    if (namesake != by_name_.end() && namesake->second->meta->uid != now.meta->uid) {
        drop(by_uid_.find(namesake->second->meta->uid), found_by, now.meta->version);
    }
    StoreChange change{.now = now.object, .found_by = found_by};
    const auto known = by_uid_.find(now.meta->uid);
    if (known != by_uid_.end()) {
        change.before = known->second.stored.object;
        replace(known, std::move(now));
    } else {
        const std::string_view uid = now.meta->uid;
        const auto slot = by_uid_.emplace(uid, Slot{std::move(now), list_}).first;
        const auto& stored = slot->second.stored;
        by_name_.emplace(name_of(*stored.meta), &stored);
    }
    tell(change);
}

void ObjectStore::replace(ByUid::iterator slot, StoredObject now) {
    // Both keys lie in the object that goes: they are taken out before it is.
    by_name_.erase(name_of(*slot->second.stored.meta));
    auto node = by_uid_.extract(slot);
    node.key() = now.meta->uid;
    node.mapped().stored = std::move(now);
    const auto& stored = by_uid_.insert(std::move(node)).position->second.stored;
    by_name_.emplace(name_of(*stored.meta), &stored);
}

void ObjectStore::drop(ByUid::iterator slot, FoundBy found_by, std::string_view version) {
    // Holds the object, in which the keys lie, until all is told.
    const auto last = slot->second.stored;
    by_name_.erase(name_of(*last.meta));
    by_uid_.erase(slot);
    bury(last.meta->uid, version);
    tell({.before = last.object, .found_by = found_by});
}

void ObjectStore::bury(std::string_view uid, std::string_view version) {
    const auto [grave, is_new] = graves_.emplace(uid, version);
    if (!is_new) {
        if (compare_versions(version, grave->second) != VersionOrder::older) {
            grave->second = version;
        }
        return;
    }
    grave_order_.emplace_back(uid);
    if (grave_order_.size() > most_graves) {
        graves_.erase(grave_order_.front());
        grave_order_.pop_front();
    }
}

std::optional<StoredObject> ObjectStore::decode(const ObjectIdentity& identity,
                                                JsonObject& object) {
    auto now = decoder_(object);
    if (!now) {
        warn(full_name(identity.space, identity.name), now.error());
        return std::nullopt;
    }
    return std::move(*now);
}

const StoredObject* ObjectStore::find_uid(std::string_view uid) const {
    const auto found = by_uid_.find(uid);
    return found == by_uid_.end() ? nullptr : &found->second.stored;
}

const StoredObject* ObjectStore::find(std::string_view space, std::string_view name) const {
    const auto found = by_name_.find(Name{space, name});
    return found == by_name_.end() ? nullptr : found->second;
}

void ObjectStore::each(const std::function<void(const StoredObject&)>& visit) const {
    for (const auto& [uid, slot] : by_uid_) {
        visit(slot.stored);
    }
}

void ObjectStore::tell(const StoreChange& change) const {
    for (const auto& handler : on_change_) {
        handler(change);
    }
}

void ObjectStore::warn(std::string_view name, const Error& error) {
    ++counters_.undecodable;
    const auto now = clock_.steady();
    if (warned_at_ && now - *warned_at_ < warning_interval) {
        ++unsaid_;
        return;
    }
    spdlog::warn(
        "object cannot be read and keeps its former state kind={} name={} error={} "
        "others_since={}",
        kind_, log_value(name), log_value(error.message), unsaid_);
    warned_at_ = now;
    unsaid_ = 0;
}

std::size_t ObjectStore::NameHash::operator()(const Name& name) const noexcept {
    const auto space = std::hash<std::string_view>{}(name.first);
    return space * 31 + std::hash<std::string_view>{}(name.second);
}

}  // namespace scout::kube
