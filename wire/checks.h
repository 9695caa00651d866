// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

#include "base/result.h"
#include "migration/feature_set.h"

/// Size limits on what comes over the wire: nothing from outside may grow memory without bound.
namespace scout::wire {

inline constexpr std::size_t name_limit = 253;       ///< bytes of a name of any kind
inline constexpr std::size_t text_limit = 4096;      ///< bytes of a sentence
inline constexpr std::size_t list_limit = 4096;      ///< entries of a list
inline constexpr std::size_t nodes_limit = 200'000;  ///< nodes in one answer about a fleet

using RepeatedText = google::protobuf::RepeatedPtrField<std::string>;

/// Collects the first fault of a message, so that converters read as straight lists of fields.
class Checks {
public:
    /// The text itself; a text over the limit is noted as a fault of `field`.
    [[nodiscard]] std::string name(std::string_view field, const std::string& text);
    [[nodiscard]] std::vector<std::string> names(std::string_view field, const RepeatedText& texts,
                                                 std::size_t limit = list_limit);
    /// Like names(), sorted and without repeats, whatever the sender did.
    [[nodiscard]] migration::FeatureSet set(std::string_view field, const RepeatedText& texts);
    /// False, and a fault of `field`, if there are more entries than the limit.
    [[nodiscard]] bool count(std::string_view field, int found, std::size_t limit = list_limit);
    /// "event" or "resync"; anything else is noted.
    [[nodiscard]] std::string found_by(std::string_view field, const std::string& text);
    /// Milliseconds of a time from 1970 to 9999, which every reader can print.
    [[nodiscard]] std::int64_t unix_ms(std::string_view field, std::int64_t time);
    void fault(std::string_view field, std::string_view expected, std::string_view found);

    /// Errc::invalid with the first fault.
    [[nodiscard]] Status status() const;

private:
    std::string fault_;
};

/// Cut at the limit, at a character's edge of UTF-8.
[[nodiscard]] std::string cut(std::string_view text, std::size_t limit = name_limit);

}  // namespace scout::wire
