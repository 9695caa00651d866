// SPDX-License-Identifier: Apache-2.0
#include "kube/shared_text.h"

#include <algorithm>

namespace scout::kube {
namespace {

// Longer ones are messages: seldom equal, and not worth a place.
constexpr std::size_t longest_pooled = 512;
constexpr std::size_t least_sweep = 1024;

}  // namespace

SharedText::SharedText(std::string_view text) : body_(text.empty() ? nullptr : new Body(text)) {}

SharedText TextPool::get(std::string_view text) {
    if (text.empty() || text.size() > longest_pooled) {
        return SharedText{text};
    }
    const auto known = texts_.find(text);
    if (known != texts_.end()) {
        return *known;
    }
    if (texts_.size() >= sweep_at_) {
        sweep();
    }
    return *texts_.emplace(text).first;
}

void TextPool::sweep() {
    std::erase_if(texts_, [](const SharedText& text) { return !text.is_shared(); });
    sweep_at_ = std::max(least_sweep, texts_.size() * 2);
}

}  // namespace scout::kube
