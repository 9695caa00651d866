// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/host_model_cpu.h"

#include <sstream>

#include <pugixml.hpp>

#include "base/files.h"

namespace scout::libvirt_glue {

Result<std::string> host_model_cpu(std::string_view domain_capabilities) {
    if (domain_capabilities.size() > document_limit) {
        return fail(Errc::invalid, "domain capabilities: expected at most " +
                                       std::to_string(document_limit) + " bytes, found " +
                                       std::to_string(domain_capabilities.size()));
    }
    pugi::xml_document document;
    const auto parsed =
        document.load_buffer(domain_capabilities.data(), domain_capabilities.size());
    if (!parsed) {
        return fail(Errc::invalid,
                    std::string("domain capabilities: not readable: ") + parsed.description());
    }
    const auto modes = document.child("domainCapabilities").child("cpu");
    const auto mode = modes.find_child_by_attribute("mode", "name", "host-model");
    if (std::string_view(mode.attribute("supported").value()) != "yes") {
        return fail(Errc::not_found, "the hypervisor supports no host-model here");
    }
    pugi::xml_document alone;
    auto cpu = alone.append_child("cpu");
    for (const auto part : mode.children()) {
        cpu.append_copy(part);
    }
    std::ostringstream text;
    alone.save(text, "", pugi::format_raw | pugi::format_no_declaration);
    return text.str();
}

}  // namespace scout::libvirt_glue
