// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "aggregator/serving_authority.h"
#include "base/result.h"
#include "kube/resource.h"

// The objects in which our authority lies and is made known, as JSON. Pure.

namespace scout::aggregator {

/// A Secret with `ca.crt`, `ca.key` and, after a renewal, `ca-previous.crt`.
struct AuthoritySecret {
    std::string version;        ///< resourceVersion; empty: there is no such object
    StoredAuthority authority;  ///< as it lies there: may be damaged, keys may be missing
};

/// Errc::invalid for what is no JSON object.
[[nodiscard]] Result<AuthoritySecret> parse_authority_secret(std::string_view body);
[[nodiscard]] std::string authority_secret_json(const kube::ObjectName& name,
                                                const StoredAuthority& authority);
/// The merge patch that puts another authority there, unless somebody else wrote in between.
[[nodiscard]] std::string authority_secret_patch(const AuthoritySecret& found,
                                                 const StoredAuthority& authority);

/// A ConfigMap with the bundle as `ca.crt`.
[[nodiscard]] std::string bundle_map_json(const kube::ObjectName& name, const std::string& bundle);
[[nodiscard]] Result<std::string> parse_bundle_map(std::string_view body);

/// The JSON patch that gives the bundle to each webhook of a configuration, mutating or validating,
/// and to no other object and no other webhook; empty if all have it.
[[nodiscard]] Result<std::string> webhook_patch(std::string_view configuration,
                                                const std::string& bundle);
/// The same for an APIService.
[[nodiscard]] Result<std::string> api_service_patch(std::string_view service,
                                                    const std::string& bundle);

}  // namespace scout::aggregator
