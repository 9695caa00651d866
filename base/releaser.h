// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace scout {

/// Deleter of a std::unique_ptr for what a C library hands out: calls its function, and passes over
/// what that answers.
template <auto Release>
struct Releaser {
    template <class T>
    void operator()(T* held) const noexcept {
        static_cast<void>(Release(held));
    }
};

}  // namespace scout
