// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <boost/json/object.hpp>

// Real objects of SCOUT_TEST_DATA as an API server takes them.

namespace scout::test {

/// The captured nodes by name, without what only a server sets. Of a node that was captured twice
/// the first.
[[nodiscard]] std::map<std::string, boost::json::object> captured_nodes(
    const std::filesystem::path& data);

/// The definitions of stock KubeVirt, by name.
[[nodiscard]] std::map<std::string, boost::json::object> kubevirt_definitions(
    const std::filesystem::path& data);

/// Makes of a definition of stock KubeVirt that of one with the fields that proposals ask for:
/// host-model-migratability in KubeVirt, added-node-selector-term in
/// VirtualMachineInstanceMigration. Others stay.
void add_proposed_fields(boost::json::object& definition);

}  // namespace scout::test
