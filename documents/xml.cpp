// SPDX-License-Identifier: Apache-2.0
#include "documents/xml.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "base/files.h"

namespace scout::documents {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

Status check_depth(const pugi::xml_node& root) {
    int depth = 0;
    pugi::xml_node node = root;
    while (node) {
        if (const auto child = node.first_child()) {
            if (++depth > deepest_element) {
                return fail(Errc::invalid, "expected at most " + std::to_string(deepest_element) +
                                               " levels of elements, found more");
            }
            node = child;
            continue;
        }
        while (node && node != root && !node.next_sibling()) {
            node = node.parent();
            --depth;
        }
        node = (node && node != root) ? node.next_sibling() : pugi::xml_node{};
    }
    return {};
}

Status check_roots(const pugi::xml_document& document) {
    int roots = 0;
    for (const auto& node : document.children()) {
        if (node.type() == pugi::node_doctype) {
            return fail(Errc::invalid,
                        "expected a plain document, found a document type (DOCTYPE): entities are "
                        "never expanded");
        }
        roots += node.type() == pugi::node_element ? 1 : 0;
    }
    if (roots != 1) {
        return fail(Errc::invalid, "expected one root element, found " + std::to_string(roots));
    }
    return {};
}

std::string place(std::string_view xml, std::ptrdiff_t offset) {
    const auto end =
        std::min(xml.size(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
    const auto line =
        1 + std::count(xml.begin(), xml.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    return "line " + std::to_string(line);
}

}  // namespace

Status load(pugi::xml_document& document, std::string_view xml) {
    if (xml.size() > document_limit) {
        return fail(Errc::invalid, "expected at most " + std::to_string(document_limit) +
                                       " bytes, found " + std::to_string(xml.size()));
    }
    if (xml.starts_with(byte_order_mark)) {
        xml.remove_prefix(byte_order_mark.size());
    }
    if (!simdjson::validate_utf8(xml.data(), xml.size()) ||
        xml.find('\0') != std::string_view::npos) {
        return fail(Errc::invalid, "expected UTF-8 text, found another encoding or binary data");
    }
    constexpr unsigned options = pugi::parse_default | pugi::parse_doctype;
    const auto parsed = document.load_buffer(xml.data(), xml.size(), options, pugi::encoding_utf8);
    if (!parsed) {
        return fail(Errc::invalid, "expected well-formed XML, found a fault in " +
                                       place(xml, parsed.offset) + ": " + parsed.description());
    }
    if (auto roots = check_roots(document); !roots) {
        return roots;
    }
    return check_depth(document);
}

std::string text_of(const pugi::xml_node& node) {
    constexpr std::string_view space = " \t\r\n";
    const std::string_view text = node.child_value();
    const auto begin = text.find_first_not_of(space);
    if (begin == std::string_view::npos) {
        return {};
    }
    return std::string{text.substr(begin, text.find_last_not_of(space) - begin + 1)};
}

migration::FeatureSet features_with(const pugi::xml_node& cpu, std::string_view policy,
                                    std::string_view or_policy) {
    std::vector<std::string> names;
    for (const auto& feature : cpu.children("feature")) {
        const std::string_view found = feature.attribute("policy").value();
        const std::string_view name = feature.attribute("name").value();
        if (!name.empty() && (found == policy || found == or_policy)) {
            names.emplace_back(name);
        }
    }
    return migration::make_feature_set(std::move(names));
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
        return std::nullopt;
    }
    return value;
}

}  // namespace scout::documents
