// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "aggregator/fleet.h"
#include "tests/support/fake_clock.h"
#include "tests/support/profiles.h"
#include "virt_scout/v1/report.pb.h"

namespace scout::aggregator {

/// Machine type that every host of these tests offers.
inline constexpr const char* machine = "q35";

[[nodiscard]] migration::Profile small_host();  ///< Small
[[nodiscard]] migration::Profile large_host();  ///< Large: takes guests of Small, not back
[[nodiscard]] migration::Profile other_host();  ///< of another vendor

/// A guest with the CPU of that host-model, running.
[[nodiscard]] Guest guest_of(Registry& registry, const std::string& uuid, const std::string& name,
                             const migration::Profile& profile);

[[nodiscard]] virt_scout::v1::Guest wire_guest(const std::string& uuid, const std::string& name,
                                               const migration::Profile& profile);

[[nodiscard]] virt_scout::v1::RemovedGuest removed_guest(const std::string& uuid,
                                                         const std::string& found_by);

/// A fleet of the small map, filled without any transport.
class FleetFixture : public ::testing::Test {
protected:
    /// An agent's node with this profile.
    void add_node(const std::string& name, const migration::Profile& profile);
    void add_guest(const std::string& node, const Guest& guest);
    /// "odd", whose CPU is not known for "too many features".
    void add_guest_without_cpu(const std::string& node);
    [[nodiscard]] const Node& node(const std::string& name) const {
        return *fleet.registry().find(name);
    }
    /// Time passes, and the registry looks at it.
    void pass(std::chrono::milliseconds time);

    test::FakeClock clock;
    Fleet fleet{{}, machine, test::small_map(), clock};
};

}  // namespace scout::aggregator
