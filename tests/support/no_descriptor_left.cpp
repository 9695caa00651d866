// SPDX-License-Identifier: Apache-2.0
#include "tests/support/no_descriptor_left.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace scout::test {
namespace {

void check(int answer) {
    if (answer < 0) {
        throw std::system_error(errno, std::generic_category());
    }
}

constexpr bool has_undefined_behavior_sanitizer() {
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
    return true;
#endif
#endif
    return false;
}

}  // namespace

const bool NoDescriptorLeft::possible = !has_undefined_behavior_sanitizer();

NoDescriptorLeft::NoDescriptorLeft(unsigned few) {
    check(::getrlimit(RLIMIT_NOFILE, &before_));
    const int next_free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    check(next_free);
    ::close(next_free);
    auto full = before_;
    full.rlim_cur = static_cast<rlim_t>(next_free) + few;
    check(::setrlimit(RLIMIT_NOFILE, &full));
}

NoDescriptorLeft::~NoDescriptorLeft() {
    ::setrlimit(RLIMIT_NOFILE, &before_);
}

}  // namespace scout::test
