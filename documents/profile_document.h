// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "migration/guest.h"
#include "migration/profile.h"

/// libvirt's documents, from text to plain structs. Pure: no file is opened here. Every function
/// takes text from anywhere and answers Errc::invalid with what was expected and what was found.
/// Limits: 4 MiB, 64 levels of elements, 64 attributes of one element, names of 253 bytes, no
/// document type (and so no entities). What is used and cannot be read (a number, a policy, a
/// mode), or is there twice where one is expected, is a fault of the document and never passed
/// over.
namespace scout::documents {

/// `virsh domcapabilities`, or a host-model `<cpu>` alone, as libvirt writes it: with an exact
/// model and features that are required or disabled. A host-model needs a name. Other architectures
/// and hypervisors parse too: whether they can be compared is migration::not_comparable()'s answer.
[[nodiscard]] Result<migration::Profile> parse_profile(std::string_view xml);

/// The host-model of domain capabilities as a `<cpu>` of its own, the form that
/// hypervisor-cpu-baseline takes; virsh makes the same of a whole document. Errors besides:
/// not_found (no host-model supported).
[[nodiscard]] Result<std::string> host_model_cpu(std::string_view domain_capabilities);

/// `virsh hypervisor-cpu-baseline --features` (labeller file supported_features.xml): features that
/// are required, among them those without a policy, as on s390x (dossier §5.2).
[[nodiscard]] Result<migration::FeatureSet> parse_supported_features(std::string_view xml);

/// What is used of `virsh capabilities`.
struct Capabilities {
    std::string arch;                   ///< of the host
    migration::HostFacts facts;         ///< TSC and NUMA cells only
    std::vector<std::string> machines;  ///< of every guest arch, as the labeller takes them; sorted
};
[[nodiscard]] Result<Capabilities> parse_capabilities(std::string_view xml);

/// A live domain XML.
struct LiveDomain {
    std::string uuid;
    std::string name;
    std::uint64_t memory_kib = 0;
    migration::GuestCpu cpu;
};
[[nodiscard]] Result<LiveDomain> parse_domain(std::string_view xml);

/// A document that says what it is itself: domain capabilities, a bare `<cpu>`, or a live domain.
/// A capabilities document is refused with that reason: it does not say what a hypervisor can run.
using Document = std::variant<migration::Profile, LiveDomain>;
[[nodiscard]] Result<Document> parse_document(std::string_view xml);

}  // namespace scout::documents
