// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <openssl/types.h>

#include "base/clock.h"

namespace scout::test {

/// A key of a cluster, and what is signed by it.
class TokenSigner {
public:
    enum class Kind { rsa, p256 };
    TokenSigner(Kind kind, std::string id);

    /// Header and claims as given, with a signature by this key.
    [[nodiscard]] std::string sign(const boost::json::object& header,
                                   const boost::json::object& claims) const;
    /// With the header that fits.
    [[nodiscard]] std::string sign(const boost::json::object& claims) const;

    /// Its public half as an entry of a key set.
    [[nodiscard]] boost::json::object published() const;

private:
    Kind kind_;
    std::string id_;
    std::shared_ptr<EVP_PKEY> key_;
};

[[nodiscard]] std::string key_set(const std::vector<boost::json::object>& keys);

/// Claims as the kubelet gets them for a pod, an hour from `now`: audience virt-scout, account
/// scout/virt-scout-agent, pod agent-x on that node.
[[nodiscard]] boost::json::object claims_of_pod(std::string_view node, WallTime now);

[[nodiscard]] std::string base64url(std::string_view bytes);

}  // namespace scout::test
