// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/result.h"
#include "documents/profile_document.h"
#include "migration/profile.h"

namespace scout::documents {

/// Everything that documents say of one node.
struct NodeDocuments {
    migration::Profile profile;
    migration::HostFacts facts;
};

/// KubeVirt's labeller folder (dossier §5.1): `virsh_domcapabilities.xml`, and where they are there
/// `supported_features.xml` and `capabilities.xml`; an empty file is a fault (it is being written),
/// not one that is absent. Errors name the file: not_found, invalid, and those of reading.
[[nodiscard]] Result<NodeDocuments> read_labeller_folder(const std::filesystem::path& folder);

/// A labeller folder, or one domain-capabilities or `<cpu>` file.
[[nodiscard]] Result<NodeDocuments> read_node_documents(const std::filesystem::path& path);

/// One file of any kind that parse_document() knows.
[[nodiscard]] Result<Document> read_document(const std::filesystem::path& path);

/// Puts the parts together: the supported features and machine types join the profile, and the
/// host's architecture if the domain capabilities do not name theirs (the labeller asks for the
/// host's own, dossier §5.1). A list of supported features that lacks what every CPU has was not
/// expanded, and is Errc::invalid.
[[nodiscard]] Result<NodeDocuments> assemble(std::string_view domain_capabilities,
                                             std::string_view supported_features,
                                             std::string_view capabilities);

}  // namespace scout::documents
