// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace scout::kube {

/// Where a launcher's command says when it kills its guest, and what (dossier §3.2).
struct LauncherGrace {
    std::chrono::seconds time{0};  ///< after SIGTERM
    std::size_t container = 0;     ///< in spec.containers
    std::size_t word = 0;          ///< in its command, of the word that has the number
    bool joined = false;           ///< that word is "--grace-period-seconds=45", not "45"

    friend bool operator==(const LauncherGrace&, const LauncherGrace&) = default;
};

/// The flag, as it stands in the command of the container "compute".
inline constexpr const char* launcher_grace_flag = "--grace-period-seconds";

}  // namespace scout::kube
