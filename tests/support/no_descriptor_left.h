// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace scout::test {

/// While it is in scope this process can open nothing more, or so few things.
class NoDescriptorLeft {
public:
    /// False under UBSan, whose look at an object's type takes descriptors itself (a pipe).
    static const bool possible;

    explicit NoDescriptorLeft(unsigned few = 0);
    ~NoDescriptorLeft();
    NoDescriptorLeft(const NoDescriptorLeft&) = delete;
    NoDescriptorLeft& operator=(const NoDescriptorLeft&) = delete;
    NoDescriptorLeft(NoDescriptorLeft&&) = delete;
    NoDescriptorLeft& operator=(NoDescriptorLeft&&) = delete;

private:
    rlimit before_{};
};

}  // namespace scout::test
