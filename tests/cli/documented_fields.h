// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

namespace scout::cli::test {

/// Names of the fields in the code blocks of one section ("## <section>") of docs/json.md.
[[nodiscard]] std::set<std::string> documented_fields(std::string_view section);

/// Adds the names of all fields in the value; keys that are data (labels, hosts of losses) and the
/// fields of reasons, which have a paragraph of their own, are left out.
void add_fields(const boost::json::value& value, std::set<std::string>& fields);

}  // namespace scout::cli::test
