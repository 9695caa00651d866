// SPDX-License-Identifier: Apache-2.0
#include "documents/node_documents.h"

#include <system_error>
#include <utility>

#include "base/files.h"

namespace scout::documents {
namespace {

/// The text of a file, or nothing where it is not there.
Result<std::string> read_optional(const std::filesystem::path& path) {
    auto text = read_file(path);
    if (!text && text.error().code == Errc::not_found) {
        return std::string{};
    }
    return text;
}

template <class T>
Result<T> named(Result<T> result, const std::filesystem::path& path) {
    if (!result) {
        return fail(std::move(result.error()).within(path.string()));
    }
    return result;
}

}  // namespace

Result<NodeDocuments> assemble(std::string_view domain_capabilities,
                               std::string_view supported_features, std::string_view capabilities) {
    auto profile = parse_profile(domain_capabilities);
    if (!profile) {
        return fail(std::move(profile.error()).within("domain capabilities"));
    }
    NodeDocuments out{.profile = std::move(*profile), .facts = {}};
    if (!supported_features.empty()) {
        auto supported = parse_supported_features(supported_features);
        if (!supported) {
            return fail(std::move(supported.error()).within("supported features"));
        }
        out.profile.supported = std::move(*supported);
        out.profile.supported_listed = true;
    }
    if (!capabilities.empty()) {
        auto host = parse_capabilities(capabilities);
        if (!host) {
            return fail(std::move(host.error()).within("capabilities"));
        }
        out.facts = std::move(host->facts);
        out.profile.machines = std::move(host->machines);
        if (out.profile.arch.empty()) {
            out.profile.arch = std::move(host->arch);
        }
    }
    return out;
}

Result<NodeDocuments> read_labeller_folder(const std::filesystem::path& folder) {
    auto domain_capabilities = read_file(folder / "virsh_domcapabilities.xml");
    if (!domain_capabilities) {
        return fail(std::move(domain_capabilities.error()).within("labeller folder"));
    }
    auto supported = read_optional(folder / "supported_features.xml");
    if (!supported) {
        return fail(std::move(supported.error()).within("labeller folder"));
    }
    auto capabilities = read_optional(folder / "capabilities.xml");
    if (!capabilities) {
        return fail(std::move(capabilities.error()).within("labeller folder"));
    }
    return named(assemble(*domain_capabilities, *supported, *capabilities), folder);
}

Result<Document> read_document(const std::filesystem::path& path) {
    auto text = read_file(path);
    if (!text) {
        return fail(std::move(text.error()));
    }
    return named(parse_document(*text), path);
}

Result<NodeDocuments> read_node_documents(const std::filesystem::path& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        return read_labeller_folder(path);
    }
    auto text = read_file(path);
    if (!text) {
        return fail(std::move(text.error()));
    }
    auto profile = named(parse_profile(*text), path);
    if (!profile) {
        return fail(std::move(profile.error()));
    }
    return NodeDocuments{.profile = std::move(*profile), .facts = {}};
}

}  // namespace scout::documents
