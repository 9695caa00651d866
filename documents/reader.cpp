// SPDX-License-Identifier: Apache-2.0
#include "documents/reader.h"

#include <utility>

#include "base/logging.h"
#include "base/number.h"
#include "documents/xml.h"

namespace scout::documents {
pugi::xml_node Reader::only(const pugi::xml_node& parent, const char* element) {
    const auto child = parent.child(element);
    if (child.next_sibling(element)) {
        fault("expected one <" + std::string{element} + "> in " + describe(parent) +
              ", found more");
    }
    return child;
}

pugi::xml_node Reader::only_named(const pugi::xml_node& parent, const char* element,
                                  std::string_view name) {
    pugi::xml_node found;
    for (const auto& child : parent.children(element)) {
        if (name != child.attribute("name").value()) {
            continue;
        }
        if (found) {
            fault("expected one <" + std::string{element} + " name='" + std::string{name} +
                  "'> in " + describe(parent) + ", found more");
            break;
        }
        found = child;
    }
    return found;
}

std::string Reader::name(const pugi::xml_node& element) {
    return checked(text_of(element), element);
}

std::string Reader::name(const pugi::xml_node& parent, const char* element) {
    return name(only(parent, element));
}

std::string Reader::name_in(const pugi::xml_node& element, const char* attribute) {
    return checked(element.attribute(attribute).value(), element);
}

std::string Reader::checked(std::string_view text, const pugi::xml_node& where) {
    if (!is_plain_name(text)) {
        fault(name_fault(text, describe(where)));
        return {};
    }
    return std::string{text};
}

std::optional<std::uint64_t> Reader::number(const pugi::xml_node& element, const char* attribute,
                                            Range range) {
    const auto found = element.attribute(attribute);
    if (!found) {
        return std::nullopt;
    }
    return number_of(found.value(), std::string{attribute} + " of " + describe(element), range);
}

std::optional<std::uint64_t> Reader::number_in(const pugi::xml_node& element, Range range) {
    return element ? number_of(text_of(element), describe(element), range) : std::nullopt;
}

std::optional<std::uint64_t> Reader::number_of(std::string_view text, const std::string& what,
                                               Range range) {
    const auto value = whole_number(text);
    if (!value || *value < range.least || *value > range.most) {
        fault("expected " + what + " as a whole number from " + std::to_string(range.least) +
              " to " + std::to_string(range.most) + ", found " + log_value(text));
        return std::nullopt;
    }
    return value;
}

void Reader::refuse_strays(const pugi::xml_node& cpu) {
    if (const auto text = text_of(cpu); !text.empty()) {
        fault("expected only elements in " + describe(cpu) + ", found text: " + log_value(text));
    }
    for (const auto& child : cpu.children()) {
        const auto stray = child.find_node(
            [](const pugi::xml_node& node) { return std::string_view{node.name()} == "feature"; });
        if (stray) {
            fault("expected every <feature> right in " + describe(cpu) + ", found one in " +
                  describe(stray.parent()));
        }
    }
}

std::string_view Reader::policy_of(const pugi::xml_node& feature) {
    if (const auto policy = feature.attribute("policy")) {
        return policy.value();
    }
    for (const auto& attribute : feature.attributes()) {
        if (std::string_view{attribute.name()} != "name") {
            fault("expected the policy of a <feature> in attribute policy, found attribute " +
                  log_value(attribute.name()));
        }
    }
    return "require";
}

FeatureLists Reader::features(const pugi::xml_node& cpu) {
    refuse_strays(cpu);
    FeaturePolicies policies;
    for (const auto& feature : cpu.children("feature")) {
        auto name = name_in(feature, "name");
        const std::string_view policy = policy_of(feature);
        if (name.empty()) {
            fault("expected a name in every <feature>, found none");
            continue;
        }
        if (auto added = policies.add(std::move(name), policy); !added) {
            fault(std::move(added.error().message));
        }
    }
    return policies.take();
}

std::optional<migration::MaxPhysAddr> Reader::max_phys_addr(const pugi::xml_node& cpu) {
    // No architecture has wider addresses; libvirt's own bounds are those of an int.
    constexpr Range widths{.least = 1, .most = 64};
    const auto node = only(cpu, "maxphysaddr");
    if (!node) {
        return std::nullopt;
    }
    migration::MaxPhysAddr out{.mode = node.attribute("mode").value(), .bits = {}, .limit = {}};
    if (out.mode != "emulate" && out.mode != "passthrough") {
        fault("expected mode emulate or passthrough of <maxphysaddr>, found " +
              log_value(out.mode));
    }
    if (const auto bits = number(node, "bits", widths)) {
        out.bits = static_cast<unsigned>(*bits);
    }
    if (const auto limit = number(node, "limit", widths)) {
        out.limit = static_cast<unsigned>(*limit);
    }
    return out;
}

void Reader::fault(std::string message) {
    if (fault_.empty()) {
        fault_ = std::move(message);
    }
}

Status Reader::status() const {
    if (!fault_.empty()) {
        return fail(Errc::invalid, fault_);
    }
    return {};
}

}  // namespace scout::documents
