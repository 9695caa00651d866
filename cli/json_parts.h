// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "migration/guest.h"
#include "migration/labels.h"
#include "migration/profile.h"
#include "migration/verdict.h"

/// Pieces that several JSON answers share.
namespace scout::cli {

/// A string value in valid UTF-8.
[[nodiscard]] boost::json::value json_text(std::string_view text);

/// The same, null where the text is empty: "not known" and "none" are null in the contract.
[[nodiscard]] boost::json::value json_text_or_null(std::string_view text);

[[nodiscard]] boost::json::array json_list(const std::vector<std::string>& names);
[[nodiscard]] boost::json::value json_list_or_null(
    const std::optional<std::vector<std::string>>& names);
/// The same of sentences, which are cut like all text for people.
[[nodiscard]] boost::json::array json_sentences(const std::vector<std::string>& sentences);
[[nodiscard]] boost::json::object json_labels(const migration::Labels& labels);
[[nodiscard]] boost::json::array json_reasons(const std::vector<migration::Reason>& reasons);

/// An object that starts with `schema`.
[[nodiscard]] boost::json::object json_answer();

/// A guest's CPU as `node` and `guests` show it.
[[nodiscard]] boost::json::object json_guest_cpu(const migration::GuestCpu& cpu);

}  // namespace scout::cli
