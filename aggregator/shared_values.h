// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace scout::aggregator {

/// Values of which many holders have the same: kept once for each key, gone with the last holder.
/// One thread. The pool holds no value alive itself; keys of values that are gone are swept out
/// when their number has doubled.
template <class T>
class SharedValues {
public:
    using Handle = std::shared_ptr<const T>;

    /// The value with this key, or null.
    [[nodiscard]] Handle find(std::string_view key) const {
        const auto found = values_.find(key);
        return found == values_.end() ? nullptr : found->second.lock();
    }

    /// The one with this key, made from `value` if there is none. Equal keys mean equal values.
    [[nodiscard]] Handle share(std::string_view key, T value) {
        auto& slot = values_[std::string{key}];
        auto held = slot.lock();
        if (!held) {
            held = std::make_shared<const T>(std::move(value));
            slot = held;
            sweep();
        }
        return held;
    }

    /// Values that are alive; counts them.
    [[nodiscard]] std::size_t size() const {
        return static_cast<std::size_t>(
            std::count_if(values_.begin(), values_.end(),
                          [](const auto& entry) { return !entry.second.expired(); }));
    }

private:
    struct KeyHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view key) const noexcept {
            return std::hash<std::string_view>{}(key);
        }
    };

    void sweep() {
        if (values_.size() < sweep_at_) {
            return;
        }
        std::erase_if(values_, [](const auto& entry) { return entry.second.expired(); });
        sweep_at_ = std::max(least_sweep, values_.size() * 2);
    }

    static constexpr std::size_t least_sweep = 64;
    std::unordered_map<std::string, std::weak_ptr<const T>, KeyHash, std::equal_to<>> values_;
    std::size_t sweep_at_ = least_sweep;
};

}  // namespace scout::aggregator
