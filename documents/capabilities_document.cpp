// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "documents/profile_document.h"
#include "documents/xml.h"

namespace scout::documents {
namespace {

std::vector<std::string> machine_types(const pugi::xml_node& root) {
    std::vector<std::string> machines;
    for (const auto& guest : root.children("guest")) {
        for (const auto& machine : guest.child("arch").children("machine")) {
            machines.push_back(text_of(machine));
        }
    }
    return migration::make_feature_set(std::move(machines));
}

void read_tsc(const pugi::xml_node& cpu, migration::HostFacts& facts) {
    for (const auto& counter : cpu.children("counter")) {
        if (std::string_view{counter.attribute("name").value()} == "tsc") {
            facts.tsc_hz = number(counter.attribute("frequency").value());
            facts.tsc_scalable = std::string_view{counter.attribute("scaling").value()} == "yes";
        }
    }
}

}  // namespace

Result<Capabilities> parse_capabilities(std::string_view xml) {
    pugi::xml_document document;
    if (auto loaded = load(document, xml); !loaded) {
        return fail(std::move(loaded.error()));
    }
    const auto root = document.document_element();
    if (std::string_view{root.name()} != "capabilities") {
        return fail(Errc::invalid, "expected the <capabilities> of `virsh capabilities`, found <" +
                                       std::string{root.name()} + ">");
    }
    const auto host = root.child("host");
    Capabilities out;
    out.arch = text_of(host.child("cpu").child("arch"));
    out.machines = machine_types(root);
    read_tsc(host.child("cpu"), out.facts);
    const auto cells = host.child("topology").child("cells").children("cell");
    const auto count = std::distance(cells.begin(), cells.end());
    out.facts.numa_cells = static_cast<std::uint32_t>(count);
    return out;
}

}  // namespace scout::documents
