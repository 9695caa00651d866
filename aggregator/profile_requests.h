// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "aggregator/session_id.h"
#include "base/clock.h"

namespace scout::aggregator {

/// Which stream is asked for the body of a profile: of all that wait for it one, and if it does not
/// deliver in time, the next. Pure but for the call that asks. Loop thread.
class ProfileRequests {
public:
    using Ask = std::function<void(SessionId session, const std::string& digest)>;

    explicit ProfileRequests(Ask ask) : ask_(std::move(ask)) {}

    /// The stream's node has this profile, and nobody has told it. It waits for one at a time.
    void want(SessionId session, const std::string& digest, SteadyTime now);
    [[nodiscard]] bool waits(SessionId session, const std::string& digest) const;
    /// The stream waits for nothing any more: it is over, or its node has another profile.
    void forget(SessionId session, SteadyTime now);
    /// It has come: nobody waits for it any more.
    void delivered(const std::string& digest);
    /// All streams are over.
    void clear();

    /// Asks again for what did not come.
    void tick(SteadyTime now);

private:
    struct Wanted {
        SessionId asked = 0;
        SteadyTime asked_at{};
        std::set<SessionId> waiting;
    };

    void ask(const std::string& digest, Wanted& wanted, SteadyTime now);

    Ask ask_;
    std::map<std::string, Wanted> wanted_;                  ///< by digest
    std::unordered_map<SessionId, std::string> waits_for_;  ///< digests
};

}  // namespace scout::aggregator
