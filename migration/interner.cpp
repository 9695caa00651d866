// SPDX-License-Identifier: Apache-2.0
#include "migration/interner.h"

namespace scout::migration {

Interner::Id Interner::acquire(char kind, std::string_view name) {
    key_.assign(1, kind);
    key_ += name;
    const auto found = ids_.find(key_);
    if (found != ids_.end()) {
        ++slots_[found->second].users;
        return found->second;
    }
    Id id = 0;
    if (free_.empty()) {
        id = static_cast<Id>(slots_.size());
        slots_.emplace_back();
    } else {
        id = free_.back();
        free_.pop_back();
    }
    ids_.emplace(key_, id);
    slots_[id] = {.key = key_, .users = 1};
    return id;
}

void Interner::release(Id id) {
    auto& slot = slots_[id];
    if (--slot.users == 0) {
        ids_.erase(slot.key);
        slot.key.clear();
        free_.push_back(id);
    }
}

}  // namespace scout::migration
