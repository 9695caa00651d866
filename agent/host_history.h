// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "libvirt_glue/host_fingerprint.h"

namespace scout::agent {

/// What became of a probe that was put on record.
struct Recorded {
    std::vector<std::string> changes;  ///< since the probe before, sentences for people
    Status stored;                     ///< an error: the next start will not know of this probe
    std::string set_aside;             ///< why the record before could not be used; or empty
};

/// Compares a probe with the one before on this host and keeps it for the next one, in
/// `fingerprint.json` of the state folder. A damaged record is replaced. Blocking.
[[nodiscard]] Recorded record_probe(const std::filesystem::path& state_dir,
                                    const hypervisor::HostFingerprint& now);

}  // namespace scout::agent
