// SPDX-License-Identifier: Apache-2.0
#include "agent/host_history.h"

#include "base/files.h"

namespace scout::agent {
namespace {

constexpr std::size_t record_limit = std::size_t{64} << 10U;

}  // namespace

Recorded record_probe(const std::filesystem::path& state_dir,
                      const hypervisor::HostFingerprint& now) {
    const auto file = state_dir / "fingerprint.json";
    Recorded recorded;
    const auto text = read_file(file, record_limit);
    const auto before = text.and_then(hypervisor::parse_fingerprint);
    if (before) {
        if (*before == now) {
            return recorded;
        }
        recorded.changes = hypervisor::describe_changes(*before, now);
    } else if (before.error().code != Errc::not_found) {
        recorded.set_aside = before.error().message;
    }
    recorded.stored = write_file_atomically(file, hypervisor::format_fingerprint(now));
    return recorded;
}

}  // namespace scout::agent
