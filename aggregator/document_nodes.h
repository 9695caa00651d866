// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/registry.h"
#include "base/result.h"
#include "documents/node_documents.h"

/// Nodes out of files. Reading blocks; any thread.
namespace scout::aggregator {

struct DocumentNode {
    std::string name;  ///< of the file, without ".xml", or of the labeller folder
    std::string path;
    std::optional<documents::NodeDocuments> documents;
    std::string error;  ///< why there are none
};

/// One path: a file, a labeller folder, or a folder of both (documents/folder.h). What cannot be
/// used is a node with an error; but in a folder a file that is not called .xml either is none, and
/// is logged. A path that is not there is an error of the whole.
[[nodiscard]] Result<std::vector<DocumentNode>> read_document_nodes(
    const std::filesystem::path& path);

/// `source` is "file" or "sample".
[[nodiscard]] Status add_document_node(const DocumentNode& node, const std::string& source,
                                       SteadyTime now, Registry& registry);

}  // namespace scout::aggregator
