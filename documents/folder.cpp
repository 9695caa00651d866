// SPDX-License-Identifier: Apache-2.0
#include "documents/folder.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

namespace scout::documents {
namespace {

constexpr const char* labeller_file = "virsh_domcapabilities.xml";

bool is_document(const std::filesystem::directory_entry& entry) {
    std::error_code ignored;
    return !entry.path().filename().string().starts_with('.') &&
           (entry.is_regular_file(ignored) || is_labeller_folder(entry.path()));
}

}  // namespace

bool is_labeller_folder(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path / labeller_file, ignored);
}

Result<std::vector<std::filesystem::path>> list_documents(const std::filesystem::path& folder) {
    std::error_code error;
    std::vector<std::filesystem::path> paths;
    auto entry = std::filesystem::directory_iterator(folder, error);
    while (!error && entry != std::filesystem::directory_iterator{}) {
        if (is_document(*entry)) {
            paths.push_back(entry->path());
        }
        if (paths.size() > folder_limit) {
            return fail(Errc::invalid, folder.string() + ": expected at most " +
                                           std::to_string(folder_limit) + " documents, found more");
        }
        entry.increment(error);
    }
    if (error) {
        return fail(error == std::errc::no_such_file_or_directory ? Errc::not_found : Errc::invalid,
                    folder.string() + ": expected a folder: " + error.message());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

}  // namespace scout::documents
