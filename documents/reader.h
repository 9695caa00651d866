// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <pugixml.hpp>

#include "base/result.h"
#include "documents/domain_rules.h"
#include "migration/profile.h"

namespace scout::documents {

/// Bounds of a number, both allowed.
struct Range {
    std::uint64_t least = 0;
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

/// What libvirt counts vCPUs in.
inline constexpr Range vcpu_counts{.least = 1, .most = std::numeric_limits<unsigned>::max()};

/// Reads the parts of one document and notes its first fault, so that readers are straight lists of
/// fields: whoever uses one hands out its result only if status() is good. Nothing that is damaged
/// or said twice counts as if it were not there. Private to this library.
class Reader {
public:
    /// The only child of that name, none if there is no such child. Two are a fault: libvirt would
    /// take the first, and whoever wrote the document may have meant the other.
    [[nodiscard]] pugi::xml_node only(const pugi::xml_node& parent, const char* element);
    /// Likewise among the children of one kind that carry this `name` attribute.
    [[nodiscard]] pugi::xml_node only_named(const pugi::xml_node& parent, const char* element,
                                            std::string_view name);

    /// Text of an element, or of the only child of that name; empty if there is none. A text over
    /// longest_name or with control characters is a fault.
    [[nodiscard]] std::string name(const pugi::xml_node& element);
    [[nodiscard]] std::string name(const pugi::xml_node& parent, const char* element);
    /// Value of an attribute under the same limits.
    [[nodiscard]] std::string name_in(const pugi::xml_node& element, const char* attribute);

    /// A whole decimal number within the range; none if there is no such attribute. Any other text
    /// is a fault.
    [[nodiscard]] std::optional<std::uint64_t> number(const pugi::xml_node& element,
                                                      const char* attribute, Range range = {});
    /// The same of an element's text.
    [[nodiscard]] std::optional<std::uint64_t> number_in(const pugi::xml_node& element,
                                                         Range range = {});

    /// The `<feature>` children. Rule: virCPUDefParseXML of libvirt; a feature that is there twice
    /// with one policy is harmless, though libvirt refuses that too. Faults beside its own: text
    /// between the elements, features inside of another element, and attributes that may be a
    /// misspelt policy; libvirt would pass over all of them.
    [[nodiscard]] FeatureLists features(const pugi::xml_node& cpu);

    /// `<maxphysaddr>`; none if there is none. Rule: virCPUDefParseXML of libvirt.
    [[nodiscard]] std::optional<migration::MaxPhysAddr> max_phys_addr(const pugi::xml_node& cpu);

    void fault(std::string message);

    /// Errc::invalid with the first fault.
    [[nodiscard]] Status status() const;

private:
    void refuse_strays(const pugi::xml_node& cpu);
    [[nodiscard]] std::string_view policy_of(const pugi::xml_node& feature);
    [[nodiscard]] std::string checked(std::string_view text, const pugi::xml_node& where);
    [[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view text,
                                                         const std::string& what, Range range);

    std::string fault_;
};

}  // namespace scout::documents
