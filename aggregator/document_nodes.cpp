// SPDX-License-Identifier: Apache-2.0
#include "aggregator/document_nodes.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace scout::aggregator {
namespace {

/// What KubeVirt's labeller always writes (dossier §5.1).
constexpr const char* labeller_file = "virsh_domcapabilities.xml";
constexpr std::size_t entries_limit = 10'000;

bool is_labeller_folder(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path / labeller_file, ignored);
}

bool is_document(const std::filesystem::directory_entry& entry) {
    std::error_code ignored;
    const auto name = entry.path().filename().string();
    if (name.starts_with('.')) {
        return false;
    }
    if (entry.is_directory(ignored)) {
        return is_labeller_folder(entry.path());
    }
    return entry.is_regular_file(ignored) && entry.path().extension() == ".xml";
}

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
    node.name =
        std::filesystem::is_directory(path, ignored) ? folder_name(path) : path.stem().string();
    auto documents = documents::read_node_documents(path);
    if (documents) {
        node.documents = std::move(*documents);
    } else {
        node.error = std::move(documents.error().message);
    }
    return node;
}

Result<std::vector<std::filesystem::path>> entries_of(const std::filesystem::path& folder) {
    std::error_code error;
    std::vector<std::filesystem::path> paths;
    auto entry = std::filesystem::directory_iterator(folder, error);
    while (!error && entry != std::filesystem::directory_iterator{}) {
        if (is_document(*entry)) {
            paths.push_back(entry->path());
        }
        if (paths.size() > entries_limit) {
            return fail(Errc::invalid, folder.string() + ": expected at most " +
                                           std::to_string(entries_limit) + " documents");
        }
        entry.increment(error);
    }
    if (error) {
        return fail(Errc::unavailable, folder.string() + ": " + error.message());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

}  // namespace

Result<std::vector<DocumentNode>> read_document_nodes(const std::filesystem::path& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) {
        return fail(Errc::not_found,
                    path.string() + ": expected a file or folder, found nothing there");
    }
    if (!std::filesystem::is_directory(status) || is_labeller_folder(path)) {
        return std::vector{read_one(path)};
    }
    auto paths = entries_of(path);
    if (!paths) {
        return fail(std::move(paths.error()));
    }
    std::vector<DocumentNode> nodes;
    nodes.reserve(paths->size());
    std::transform(paths->begin(), paths->end(), std::back_inserter(nodes), read_one);
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
