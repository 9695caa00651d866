// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/host_probe.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "documents/profile_document.h"
#include "libvirt_glue/errors.h"
#include "libvirt_glue/handles.h"
#include "libvirt_glue/kvm_device.h"

namespace scout::libvirt_glue {
namespace {

using hypervisor::HostDocuments;
using hypervisor::MachineDocument;

// Part of libvirt's ABI whatever headers this was built with; an older library refuses them.
#if LIBVIR_VERSION_NUMBER >= 12002000
constexpr unsigned expand_features = VIR_CONNECT_GET_DOMAIN_CAPABILITIES_EXPAND_CPU_FEATURES;
#else
constexpr unsigned expand_features = 1U << 1U;
#endif
#if LIBVIR_VERSION_NUMBER >= 12005000
constexpr unsigned supported_features = VIR_CONNECT_GET_DOMAIN_CAPABILITIES_SUPPORTED_CPU_FEATURES;
#else
constexpr unsigned supported_features = 1U << 2U;
#endif

std::vector<std::string> machines_of(std::string_view arch) {
    if (arch == "x86_64" || arch == "i686") {
        return {"q35", "pc"};
    }
    if (arch == "aarch64") {
        return {"virt"};
    }
    if (arch == "s390x") {
        return {"s390-ccw-virtio"};
    }
    return {""};
}

/// The labeller asks for supported features on these only (dossier §5.1).
bool has_cpu_baseline(std::string_view arch) {
    return arch == "x86_64" || arch == "s390x";
}

const char* or_null(const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
}

/// "9000002" -> "9.0.2": millions, thousands, units.
std::string version_text(unsigned long version) {
    return std::to_string(version / 1'000'000) + '.' + std::to_string(version / 1'000 % 1'000) +
           '.' + std::to_string(version % 1'000);
}

Status check_size(std::string_view what, std::string_view text) {
    if (text.size() > document_limit) {
        return fail(Errc::invalid, std::string(what) + ": expected at most " +
                                       std::to_string(document_limit) + " bytes, found " +
                                       std::to_string(text.size()));
    }
    return {};
}

/// One walk through the questions on an open connection.
class Probe {
public:
    Probe(virConnectPtr connection, const HostQuestion& question)
        : connection_(connection), question_(question) {
        out_.uri = question.uri;
    }

    Result<HostDocuments> run() {
        auto asked = ask_host();
        if (asked) {
            asked = ask_machines();
        }
        if (asked) {
            asked = ask_supported();
        }
        if (asked) {
            asked = ask_capabilities();
        }
        if (!asked) {
            return fail(std::move(asked.error()).within("ask " + question_.uri));
        }
        return std::move(out_);
    }

private:
    Status ask_host() {
        virNodeInfo node{};
        if (libvirt().virNodeGetInfo(connection_, &node) < 0) {
            return fail(last_error("host information"));
        }
        // A fixed array that libvirt ends with a zero byte.
        out_.arch = static_cast<const char*>(node.model);
        unsigned long version = 0;
        if (libvirt().virConnectGetLibVersion(connection_, &version) == 0) {
            out_.libvirt_version = version_text(version);
        }
        version = 0;
        if (libvirt().virConnectGetVersion(connection_, &version) == 0 && version != 0) {
            out_.hypervisor_version = version_text(version);
        }
        return {};
    }

    Status ask_machines() {
        out_.kvm_note = question_.local ? kvm_fault(question_.kvm_device) : std::string();
        if (out_.kvm_note.empty()) {
            const auto with_kvm = ask_machines_for("kvm");
            if (with_kvm || !says_not_supported(with_kvm.error())) {
                return with_kvm;
            }
            out_.kvm_note = with_kvm.error().message;
        }
        return ask_machines_for("qemu");
    }

    /// All that matter; a machine type that is not there is noted, none at all is an error. So is a
    /// fault of the moment: the last good answer is better than one with less in it.
    Status ask_machines_for(const std::string& virt_type) {
        std::vector<std::string> notes;
        std::optional<Error> first_error;
        out_.virt_type = virt_type;
        for (const auto& machine : machines_of(out_.arch)) {
            auto document = ask_machine(machine);
            if (document) {
                out_.domain_capabilities.push_back(std::move(*document));
                continue;
            }
            if (!says_not_supported(document.error())) {
                return fail(std::move(document.error()));
            }
            notes.push_back("machine type " + (machine.empty() ? "(default)" : machine) +
                            " left out: " + document.error().message);
            if (!first_error) {
                first_error = std::move(document.error());
            }
        }
        if (out_.domain_capabilities.empty() && first_error) {
            return fail(std::move(*first_error));
        }
        out_.notes.insert(out_.notes.end(), notes.begin(), notes.end());
        return {};
    }

    CString domain_capabilities(const std::string& machine, unsigned flags) {
        return CString(libvirt().virConnectGetDomainCapabilities(
            connection_, nullptr, out_.arch.c_str(), or_null(machine), out_.virt_type.c_str(),
            flags));
    }

    /// Whether the last call failed because the library or the daemon is older than the flags.
    static bool flags_refused() {
        const int number = last_error_number();
        return number == VIR_ERR_INVALID_ARG || number == VIR_ERR_ARGUMENT_UNSUPPORTED;
    }

    Result<MachineDocument> ask_machine(const std::string& machine) {
        unsigned flags = can_expand_ ? expand_features : 0;
        auto xml = domain_capabilities(machine, flags);
        if (!xml && flags != 0 && flags_refused()) {
            // An unknown machine type is refused with the same number; the second try tells.
            flags = 0;
            xml = domain_capabilities(machine, flags);
            can_expand_ = !xml;
        }
        if (!xml) {
            return fail(last_error("domain capabilities"));
        }
        MachineDocument document;
        document.arch = out_.arch;
        document.machine = machine;
        document.xml = xml.get();
        document.expanded = flags != 0;
        if (auto sized = check_size("domain capabilities", document.xml); !sized) {
            return fail(std::move(sized.error()));
        }
        return document;
    }

    /// The document whose host-model is given to the baseline: libvirt from 12.5 on can put in what
    /// it supports beyond its own choice, as KubeVirt's labeller asks it to.
    std::string baseline_source() {
        const auto& first = out_.domain_capabilities.front();
        if (first.expanded) {
            const auto xml =
                domain_capabilities(first.machine, expand_features | supported_features);
            if (xml) {
                return xml.get();
            }
        }
        return first.xml;
    }

    /// Noted where libvirt has no such answer: too old a library, or a CPU that it cannot work out
    /// (VIR_ERR_OPERATION_FAILED is the verdict of its own arithmetic there).
    Status ask_supported() {
        if (!has_cpu_baseline(out_.arch)) {
            out_.notes.push_back("supported features: not asked on " + out_.arch);
            return {};
        }
        const auto cpu = documents::host_model_cpu(baseline_source());
        if (!cpu) {
            out_.notes.push_back("supported features: " + cpu.error().message);
            return {};
        }
        const auto& machine = out_.domain_capabilities.front().machine;
        std::array<const char*, 1> cpus{cpu->c_str()};
        const CString xml(libvirt().virConnectBaselineHypervisorCPU(
            connection_, nullptr, out_.arch.c_str(), or_null(machine), out_.virt_type.c_str(),
            cpus.data(), static_cast<unsigned>(cpus.size()),
            VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES));
        if (!xml) {
            const bool computed = last_error_number() == VIR_ERR_OPERATION_FAILED;
            auto error = last_error("supported features");
            if (!computed && !says_not_supported(error)) {
                return fail(std::move(error));
            }
            out_.notes.push_back(std::move(error.message));
            return {};
        }
        out_.supported_features = xml.get();
        return check_size("supported features", out_.supported_features);
    }

    /// Last, for it asks every emulator that is installed.
    Status ask_capabilities() {
        const CString xml(libvirt().virConnectGetCapabilities(connection_));
        if (!xml) {
            return fail(last_error("capabilities"));
        }
        out_.capabilities = xml.get();
        return check_size("capabilities", out_.capabilities);
    }

    virConnectPtr connection_;
    const HostQuestion& question_;
    HostDocuments out_;
    bool can_expand_ = true;
};

}  // namespace

Result<HostDocuments> probe_host(const HostQuestion& question) {
    if (auto prepared = prepare_library(); !prepared) {
        return fail(std::move(prepared.error()));
    }
    const ConnectHandle connection(libvirt().virConnectOpen(question.uri.c_str()));
    if (!connection) {
        return fail(last_error("open " + question.uri));
    }
    return Probe(connection.get(), question).run();
}

}  // namespace scout::libvirt_glue
