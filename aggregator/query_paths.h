// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/questions.h"
#include "base/result.h"
#include "kube/reviews.h"

// The aggregated API's paths, in the manner of Kubernetes. Pure.

namespace scout::aggregator {

inline constexpr std::string_view query_group = "query.virt-scout.io";
inline constexpr std::string_view query_version = "v1alpha1";
/// "/apis/query.virt-scout.io"
inline constexpr std::string_view query_root = "/apis/query.virt-scout.io";

/// What the API has, as a discovery document; nothing for paths of questions.
[[nodiscard]] std::optional<std::string> discovery_document(std::string_view path);

/// Of a GET: both parts percent-encoded, as they came. What the user may see is left alone. Errors:
/// not_found for a path that has no question, invalid for names that nothing can have and for
/// parameters that are too many or too long.
[[nodiscard]] Result<Question> parse_question(std::string_view path, std::string_view query);

/// "list nodes"
[[nodiscard]] kube::AccessQuestion listing_nodes();
/// "list virtualmachineinstances" of all namespaces
[[nodiscard]] kube::AccessQuestion listing_vmis();

/// Which rights a user needs for the answer. With listing_nodes() among them the answer may name
/// nodes; who asks for one of the other kinds may lack that right.
[[nodiscard]] std::vector<kube::AccessQuestion> needed_rights(const Question& question);
[[nodiscard]] bool is_about_nodes(const Question& question);
/// Of a node, with VMIs by name to who may list them.
[[nodiscard]] bool adds_vmis(const Question& question);

}  // namespace scout::aggregator
