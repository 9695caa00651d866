// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace scout::migration {

/// Names to small numbers. Counted: a number is free again when its last user lets go, so names
/// that come and go from outside do not add up. Names of any bytes; fewer than 2³² at a time. One
/// thread. Nothing here fails but for want of memory.
class Interner {
public:
    using Id = std::uint32_t;

    /// The number of the name; one more user. `kind` keeps equal names of different things apart.
    [[nodiscard]] Id acquire(char kind, std::string_view name);
    /// One user less. The number must have been acquired as often as it is released.
    void release(Id id);

private:
    struct Slot {
        std::string key;
        std::uint32_t users = 0;
    };
    std::unordered_map<std::string, Id> ids_;
    std::vector<Slot> slots_;
    std::vector<Id> free_;
    std::string key_;  ///< built here, so that a known name costs no allocation
};

}  // namespace scout::migration
