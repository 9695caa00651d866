// SPDX-License-Identifier: Apache-2.0
// Reading one expanded x86 domain-capabilities document, beside the bare XML parse of the same
// text.
#include <string>

#include <pugixml.hpp>

#include "bench/report.h"
#include "documents/profile_document.h"

namespace {

using namespace scout;

/// About what libvirt 11 writes with expanded features: 110 models, half with blockers, 200
/// features.
std::string expanded_document() {
    std::string xml =
        "<domainCapabilities><path>/usr/bin/qemu-system-x86_64</path><domain>kvm</domain>"
        "<machine>pc-q35-9.1</machine><arch>x86_64</arch><cpu>"
        "<mode name='host-model' supported='yes'><model fallback='forbid'>Server-v3</model>"
        "<vendor>Intel</vendor>";
    for (int i = 0; i < 200; ++i) {
        xml += "\n      <feature policy='require' name='feature-" + std::to_string(i) + "'/>";
    }
    xml += "</mode><mode name='custom' supported='yes'>";
    for (int i = 0; i < 110; ++i) {
        const auto name = "Server-Model-v" + std::to_string(i);
        xml += "\n      <model usable='no' vendor='Intel'>" + name + "</model>";
        xml += "\n      <blockers model='" + name + "'>";
        for (int k = 0; k < (i % 2) * 40; ++k) {
            xml += "\n        <feature name='feature-" + std::to_string(200 + k) + "'/>";
        }
        xml += "</blockers>";
    }
    return xml + "</mode></cpu></domainCapabilities>";
}

}  // namespace

int main() {
    const auto xml = expanded_document();
    constexpr int repeats = 100;
    const double ours =
        bench::best_cpu_seconds(5,
                                [&xml] {
                                    for (int i = 0; i < repeats; ++i) {
                                        static_cast<void>(documents::parse_profile(xml).value());
                                    }
                                }) /
        repeats;
    const double peer =
        bench::best_cpu_seconds(5,
                                [&xml] {
                                    for (int i = 0; i < repeats; ++i) {
                                        pugi::xml_document document;
                                        document.load_buffer(xml.data(), xml.size());
                                    }
                                }) /
        repeats;
    bench::row("parse of an expanded x86 document (" + std::to_string(xml.size() / 1024) + " KiB)",
               bench::duration(ours), "bare XML parse " + bench::duration(peer),
               std::to_string(ours / peer).substr(0, 4) + " x", "< 3 ms", ours < 3e-3);
    return 0;
}
