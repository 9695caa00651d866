// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/embed_uri.h"

#include <charconv>
#include <system_error>

#include <unistd.h>

#include "base/files.h"
#include "base/percent.h"

namespace scout::libvirt_glue {
namespace {

constexpr std::string_view embed_path = ":///embed";
constexpr std::string_view root_key = "root=";
constexpr std::string_view settings =
    "# QEMU is only asked what it can do; no guest runs here.\n"
    "user = \"+0\"\n"
    "group = \"+0\"\n";

std::string_view query_of(std::string_view uri) {
    const auto mark = uri.find('?');
    return mark == std::string_view::npos ? std::string_view{} : uri.substr(mark + 1);
}

/// Strict, unlike percent_decode(): a wrong folder would be made and used.
Result<std::string> percent_decoded(std::string_view text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            plain += text[at];
            continue;
        }
        unsigned value = 0;
        const auto digits = text.substr(at + 1, 2);
        const auto* end = digits.data() + digits.size();
        const auto read = std::from_chars(digits.data(), end, value, 16);
        if (digits.size() != 2 || read.ec != std::errc{} || read.ptr != end || value == 0) {
            return fail(Errc::invalid, "libvirt URI: expected two hex digits after '%', found '" +
                                           std::string(digits) + "'");
        }
        plain += static_cast<char>(value);
        at += 2;
    }
    return plain;
}

}  // namespace

bool is_embed_uri(std::string_view uri) noexcept {
    const auto at = uri.find(embed_path);
    if (at == std::string_view::npos) {
        return false;
    }
    const auto rest = uri.substr(at + embed_path.size());
    return rest.empty() || rest.front() == '?';
}

Result<std::filesystem::path> embed_root(std::string_view uri) {
    auto query = query_of(uri);
    while (!query.empty()) {
        const auto part = query.substr(0, query.find('&'));
        query.remove_prefix(part.size() < query.size() ? part.size() + 1 : query.size());
        if (!part.starts_with(root_key)) {
            continue;
        }
        const auto root = percent_decoded(part.substr(root_key.size()));
        if (!root) {
            return fail(root.error());
        }
        if (!root->starts_with('/')) {
            return fail(
                Errc::invalid,
                "libvirt URI: expected an absolute folder after root=, found '" + *root + "'");
        }
        if (root->size() > embed_root_limit) {
            return fail(Errc::invalid, "libvirt URI: expected a root folder of at most " +
                                           std::to_string(embed_root_limit) + " bytes, found " +
                                           std::to_string(root->size()) +
                                           " (socket paths below it would be too long)");
        }
        return std::filesystem::path(*root);
    }
    return std::filesystem::path();
}

std::string with_embed_root(std::string_view uri, const std::filesystem::path& root) {
    const auto query = query_of(uri);
    if (query.starts_with(root_key) || query.find("&root=") != std::string_view::npos) {
        return std::string(uri);
    }
    const bool has_query = uri.find('?') != std::string_view::npos;
    return std::string(uri) + (has_query ? "&root=" : "?root=") +
           percent_encode(root.string(), "/");
}

Status prepare_embed_root(const std::filesystem::path& root) {
    std::error_code error;
    std::filesystem::create_directories(root / "etc", error);
    if (error) {
        return fail(Errc::unavailable, "folder of the embedded driver: cannot make " +
                                           (root / "etc").string() + ": " + error.message());
    }
    const auto file = root / "etc/qemu.conf";
    if (::geteuid() == 0 && !std::filesystem::exists(file, error)) {
        return write_file_atomically(file, settings);
    }
    return {};
}

}  // namespace scout::libvirt_glue
