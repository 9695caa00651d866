// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace scout::aggregator {

/// By what agents prove which node they speak for; by nothing it is anybody who can reach the
/// address.
enum class Proof : std::uint8_t { none, certificate, token };

/// Who is at the other end of a stream.
struct Peer {
    Proof proof = Proof::none;
    /// Common name and DNS names of the certificate, or the node of the token, if proven.
    std::vector<std::string> names;
    std::string pod = {};  ///< "namespace/name", of a token
};

/// A host may speak for the node that its certificate or token names, and for no other:
/// Errc::refused with both and what to do. Pure.
[[nodiscard]] Status check_proof(const Peer& peer, const std::string& node);

}  // namespace scout::aggregator
