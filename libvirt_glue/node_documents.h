// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "documents/node_documents.h"
#include "libvirt_glue/hypervisor.h"

namespace scout::hypervisor {

/// The profile and facts that a probe's documents amount to. The first machine type's document
/// gives the CPU; machine types are those of the capabilities document. Versions are filled in;
/// microcode, kernel and BIOS are not (host_fingerprint.h). Errors: invalid, naming the document.
[[nodiscard]] Result<documents::NodeDocuments> to_node_documents(const HostDocuments& documents);

}  // namespace scout::hypervisor
