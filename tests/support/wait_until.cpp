// SPDX-License-Identifier: Apache-2.0
#include "tests/support/wait_until.h"

#include <chrono>
#include <thread>

namespace scout::test {

bool wait_until(const std::function<bool()>& condition) {
    using namespace std::chrono_literals;
    for (int turn = 0; turn < 1000; ++turn) {
        if (condition()) {
            return true;
        }
        std::this_thread::sleep_for(20ms);
    }
    return condition();
}

}  // namespace scout::test
