// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/host_fingerprint.h"

#include <fstream>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/files.h"

namespace scout::hypervisor {
namespace {

namespace json = boost::json;

constexpr std::int64_t state_version = 1;
constexpr std::size_t text_limit = 4096;
constexpr int cpuinfo_lines = 64;  ///< one processor's block is under 30 lines

/// The members that a state file holds, with their keys.
constexpr std::pair<const char*, std::string HostFingerprint::*> members[] = {
    {"microcode", &HostFingerprint::microcode}, {"kernel", &HostFingerprint::kernel},
    {"bios", &HostFingerprint::bios},           {"source", &HostFingerprint::source},
    {"software", &HostFingerprint::software},   {"profileDigest", &HostFingerprint::profile_digest},
};

std::string trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    const auto first = text.find_first_not_of(blank);
    if (first == std::string_view::npos) {
        return {};
    }
    return std::string(text.substr(first, text.find_last_not_of(blank) - first + 1));
}

std::string one_line(const std::filesystem::path& file) {
    const auto text = read_file(file, text_limit);
    return text ? trimmed(*text) : std::string();
}

/// The first processor's; the file of a big machine has megabytes.
std::string read_microcode(const std::filesystem::path& file) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) {
        return {};
    }
    std::ifstream input(file);
    std::string line;
    for (int count = 0; count < cpuinfo_lines && std::getline(input, line); ++count) {
        const auto colon = line.find(':');
        if (colon != std::string::npos && trimmed(line.substr(0, colon)) == "microcode") {
            return trimmed(line.substr(colon + 1));
        }
    }
    return {};
}

void compare(std::vector<std::string>& out, const char* what, const std::string& before,
             const std::string& now) {
    if (!before.empty() && !now.empty() && before != now) {
        out.push_back(std::string(what) + " changed " + before + " -> " + now);
    }
}

}  // namespace

HostFingerprint read_host_fingerprint(const std::filesystem::path& root) {
    HostFingerprint host;
    host.microcode = read_microcode(root / "proc/cpuinfo");
    host.kernel = one_line(root / "proc/sys/kernel/osrelease");
    host.bios = one_line(root / "sys/class/dmi/id/bios_version");
    const auto date = one_line(root / "sys/class/dmi/id/bios_date");
    if (!date.empty()) {
        host.bios += host.bios.empty() ? date : " (" + date + ")";
    }
    return host;
}

std::vector<std::string> describe_changes(const HostFingerprint& before,
                                          const HostFingerprint& now) {
    std::vector<std::string> changes;
    if (before.source != now.source) {
        return changes;
    }
    compare(changes, "microcode", before.microcode, now.microcode);
    compare(changes, "kernel", before.kernel, now.kernel);
    compare(changes, "BIOS", before.bios, now.bios);
    const bool host_changed = !changes.empty();
    for (auto& change : changes) {
        change += ": KubeVirt's labels may be stale until virt-handler restarts on this node";
    }
    compare(changes, "probe software", before.software, now.software);
    if (!before.profile_digest.empty() && !now.profile_digest.empty() &&
        before.profile_digest != now.profile_digest) {
        changes.push_back(
            host_changed || before.software != now.software
                ? "what the hypervisor can run here changed with it: guests started before may "
                  "need a restart, see scoutctl upgrade-impact"
                : "what the hypervisor can run here changed, though microcode, kernel, BIOS and "
                  "software did not: look for changed BIOS settings, KVM module options or "
                  "CPU flags hidden from this machine");
    }
    return changes;
}

std::string format_fingerprint(const HostFingerprint& fingerprint) {
    json::object state;
    state["version"] = state_version;
    for (const auto& [key, member] : members) {
        state[key] = fingerprint.*member;
    }
    return json::serialize(state) + "\n";
}

Result<HostFingerprint> parse_fingerprint(std::string_view text) {
    if (text.size() > text_limit * std::size(members)) {
        return fail(Errc::invalid, "host state: expected a small file, found " +
                                       std::to_string(text.size()) + " bytes");
    }
    boost::system::error_code error;
    const auto value = json::parse(trimmed(text), error);
    if (error || !value.is_object()) {
        return fail(Errc::invalid, "host state: expected one JSON object, found something else");
    }
    const auto& state = value.get_object();
    const auto* version = state.if_contains("version");
    if (version == nullptr || !version->is_int64() || version->get_int64() != state_version) {
        return fail(Errc::invalid, "host state: expected version 1, found another or none");
    }
    HostFingerprint fingerprint;
    for (const auto& [key, member] : members) {
        const auto* field = state.if_contains(key);
        if (field == nullptr || !field->is_string()) {
            return fail(Errc::invalid,
                        std::string("host state: expected the text '") + key + "', found none");
        }
        fingerprint.*member = std::string(field->get_string());
    }
    return fingerprint;
}

}  // namespace scout::hypervisor
