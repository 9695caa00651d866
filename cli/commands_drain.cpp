// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "cli/progress.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cluster/drain_plan.h"

/// `drain-plan`: how the VMs of a node can leave it.
namespace scout::cli {

int run_drain_plan(Session& session, const Request& request) {
    const auto map = session.map();
    if (!map) {
        return session.fail_with(map.error());
    }
    const auto dump = session.objects_of_places();
    if (!dump) {
        return session.fail_with(Error{dump.error()}.within("drain-plan"));
    }
    const auto plan = [&session, &dump, &request, &map] {
        const Progress progress(session.waits_for(), session.progress());
        return cluster::drain_plan(dump->objects, request.subject, dump->moment, *map);
    }();
    return plan ? session.show(*plan) : session.fail_with(Error{plan.error()}.within("drain-plan"));
}

}  // namespace scout::cli
