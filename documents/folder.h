// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"

namespace scout::documents {

/// True for KubeVirt's labeller folder (dossier §5.1): it is one document. A folder that cannot be
/// looked into, or whose file is no file, is taken for one too: reading it says why it is none.
[[nodiscard]] bool is_labeller_folder(const std::filesystem::path& path);

/// The documents of a folder: everything directly in it but plain folders, sorted by path; hidden
/// ones are left out. Whatever its name or kind (a link that leads nowhere, a FIFO) an entry may
/// have been meant as a document; one that is none shows when it is read, and is told then.
/// Blocking. Errors: not_found, invalid (no folder, over folder_limit of base/files.h).
[[nodiscard]] Result<std::vector<std::filesystem::path>> list_documents(
    const std::filesystem::path& folder);

}  // namespace scout::documents
