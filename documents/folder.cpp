// SPDX-License-Identifier: Apache-2.0
#include "documents/folder.h"

#include <system_error>

#include "base/files.h"

namespace scout::documents {
namespace {

constexpr const char* labeller_file = "virsh_domcapabilities.xml";

bool is_document(const std::filesystem::directory_entry& entry) {
    std::error_code ignored;
    return !entry.is_directory(ignored) || is_labeller_folder(entry.path());
}

}  // namespace

bool is_labeller_folder(const std::filesystem::path& path) {
    std::error_code ignored;
    const auto status = std::filesystem::symlink_status(path / labeller_file, ignored);
    return status.type() != std::filesystem::file_type::not_found;
}

Result<std::vector<std::filesystem::path>> list_documents(const std::filesystem::path& folder) {
    return list_folder(folder, is_document);
}

}  // namespace scout::documents
