// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

namespace scout::kube {

/// An unchangeable text of pointer size, for what thousands of objects repeat: label keys, phases,
/// node names. Copies share the bytes. Any thread.
class SharedText {
public:
    SharedText() = default;
    explicit SharedText(std::string_view text);

    [[nodiscard]] std::string_view view() const noexcept {
        return body_ ? std::string_view{body_->text} : std::string_view{};
    }
    [[nodiscard]] bool empty() const noexcept { return !body_; }
    [[nodiscard]] std::string str() const { return std::string{view()}; }

    /// True while some copy of it lives.
    [[nodiscard]] bool is_shared() const noexcept { return body_ && body_->use_count() > 1; }

    friend bool operator==(const SharedText& a, const SharedText& b) noexcept {
        return a.body_ == b.body_ || a.view() == b.view();
    }
    friend bool operator==(const SharedText& a, std::string_view b) noexcept {
        return a.view() == b;
    }
    friend auto operator<=>(const SharedText& a, const SharedText& b) noexcept {
        return a.view() <=> b.view();
    }

private:
    struct Body : boost::intrusive_ref_counter<Body, boost::thread_safe_counter> {
        explicit Body(std::string_view value) : text(value) {}
        std::string text;
    };

    boost::intrusive_ptr<const Body> body_;
};

/// Gives equal texts the same bytes. Texts that nobody holds any more are forgotten by and by, so
/// the pool is at most twice what is in use. One thread.
class TextPool {
public:
    [[nodiscard]] SharedText get(std::string_view text);

    [[nodiscard]] std::size_t size() const noexcept { return texts_.size(); }

private:
    /// Not noexcept: only then does libstdc++ keep the hashes beside the texts. Else each look-up
    /// hashes the neighbours in the bucket as well, a fifth of the CPU of a list of nodes.
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
        std::size_t operator()(const SharedText& text) const { return (*this)(text.view()); }
    };
    struct Equal {
        using is_transparent = void;
        bool operator()(const SharedText& a, const SharedText& b) const noexcept { return a == b; }
        bool operator()(const SharedText& a, std::string_view b) const noexcept { return a == b; }
        bool operator()(std::string_view a, const SharedText& b) const noexcept { return b == a; }
    };

    void sweep();

    std::unordered_set<SharedText, Hash, Equal> texts_;
    std::size_t sweep_at_ = 1024;
};

}  // namespace scout::kube
