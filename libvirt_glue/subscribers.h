// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "libvirt_glue/hypervisor.h"

namespace scout::hypervisor {

/// Handlers of one kind of news. Loop thread. Handlers may subscribe and unsubscribe while they are
/// being called; one that was taken off is not called any more.
template <class News>
class Subscribers {
public:
    [[nodiscard]] Subscription add(std::function<void(const News&)> handler) {
        auto entry = std::make_shared<Entry>();
        entry->handler = std::move(handler);
        entries_->push_back(entry);
        return Subscription([entries = std::weak_ptr<Entries>(entries_), entry] {
            entry->ended = true;
            if (const auto all = entries.lock()) {
                all->erase(std::remove(all->begin(), all->end(), entry), all->end());
            }
        });
    }

    void tell(const News& news) const {
        const Entries now = *entries_;
        for (const auto& entry : now) {
            if (!entry->ended) {
                entry->handler(news);
            }
        }
    }

private:
    struct Entry {
        std::function<void(const News&)> handler;
        bool ended = false;
    };
    using Entries = std::vector<std::shared_ptr<Entry>>;

    std::shared_ptr<Entries> entries_ = std::make_shared<Entries>();
};

}  // namespace scout::hypervisor
