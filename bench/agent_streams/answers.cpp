// SPDX-License-Identifier: Apache-2.0
#include "bench/agent_streams/answers.h"

#include <algorithm>
#include <functional>
#include <string>

#include "aggregator/queries.h"
#include "aggregator/snapshot_messages.h"
#include "bench/report.h"
#include "migration/guest.h"
#include "virt_scout/v1/fleet.pb.h"
#include "wire/convert.h"

namespace scout::bench {
namespace {

namespace v1 = virt_scout::v1;

constexpr double turn_limit = 0.050;
constexpr int runs = 3;

void tell(const std::string& what, double longest, double whole) {
    row("loop held up by " + what, duration(longest), duration(whole) + " in all", "", "<= 50 ms",
        longest <= turn_limit);
}

void tell(const std::string& what, const std::function<void()>& work) {
    const auto took = best_cpu_seconds(runs, work);
    tell(what, took, took);
}

/// `turn`: true for the last one.
void tell_turns(const std::string& what, const std::function<bool()>& turn) {
    double longest = 0;
    double whole = 0;
    for (bool last = false; !last;) {
        const auto took = cpu_seconds([&turn, &last] { last = turn(); });
        longest = std::max(longest, took);
        whole += took;
    }
    tell(what, longest, whole);
}

template <class Response>
void tell(const std::string& what, aggregator::Sweep<Response> sweep) {
    tell_turns(what, [&sweep] { return sweep.turn(); });
}

/// A guest that lists every feature, so that no map is needed to compare it.
v1::WhereRequest about(const migration::Profile& profile, bool pinned) {
    auto guest = migration::host_model_guest(profile);
    guest.require = profile.supported;
    guest.require.insert(guest.require.end(), {"cx8", "fpu", "mmx"});
    if (pinned) {
        guest.tsc_hz = 2'000'000'000;
    }
    v1::WhereRequest request;
    *request.mutable_subject()->mutable_described() = wire::to_wire(guest);
    return request;
}

}  // namespace

void measure_answers(const aggregator::Fleet& fleet) {
    const auto& ask = fleet.queries();
    const auto now = fleet.now();
    const auto& profile = fleet.registry().nodes().begin()->second.profile->profile;
    tell("nodes", ask.nodes(now));
    tell("guests", ask.guests({}, now).value());
    tell("where", ask.where(about(profile, false), now).value());
    tell("where, TSC pinned", ask.where(about(profile, true), now).value());
    tell("matrix", [&ask] { static_cast<void>(ask.matrix()); });
    tell("baseline", [&ask, now] { static_cast<void>(ask.baseline({}, now)); });
    aggregator::SnapshotEncoder snapshot(fleet.registry(), fleet.wall());
    tell_turns("snapshot", [&snapshot, now] { return snapshot.turn(now); });
}

}  // namespace scout::bench
