// SPDX-License-Identifier: Apache-2.0
#include "agent/node_reading.h"

#include <utility>

#include "agent/host_history.h"
#include "documents/node_documents.h"
#include "libvirt_glue/embed_uri.h"
#include "libvirt_glue/host_fingerprint.h"
#include "libvirt_glue/node_documents.h"
#include "wire/convert.h"

namespace scout::agent {
namespace {

void add_host(migration::HostFacts& facts, const hypervisor::HostFingerprint& host) {
    facts.microcode = host.microcode;
    facts.kernel = host.kernel;
    facts.bios = host.bios;
}

NodeReading reading_of(documents::NodeDocuments documents,
                       const hypervisor::HostFingerprint& host) {
    NodeReading reading;
    reading.digest = wire::profile_digest(documents.profile);
    reading.profile = std::make_shared<const migration::Profile>(std::move(documents.profile));
    reading.facts = std::move(documents.facts);
    add_host(reading.facts, host);
    return reading;
}

std::string software_of(const hypervisor::HostDocuments& documents) {
    std::string text = "libvirt " + documents.libvirt_version;
    if (!documents.hypervisor_version.empty()) {
        text += ", hypervisor " + documents.hypervisor_version;
    }
    return text;
}

}  // namespace

std::string source_of(const std::string& uri) {
    if (libvirt_glue::is_embed_uri(uri)) {
        return "embedded";
    }
    return uri.find(":///system") != std::string::npos ? "system" : "libvirt";
}

Result<NodeReading> read_probe(const hypervisor::HostDocuments& documents,
                               const std::filesystem::path& root,
                               const std::filesystem::path& state_dir) {
    auto parsed = hypervisor::to_node_documents(documents);
    if (!parsed) {
        return fail(std::move(parsed.error()));
    }
    auto host = hypervisor::read_host_fingerprint(root);
    auto reading = reading_of(std::move(*parsed), host);
    reading.source = source_of(documents.uri);
    reading.yardstick = software_of(documents) + ", asked at " + documents.uri;
    if (!documents.kvm_note.empty()) {
        reading.yardstick += "; " + documents.kvm_note;
    }
    host.source = documents.uri;
    host.software = software_of(documents);
    // Not the digest of reports: that one changes with the version of this program.
    host.profile_digest = migration::digest(*reading.profile);
    auto recorded = record_probe(state_dir, host);
    reading.changes = std::move(recorded.changes);
    reading.warnings = documents.notes;
    if (!recorded.stored) {
        reading.warnings.push_back("changes of this host will not be seen after a restart: " +
                                   recorded.stored.error().message);
    }
    if (!recorded.set_aside.empty()) {
        reading.warnings.push_back("the record of the last probe was damaged: " +
                                   recorded.set_aside);
    }
    return reading;
}

Result<std::optional<NodeReading>> read_labeller(const std::filesystem::path& labeller_dir,
                                                 const std::filesystem::path& root) {
    auto documents = documents::read_labeller_folder(labeller_dir);
    if (!documents) {
        if (documents.error().code == Errc::not_found) {
            return std::nullopt;
        }
        return fail(std::move(documents.error()));
    }
    auto reading = reading_of(std::move(*documents), hypervisor::read_host_fingerprint(root));
    reading.source = "labeller";
    reading.yardstick = "KubeVirt's labeller files in " + labeller_dir.string();
    return reading;
}

}  // namespace scout::agent
