// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <utility>

#include "base/logging.h"
#include "documents/profile_document.h"
#include "documents/reader.h"
#include "documents/xml.h"

namespace scout::documents {
namespace {

std::vector<std::string> machine_types(const pugi::xml_node& root, Reader& reader) {
    std::vector<std::string> machines;
    for (const auto& guest : root.children("guest")) {
        for (const auto& machine : guest.child("arch").children("machine")) {
            machines.push_back(reader.name(machine));
        }
    }
    return migration::make_feature_set(std::move(machines));
}

void read_tsc(const pugi::xml_node& cpu, migration::HostFacts& facts, Reader& reader) {
    const auto counter = reader.only_named(cpu, "counter", "tsc");
    if (!counter) {
        return;
    }
    const std::string_view scaling = counter.attribute("scaling").as_string("no");
    if (scaling != "yes" && scaling != "no") {
        reader.fault("expected scaling='yes' or 'no' in <counter name='tsc'>, found " +
                     log_value(scaling));
    }
    facts.tsc_hz = reader.number(counter, "frequency", {.least = 1});
    facts.tsc_scalable = scaling == "yes";
}

}  // namespace

Result<Capabilities> parse_capabilities(std::string_view xml) {
    pugi::xml_document document;
    if (auto loaded = load(document, xml); !loaded) {
        return fail(std::move(loaded.error()));
    }
    const auto root = document.document_element();
    if (std::string_view{root.name()} != "capabilities") {
        return fail(Errc::invalid,
                    "expected the <capabilities> of `virsh capabilities`, found " + describe(root));
    }
    Reader reader;
    const auto host = reader.only(root, "host");
    const auto cpu = reader.only(host, "cpu");
    Capabilities out;
    out.arch = reader.name(cpu, "arch");
    out.machines = machine_types(root, reader);
    read_tsc(cpu, out.facts, reader);
    const auto cells = reader.only(reader.only(host, "topology"), "cells").children("cell");
    const auto count = std::distance(cells.begin(), cells.end());
    out.facts.numa_cells = static_cast<std::uint32_t>(count);
    if (auto status = reader.status(); !status) {
        return fail(std::move(status.error()));
    }
    return out;
}

}  // namespace scout::documents
