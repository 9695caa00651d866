// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/node_documents.h"

#include <utility>

namespace scout::hypervisor {

Result<documents::NodeDocuments> to_node_documents(const HostDocuments& documents) {
    if (documents.domain_capabilities.empty()) {
        return fail(Errc::invalid,
                    "probe of " + documents.uri + ": expected domain capabilities, found none");
    }
    auto node = documents::assemble(documents.domain_capabilities.front().xml,
                                    documents.supported_features, documents.capabilities);
    if (!node) {
        return fail(std::move(node.error()).within("probe of " + documents.uri));
    }
    node->facts.libvirt_version = documents.libvirt_version;
    node->facts.hypervisor_version = documents.hypervisor_version;
    return node;
}

}  // namespace scout::hypervisor
