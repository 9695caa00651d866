// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/documented_fields.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>
#include <stdexcept>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace scout::cli::test {

std::set<std::string> documented_fields(std::string_view section) {
    std::ifstream in(SCOUT_JSON_CONTRACT);
    const auto heading = "## " + std::string(section);
    // A name in quotes that is no value: not behind a colon.
    const std::regex field(R"re((: )?"([A-Za-z]+)")re");
    std::set<std::string> fields;
    bool here = false;
    bool code = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("## ")) {
            here = line == heading;
        } else if (line.starts_with("```")) {
            code = !code;
        } else if (here && code) {
            for (auto at = std::sregex_iterator(line.begin(), line.end(), field);
                 at != std::sregex_iterator{}; ++at) {
                if (!(*at)[1].matched) {
                    fields.insert((*at)[2]);
                }
            }
        }
    }
    if (fields.empty()) {
        throw std::runtime_error("no section '" + heading + "' with fields");
    }
    return fields;
}

void add_fields(const boost::json::value& value, std::set<std::string>& fields) {
    constexpr std::array<std::string_view, 6> opaque{"labels",
                                                     "losses",
                                                     "lossesNotKnown",
                                                     "reasons",
                                                     "namespaceSelector",
                                                     "virtualMachineInstanceSelector"};
    if (const auto* object = value.if_object()) {
        for (const auto& member : *object) {
            const std::string name(member.key());
            fields.insert(name);
            if (std::find(opaque.begin(), opaque.end(), name) == opaque.end()) {
                add_fields(member.value(), fields);
            }
        }
    } else if (const auto* array = value.if_array()) {
        for (const auto& each : *array) {
            add_fields(each, fields);
        }
    }
}

}  // namespace scout::cli::test
