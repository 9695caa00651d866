// SPDX-License-Identifier: Apache-2.0
#include "cli/subject.h"

#include <algorithm>
#include <utility>

#include "base/node_name.h"
#include "cli/text.h"

namespace scout::cli {
namespace {

constexpr std::size_t name_limit = 255;
constexpr std::size_t path_limit = 4096;
constexpr std::string_view forms =
    "a guest's name or UUID, NAMESPACE/NAME of a VMI, guest/NAME@NODE, host-model@NODE or "
    "file:PATH";

tl::unexpected<Error> refuse(std::string_view text, const std::string& why) {
    return fail(Errc::invalid,
                "subject '" + shown(text) + "': " + why + "; expected " + std::string(forms));
}

Result<Subject> parse_file(std::string_view text, std::string_view path) {
    if (path.empty()) {
        return refuse(text, "no path after 'file:'");
    }
    if (path.size() > path_limit || path.find('\0') != std::string_view::npos) {
        return refuse(text, "no system has such a path");
    }
    return Subject{.kind = SubjectKind::file, .name = std::string(path), .node = {}};
}

Result<Subject> parse_host_model(std::string_view text, std::string_view node) {
    if (!is_node_name(node)) {
        return refuse(text, "'" + shown(node) + "' is not a node name");
    }
    return Subject{.kind = SubjectKind::host_model, .name = {}, .node = std::string(node)};
}

/// A name of libvirt, or NAMESPACE/NAME of a VMI.
bool is_plain_or_vmi(std::string_view name) {
    const auto slash = name.find('/');
    return slash == std::string_view::npos || (slash > 0 && slash + 1 < name.size() &&
                                               name.find('/', slash + 1) == std::string_view::npos);
}

Result<Subject> parse_guest(std::string_view text, std::string_view name, std::string_view node) {
    if (name.empty() || name.size() > name_limit) {
        return refuse(text, "a guest's name has 1 to 255 bytes");
    }
    if (!is_plain_or_vmi(name) || has_controls(name)) {
        return refuse(text,
                      "a guest's name has no '/' but that of NAMESPACE/NAME, no control characters "
                      "and is UTF-8");
    }
    return Subject{
        .kind = SubjectKind::guest, .name = std::string(name), .node = std::string(node)};
}

/// `NAME@NODE` after `guest/`. Guest names may hold '@', node names may not: the last one parts.
Result<Subject> parse_explicit_guest(std::string_view text, std::string_view rest) {
    const auto at = rest.rfind('@');
    if (at == std::string_view::npos) {
        return parse_guest(text, rest, {});
    }
    const auto node = rest.substr(at + 1);
    if (!is_node_name(node)) {
        return refuse(text, "'" + shown(node) + "' is not a node name");
    }
    return parse_guest(text, rest.substr(0, at), node);
}

}  // namespace

bool names_a_vmi(std::string_view text) noexcept {
    const auto slash = text.find('/');
    return slash != std::string_view::npos && !text.ends_with(".xml") &&
           is_node_name(text.substr(0, slash)) && is_node_name(text.substr(slash + 1));
}

bool names_a_file(std::string_view text) noexcept {
    return text.find('/') != std::string_view::npos || text.ends_with(".xml");
}

Status check_node_name(std::string_view what, std::string_view text) {
    if (is_node_name(text)) {
        return {};
    }
    return fail(Errc::invalid, std::string(what) + ": expected " + std::string(node_name_rule) +
                                   " for a node, found '" + shown(text) + "'");
}

Result<Subject> parse_subject(std::string_view text) {
    constexpr std::string_view file_prefix = "file:";
    constexpr std::string_view guest_prefix = "guest/";
    constexpr std::string_view host_model_prefix = "host-model@";
    if (text.empty()) {
        return refuse(text, "empty");
    }
    if (text.size() > subject_limit) {
        return refuse(text, std::to_string(text.size()) + " bytes are too long");
    }
    if (text.starts_with(file_prefix)) {
        return parse_file(text, text.substr(file_prefix.size()));
    }
    if (text.starts_with(host_model_prefix)) {
        return parse_host_model(text, text.substr(host_model_prefix.size()));
    }
    if (text.starts_with(guest_prefix)) {
        return parse_explicit_guest(text, text.substr(guest_prefix.size()));
    }
    if (text.find_first_of("@:") != std::string_view::npos) {
        return refuse(text,
                      "'@' and ':' belong to the other forms (guest/ in front of a name "
                      "says that it is a guest's)");
    }
    return parse_guest(text, text, {});
}

}  // namespace scout::cli
