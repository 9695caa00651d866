// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace scout::hypervisor {

/// What of a host can change what its hypervisor can run, and the answer of a probe that was made
/// under it. Texts as the kernel prints them; empty: this host does not say.
struct HostFingerprint {
    std::string microcode;       ///< `microcode` of /proc/cpuinfo, "0x2007006"; x86 only
    std::string kernel;          ///< release
    std::string bios;            ///< "version (date)"
    std::string source;          ///< URI that was probed: only answers of one source compare
    std::string software;        ///< "libvirt 9.0.0, hypervisor 7.2.19"
    std::string profile_digest;  ///< migration::digest of the probe's profile

    friend bool operator==(const HostFingerprint&, const HostFingerprint&) = default;
};

/// Reads microcode, kernel and BIOS below a root folder: proc/cpuinfo, proc/sys/kernel/osrelease,
/// sys/class/dmi/id/bios_version and bios_date. Never fails: what can't be read stays empty.
[[nodiscard]] HostFingerprint read_host_fingerprint(const std::filesystem::path& root);

/// Sentences for people about what changed on this host between two probes of the same source,
/// empty if nothing did. "microcode changed 0x1 -> 0x2: …" with what it means for KubeVirt's labels
/// (its labeller runs only when virt-handler starts, dossier §5.1). A fact that one side does not
/// have is no change; nor is another source.
[[nodiscard]] std::vector<std::string> describe_changes(const HostFingerprint& before,
                                                        const HostFingerprint& now);

/// The state file's text (JSON, one object, with a version).
[[nodiscard]] std::string format_fingerprint(const HostFingerprint& fingerprint);

/// Errors: invalid (not ours, damaged, a later version); start anew then.
[[nodiscard]] Result<HostFingerprint> parse_fingerprint(std::string_view text);

}  // namespace scout::hypervisor
