// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "migration/named_target.h"
#include "migration/node_selector.h"

namespace scout::cluster {

/// The annotation of a migration that carries a term, where its own field is not served (design
/// §4).
inline constexpr std::string_view term_annotation = "virt-scout.io/added-node-selector-term";

/// A NodeSelectorTerm as it stands in a tree: one object, or a list of exactly one, for the
/// proposal shows both. Only the form is read; for the rest see migration::request_faults(). None:
/// something is wrong, and is in `faults`: wrong types, unknown fields, another number of terms,
/// nothing at all. Pure.
[[nodiscard]] std::optional<migration::NodeSelectorTerm> read_term(const boost::json::value& value,
                                                                   std::string_view path,
                                                                   migration::MoveReasons& faults);

/// The same as the text of an annotation, YAML or JSON. Also wrong: more than
/// migration::most_term_bytes, which is what the API server takes of annotations.
[[nodiscard]] std::optional<migration::NodeSelectorTerm> read_term_text(
    std::string_view text, std::string_view path, migration::MoveReasons& faults);

/// As the API server writes them: lists without entries are left out.
[[nodiscard]] boost::json::array json_of(
    const std::vector<migration::NodeRequirement>& requirements);
[[nodiscard]] boost::json::object json_of(const migration::NodeSelectorTerm& term);

/// Where a migration may carry a term: the proposal's field where it is served, and the annotation.
struct TermCarriers {
    const boost::json::value* field = nullptr;  ///< null: there is none
    std::optional<std::string> annotation = std::nullopt;

    [[nodiscard]] bool empty() const noexcept { return field == nullptr && !annotation; }
};
struct CarriedTerm {
    std::optional<migration::NodeSelectorTerm> term;  ///< none: there is none, or it is wrong
    std::string_view path;                            ///< where it stands; refers to a literal
};

/// Also wrong: terms in both that differ.
[[nodiscard]] CarriedTerm read_carriers(const TermCarriers& carriers,
                                        migration::MoveReasons& faults);

}  // namespace scout::cluster
