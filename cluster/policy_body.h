// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "kube/client.h"
#include "migration/migration_policy.h"

/// MigrationPolicies as they are made, read and removed at the API server. Pure.
namespace scout::cluster {

/// An empty name: all of them.
[[nodiscard]] kube::Target policy_target(std::string name);

/// The spec of a policy's text; none: it has none that can be copied.
[[nodiscard]] std::optional<boost::json::object> policy_spec(std::string_view body);

/// `spec` with these selectors instead of its own.
[[nodiscard]] std::string policy_body(boost::json::object metadata,
                                      const migration::PolicySelectors& selectors,
                                      boost::json::object spec);

}  // namespace scout::cluster
