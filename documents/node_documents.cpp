// SPDX-License-Identifier: Apache-2.0
#include "documents/node_documents.h"

#include <system_error>
#include <utility>

#include "base/files.h"
#include "migration/cpu_truth.h"

namespace scout::documents {
namespace {

/// The text of a file, empty where it is not there. A file without text is there: the labeller
/// truncates before it writes, and what it will say is not known yet.
Result<std::string> read_optional(const std::filesystem::path& path) {
    auto text = read_file(path);
    if (!text && text.error().code == Errc::not_found) {
        return std::string{};
    }
    if (text && text->empty()) {
        return fail(Errc::invalid, path.string() +
                                       ": expected a document, found an empty file; is it being "
                                       "written? Read it again, or remove it");
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

/// Taken for complete, a list that names a model and only what differs would lack nearly
/// everything.
Status check_complete(const migration::FeatureSet& supported, const std::string& arch) {
    const bool described = arch == "x86_64" || arch == "i686" || arch == "s390x";
    if (described && !migration::is_expanded(arch, supported, {})) {
        return fail(Errc::invalid,
                    "expected every feature that the hypervisor can enable, found a list without "
                    "those that all CPUs have (x86: fpu, cx8, mmx; s390x: esan3, zarch); use "
                    "`virsh hypervisor-cpu-baseline --features`");
    }
    return {};
}

}  // namespace

Result<NodeDocuments> assemble(std::string_view domain_capabilities,
                               std::string_view supported_features, std::string_view capabilities) {
    auto profile = parse_profile(domain_capabilities);
    if (!profile) {
        return fail(std::move(profile.error()).within("domain capabilities"));
    }
    NodeDocuments out{.profile = std::move(*profile), .facts = {}};
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
    if (!supported_features.empty()) {
        auto supported = parse_supported_features(supported_features);
        if (!supported) {
            return fail(std::move(supported.error()).within("supported features"));
        }
        if (auto complete = check_complete(*supported, out.profile.arch); !complete) {
            return fail(std::move(complete.error()).within("supported features"));
        }
        out.profile.supported = std::move(*supported);
        out.profile.supported_listed = true;
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
