// SPDX-License-Identifier: Apache-2.0
#include "fleet/fleet.h"

namespace scout::fleet {

Result<cluster::CauseStory> Fleet::why(const std::string& name) {
    return fail(Errc::invalid,
                "what became of " + name +
                    " is kept by the aggregator of a cluster alone: expected --aggregator kube:, "
                    "--live, or --from with a dump");
}

}  // namespace scout::fleet
