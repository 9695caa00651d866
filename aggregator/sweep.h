// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "aggregator/registry.h"

namespace scout::aggregator {

/// One question about every node, answered in turns, so that thousands of nodes do not hold up the
/// loop. Nodes come in the order of their names; one that comes or goes between two turns is in the
/// answer or is not. Loop thread; the registry outlives it.
template <class Response>
class Sweep {
public:
    using Take = std::function<void(const Node&, Response&)>;

    /// `begun` is what the answer has before its first node; `only` names the one node that is
    /// asked about, empty: all.
    Sweep(const Registry& registry, Take take, Response begun = {}, std::string only = {})
        : registry_(&registry),
          take_(std::move(take)),
          answer_(std::move(begun)),
          only_(std::move(only)) {}

    /// True if that was the last turn.
    [[nodiscard]] bool turn() {
        if (!only_.empty()) {
            if (const auto* node = registry_->find(only_)) {
                take_(*node, answer_);
            }
            return true;
        }
        const auto& nodes = registry_->nodes();
        std::size_t taken = 0;
        for (auto it = nodes.upper_bound(after_); it != nodes.end(); ++it) {
            if (taken >= turn_limit) {
                return false;
            }
            take_(it->second, answer_);
            after_ = it->first;
            taken += 1 + it->second.guests.size();
        }
        return true;
    }
    [[nodiscard]] Response& answer() noexcept { return answer_; }
    /// All turns at once.
    [[nodiscard]] Response all() && {
        while (!turn()) {
        }
        return std::move(answer_);
    }

private:
    /// Nodes and guests of one turn: some ms, also where every node costs a comparison of its own.
    static constexpr std::size_t turn_limit = 500;

    const Registry* registry_;
    Take take_;
    Response answer_;
    std::string only_;
    std::string after_;  ///< names have at least one byte
};

}  // namespace scout::aggregator
