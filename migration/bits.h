// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace scout::migration {

/// A set of small numbers that grows as needed; what lies beyond its end is not in the set. Takes a
/// bit for each number up to the largest: the caller bounds them, as Interner does. Nothing here
/// fails but for want of memory; one thread at a time.
class Bits {
public:
    void set(std::size_t index) {
        const std::size_t word = index / word_bits;
        if (word >= words_.size()) {
            words_.resize(word + 1, 0);
        }
        words_[word] |= mask(index);
    }
    void reset(std::size_t index) {
        if (index / word_bits < words_.size()) {
            words_[index / word_bits] &= ~mask(index);
        }
    }
    [[nodiscard]] bool test(std::size_t index) const {
        return index / word_bits < words_.size() && (words_[index / word_bits] & mask(index)) != 0;
    }
    /// Calls `visit(index)` for each member, in order.
    template <class Visit>
    void for_each(Visit visit) const {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            for (std::uint64_t rest = words_[i]; rest != 0; rest &= rest - 1) {
                visit(i * word_bits + static_cast<std::size_t>(std::countr_zero(rest)));
            }
        }
    }

private:
    static constexpr std::size_t word_bits = 64;
    static std::uint64_t mask(std::size_t index) { return std::uint64_t{1} << (index % word_bits); }

    std::vector<std::uint64_t> words_;
};

}  // namespace scout::migration
