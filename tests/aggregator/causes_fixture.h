// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "aggregator/cause_history.h"
#include "aggregator/launcher_ends.h"
#include "aggregator/migration_causes.h"
#include "tests/aggregator/mover_fixture.h"

namespace scout::aggregator {

/// What finds out why launchers ended and who wanted migrations, before an API server of the test
/// that also answers calls: migrations by name, and Events by the object that they are about.
class CausesFixture : public MoverFixture {
protected:
    CausesFixture();

    /// Runs all. Launchers are judged so long after their end.
    void start_causes(std::chrono::milliseconds settle = {});

    /// A launcher pod of VM shop/web.
    [[nodiscard]] static boost::json::object launcher(const std::string& name,
                                                      boost::json::object status,
                                                      boost::json::object metadata = {});
    /// A migration of VM shop/web; it is listed and can be read.
    void put_full_move(const std::string& name, boost::json::object metadata,
                       boost::json::object spec, boost::json::object status);
    /// An Event about "Pod/virt-launcher-web-a", "Node/n1", …
    void put_event(const std::string& about, const std::string& reason, const std::string& message);
    /// The bodies of what was written on that migration.
    [[nodiscard]] std::vector<boost::json::object> written(const std::string& name) const;
    /// The notes of Events of that reason.
    [[nodiscard]] std::vector<std::string> told(const std::string& reason) const;
    [[nodiscard]] std::uint64_t ends(migration::Cause cause) const {
        return launcher_ends->counters().at(static_cast<std::size_t>(cause));
    }
    [[nodiscard]] std::string now() const { return rfc3339(clock.wall()); }

    CauseHistory history;
    std::optional<LauncherEnds> launcher_ends;
    std::optional<MigrationCauses> migration_causes;
    std::map<std::string, boost::json::object> moves;
    std::map<std::string, std::vector<boost::json::object>> event_objects;
    unsigned refuse_writes = 0;  ///< the status with which they are answered; 0: they are taken

private:
    [[nodiscard]] kube::HttpResponse answer_to(const kube::HttpRequest& request) const;
};

}  // namespace scout::aggregator
