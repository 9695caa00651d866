// SPDX-License-Identifier: Apache-2.0
#include "aggregator/document_nodes.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "documents/folder.h"

namespace scout::aggregator {
namespace {

/// "a/" and "a/." are called like "a".
std::string folder_name(const std::filesystem::path& path) {
    std::error_code ignored;
    const auto whole = std::filesystem::weakly_canonical(path, ignored);
    return (ignored ? path : whole).filename().string();
}

DocumentNode read_one(const std::filesystem::path& path) {
    std::error_code ignored;
    DocumentNode node;
    node.path = path.string();
    if (std::filesystem::is_directory(path, ignored)) {
        node.name = folder_name(path);
    } else {
        node.name = (path.extension() == ".xml" ? path.stem() : path.filename()).string();
    }
    auto documents = documents::read_node_documents(path);
    if (documents) {
        node.documents = std::move(*documents);
    } else {
        node.error = std::move(documents.error().message);
    }
    return node;
}

}  // namespace

Result<std::vector<DocumentNode>> read_document_nodes(const std::filesystem::path& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) {
        return fail(Errc::not_found,
                    path.string() + ": expected a file or folder, found nothing there");
    }
    if (!std::filesystem::is_directory(status) || documents::is_labeller_folder(path)) {
        return std::vector{read_one(path)};
    }
    auto paths = documents::list_documents(path);
    if (!paths) {
        return fail(std::move(paths.error()));
    }
    std::vector<DocumentNode> nodes;
    nodes.reserve(paths->size());
    for (const auto& each : *paths) {
        auto node = read_one(each);
        if (node.documents || each.extension() == ".xml" || documents::is_labeller_folder(each)) {
            nodes.push_back(std::move(node));
        } else {
            spdlog::warn("left out, no document of libvirt path={} reason={}",
                         log_value(each.string()), log_value(node.error));
        }
    }
    return nodes;
}

Status add_document_node(const DocumentNode& node, const std::string& source, SteadyTime now,
                         Registry& registry) {
    Registry::Document document;
    document.name = node.name;
    document.path = node.path;
    document.host.source = source;
    document.host.probe_error = node.error;
    document.host.yardstick = "document " + node.path;
    if (node.documents) {
        document.host.facts = node.documents->facts;
        document.profile = &node.documents->profile;
    }
    return registry.add_document(document, now);
}

}  // namespace scout::aggregator
