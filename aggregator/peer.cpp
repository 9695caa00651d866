// SPDX-License-Identifier: Apache-2.0
#include "aggregator/peer.h"

#include <algorithm>

#include "base/logging.h"
#include "migration/feature_set.h"

namespace scout::aggregator {

Status check_proof(const Peer& peer, const std::string& node) {
    if (peer.proof == Proof::none ||
        std::find(peer.names.begin(), peer.names.end(), node) != peer.names.end()) {
        return {};
    }
    const auto names =
        peer.names.empty() ? std::string{"no name"} : log_value(migration::join(peer.names));
    return fail(Errc::refused,
                "a report for node " + node + " is refused: " +
                    (peer.proof == Proof::token
                         ? "the token is of pod " + log_value(peer.pod) + " on node " + names +
                               ": node-name must be the name of the node that the pod runs on"
                         : "the certificate is for " + names +
                               ": issue one with the node's name as common or DNS name"));
}

}  // namespace scout::aggregator
