// SPDX-License-Identifier: Apache-2.0
#include "documents/xml.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include <simdjson.h>

#include "base/files.h"
#include "base/logging.h"

namespace scout::documents {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

std::string place(std::string_view xml, std::ptrdiff_t offset) {
    const auto end =
        std::min(xml.size(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
    const auto line =
        1 + std::count(xml.begin(), xml.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    return "line " + std::to_string(line);
}

/// Production Char of XML 1.0.
bool is_character(std::uint32_t code) {
    return code == 0x9 || code == 0xA || code == 0xD || (code >= 0x20 && code <= 0xD7FF) ||
           (code >= 0xE000 && code <= 0xFFFD) || (code >= 0x10000 && code <= 0x10FFFF);
}

/// pugixml takes any number for a character, and a zero ends the text for whoever reads it: another
/// name than the one that is written. Comments are not told apart.
Status check_references(std::string_view xml) {
    constexpr std::string_view mark = "&#";
    for (auto at = xml.find(mark); at != std::string_view::npos; at = xml.find(mark, at + 1)) {
        auto rest = xml.substr(at + mark.size());
        const bool hex = rest.starts_with('x');
        rest.remove_prefix(hex ? 1 : 0);
        const auto* const last = rest.data() + rest.size();
        std::uint32_t code = 0;
        const auto [end, error] = std::from_chars(rest.data(), last, code, hex ? 16 : 10);
        if (error != std::errc{} || end == last || *end != ';' || !is_character(code)) {
            constexpr std::size_t shown = 16;
            return fail(Errc::invalid, "expected references to characters that XML has, found " +
                                           log_value(xml.substr(at, shown)) + " in " +
                                           place(xml, static_cast<std::ptrdiff_t>(at)));
        }
    }
    return {};
}

Status check_attributes(const pugi::xml_node& element) {
    std::size_t count = 0;
    for (const auto& attribute : element.attributes()) {
        if (++count > most_attributes) {
            return fail(Errc::invalid, "expected at most " + std::to_string(most_attributes) +
                                           " attributes of one element, found more");
        }
        for (auto other = attribute.next_attribute(); other; other = other.next_attribute()) {
            if (std::string_view{other.name()} == attribute.name()) {
                return fail(Errc::invalid, "expected each attribute of an element once, found " +
                                               log_value(attribute.name()) + " twice in " +
                                               describe(element));
            }
        }
    }
    return {};
}

/// The root and everything below it, without recursion: the text decides how deep that goes.
Status check_elements(const pugi::xml_node& root) {
    int depth = 1;
    pugi::xml_node node = root;
    while (node) {
        if (depth > deepest_element) {
            return fail(Errc::invalid, "expected at most " + std::to_string(deepest_element) +
                                           " levels of elements, found more");
        }
        if (auto attributes = check_attributes(node); !attributes) {
            return attributes;
        }
        if (const auto child = node.first_child()) {
            ++depth;
            node = child;
            continue;
        }
        while (node != root && !node.next_sibling()) {
            node = node.parent();
            --depth;
        }
        node = node == root ? pugi::xml_node{} : node.next_sibling();
    }
    return {};
}

/// UTF-8 and what is part of it: a reader that believed another declaration would read other names.
Status check_declaration(const pugi::xml_node& declaration) {
    std::string encoding = declaration.attribute("encoding").as_string("utf-8");
    std::transform(encoding.begin(), encoding.end(), encoding.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (encoding != "utf-8" && encoding != "us-ascii") {
        return fail(Errc::invalid,
                    "expected UTF-8 text, found encoding " + log_value(encoding) + " declared");
    }
    return {};
}

/// As much of a text as shows what it is.
std::string shortened(std::string_view text) {
    constexpr std::size_t enough = 60;
    return log_value(text.substr(0, enough)) + (text.size() > enough ? "…" : "");
}

Status check_roots(const pugi::xml_document& document) {
    int roots = 0;
    for (const auto& node : document.children()) {
        switch (node.type()) {
            case pugi::node_declaration:
                if (auto declared = check_declaration(node); !declared) {
                    return declared;
                }
                break;
            case pugi::node_doctype:
                return fail(Errc::invalid,
                            "expected a plain document, found a document type (DOCTYPE): entities "
                            "are never expanded");
            case pugi::node_pcdata:
            case pugi::node_cdata:
                return fail(Errc::invalid,
                            "expected a document of libvirt, with nothing beside its root "
                            "element, found text: " +
                                shortened(node.value()));
            case pugi::node_element:
                ++roots;
                break;
            default:
                break;
        }
    }
    if (roots != 1) {
        return fail(Errc::invalid, "expected one root element, found " + std::to_string(roots));
    }
    return {};
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
    if (auto references = check_references(xml); !references) {
        return references;
    }
    // A fragment, so that text beside the root is kept for check_roots() instead of passed over.
    constexpr unsigned options =
        pugi::parse_default | pugi::parse_doctype | pugi::parse_declaration | pugi::parse_fragment;
    const auto parsed = document.load_buffer(xml.data(), xml.size(), options, pugi::encoding_utf8);
    if (!parsed) {
        return fail(Errc::invalid, "expected well-formed XML, found a fault in " +
                                       place(xml, parsed.offset) + ": " + parsed.description());
    }
    if (auto roots = check_roots(document); !roots) {
        return roots;
    }
    return check_elements(document.document_element());
}

std::string text_of(const pugi::xml_node& node) {
    constexpr std::string_view space = " \t\r\n";
    std::string text;
    for (const auto& part : node.children()) {
        if (part.type() == pugi::node_pcdata || part.type() == pugi::node_cdata) {
            text += part.value();
        }
    }
    const auto begin = text.find_first_not_of(space);
    if (begin == std::string::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

std::string describe(const pugi::xml_node& element) {
    return "<" + log_value(element.name()) + ">";
}

}  // namespace scout::documents
