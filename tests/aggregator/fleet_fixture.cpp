// SPDX-License-Identifier: Apache-2.0
#include "tests/aggregator/fleet_fixture.h"

#include <memory>

#include "wire/convert.h"

namespace scout::aggregator {

migration::Profile small_host() {
    return test::host({.model = "Small",
                       .vendor = "Intel",
                       .require = {},
                       .disable = {},
                       .usable = {"Small", "Generic"},
                       .not_usable = {"Large"},
                       .machines = {machine}});
}

migration::Profile large_host() {
    return test::host({.model = "Large",
                       .vendor = "Intel",
                       .require = {},
                       .disable = {},
                       .usable = {"Small", "Large", "Generic"},
                       .not_usable = {},
                       .machines = {machine}});
}

migration::Profile other_host() {
    return test::host({.model = "Other",
                       .vendor = "AMD",
                       .require = {},
                       .disable = {},
                       .usable = {"Other", "Generic"},
                       .not_usable = {},
                       .machines = {machine}});
}

Guest guest_of(Registry& registry, const std::string& uuid, const std::string& name,
               const migration::Profile& profile) {
    auto cpu = migration::host_model_guest(profile);
    cpu.mode = migration::CpuMode::custom;
    Guest guest;
    guest.uuid = uuid;
    guest.name = name;
    guest.state = "running";
    guest.since_unix_ms = 1'700'000'000'000;
    guest.memory_kib = 1'048'576;
    guest.cpu = registry.share(std::move(cpu));
    return guest;
}

virt_scout::v1::Guest wire_guest(const std::string& uuid, const std::string& name,
                                 const migration::Profile& profile) {
    auto cpu = migration::host_model_guest(profile);
    cpu.mode = migration::CpuMode::custom;
    virt_scout::v1::Guest guest;
    guest.set_uuid(uuid);
    guest.set_name(name);
    guest.set_state("running");
    guest.set_found_by("event");
    *guest.mutable_cpu() = wire::to_wire(cpu);
    return guest;
}

virt_scout::v1::RemovedGuest removed_guest(const std::string& uuid, const std::string& found_by) {
    virt_scout::v1::RemovedGuest guest;
    guest.set_uuid(uuid);
    guest.set_found_by(found_by);
    return guest;
}

void FleetFixture::add_node(const std::string& name, const migration::Profile& profile) {
    auto& registry = fleet.registry();
    const Introduction introduction{
        .node = name, .host_identity = "id-of-" + name, .agent_version = "0.1.0"};
    ASSERT_TRUE(registry.introduce(introduction, clock.steady()));
    HostReport report;
    report.profile_digest = wire::profile_digest(profile);
    report.source = "embedded";
    ASSERT_TRUE(registry.report_host(name, report));
    registry.deliver(report.profile_digest, profile);
}

void FleetFixture::add_guest(const std::string& node, const Guest& guest) {
    ASSERT_TRUE(fleet.registry().change_guests(node, {guest}, {}));
}

void FleetFixture::add_guest_without_cpu(const std::string& node) {
    Guest guest;
    guest.uuid = "u9";
    guest.name = "odd";
    guest.cpu_error = "too many features";
    add_guest(node, guest);
}

void FleetFixture::pass(std::chrono::milliseconds time) {
    clock.advance(time);
    fleet.registry().tick(clock.steady());
}

}  // namespace scout::aggregator
