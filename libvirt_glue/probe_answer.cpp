// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/probe_answer.h"

#include <array>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace scout::libvirt_glue {
namespace {

namespace json = boost::json;
using hypervisor::HostDocuments;
using hypervisor::MachineDocument;

constexpr std::int64_t answer_version = 1;

constexpr std::pair<const char*, std::string HostDocuments::*> texts[] = {
    {"uri", &HostDocuments::uri},
    {"virtType", &HostDocuments::virt_type},
    {"kvmNote", &HostDocuments::kvm_note},
    {"arch", &HostDocuments::arch},
    {"supportedFeatures", &HostDocuments::supported_features},
    {"capabilities", &HostDocuments::capabilities},
    {"libvirtVersion", &HostDocuments::libvirt_version},
    {"hypervisorVersion", &HostDocuments::hypervisor_version},
};

constexpr std::array codes{Errc::not_found, Errc::unavailable, Errc::timed_out, Errc::cancelled,
                           Errc::invalid,   Errc::refused,     Errc::internal};

json::object to_json(const HostDocuments& documents) {
    json::object out;
    for (const auto& [key, member] : texts) {
        out[key] = documents.*member;
    }
    json::array machines;
    for (const auto& document : documents.domain_capabilities) {
        json::object entry;
        entry["arch"] = document.arch;
        entry["machine"] = document.machine;
        entry["xml"] = document.xml;
        entry["expanded"] = document.expanded;
        machines.push_back(std::move(entry));
    }
    out["domainCapabilities"] = std::move(machines);
    json::array notes;
    for (const auto& note : documents.notes) {
        notes.push_back(json::value(note));
    }
    out["notes"] = std::move(notes);
    return out;
}

tl::unexpected<Error> unusable(const std::string& found) {
    return fail(Errc::invalid, "answer of the probing child: expected one of ours, found " + found);
}

Result<std::string> text_in(const json::object& from, const char* key) {
    const auto* value = from.if_contains(key);
    if (value == nullptr || !value->is_string()) {
        return unusable(std::string("no text '") + key + "'");
    }
    return std::string(value->get_string());
}

Result<MachineDocument> machine_from(const json::value& value) {
    if (!value.is_object()) {
        return unusable("a machine type that is no object");
    }
    const auto& entry = value.get_object();
    MachineDocument document;
    constexpr std::pair<const char*, std::string MachineDocument::*> members[] = {
        {"arch", &MachineDocument::arch},
        {"machine", &MachineDocument::machine},
        {"xml", &MachineDocument::xml},
    };
    for (const auto& [key, member] : members) {
        auto text = text_in(entry, key);
        if (!text) {
            return fail(std::move(text.error()));
        }
        document.*member = std::move(*text);
    }
    const auto* expanded = entry.if_contains("expanded");
    document.expanded = expanded != nullptr && expanded->is_bool() && expanded->get_bool();
    return document;
}

Result<HostDocuments> documents_from(const json::object& from) {
    HostDocuments out;
    for (const auto& [key, member] : texts) {
        auto text = text_in(from, key);
        if (!text) {
            return fail(std::move(text.error()));
        }
        out.*member = std::move(*text);
    }
    const auto* machines = from.if_contains("domainCapabilities");
    if (machines == nullptr || !machines->is_array() || machines->get_array().empty()) {
        return unusable("no domain capabilities");
    }
    for (const auto& entry : machines->get_array()) {
        auto document = machine_from(entry);
        if (!document) {
            return fail(std::move(document.error()));
        }
        out.domain_capabilities.push_back(std::move(*document));
    }
    const auto* notes = from.if_contains("notes");
    if (notes != nullptr && notes->is_array()) {
        for (const auto& note : notes->get_array()) {
            if (note.is_string()) {
                out.notes.emplace_back(note.get_string());
            }
        }
    }
    return out;
}

tl::unexpected<Error> error_from(const json::object& from) {
    const auto code = text_in(from, "code");
    auto message = text_in(from, "message");
    if (!code || !message) {
        return unusable("an error without code and message");
    }
    for (const auto known : codes) {
        if (to_string(known) == *code) {
            return fail(known, std::move(*message));
        }
    }
    return fail(Errc::internal, std::move(*message));
}

}  // namespace

std::string format_answer(const Result<HostDocuments>& answer) {
    json::object out;
    out["probe"] = answer_version;
    if (answer) {
        out["documents"] = to_json(*answer);
    } else {
        json::object error;
        error["code"] = to_string(answer.error().code);
        error["message"] = answer.error().message;
        out["error"] = std::move(error);
    }
    return json::serialize(out) + "\n";
}

Result<HostDocuments> parse_answer(std::string_view text) {
    if (!text.ends_with('\n')) {
        return unusable(text.empty() ? "nothing" : "an answer without an end");
    }
    text.remove_suffix(1);
    boost::system::error_code error;
    const auto value = json::parse(text, error);
    if (error || !value.is_object()) {
        return unusable("no JSON object");
    }
    const auto& answer = value.get_object();
    const auto* version = answer.if_contains("probe");
    if (version == nullptr || !version->is_int64() || version->get_int64() != answer_version) {
        return unusable("another version");
    }
    if (const auto* failed = answer.if_contains("error");
        failed != nullptr && failed->is_object()) {
        return error_from(failed->get_object());
    }
    const auto* documents = answer.if_contains("documents");
    if (documents == nullptr || !documents->is_object()) {
        return unusable("neither documents nor an error");
    }
    return documents_from(documents->get_object());
}

}  // namespace scout::libvirt_glue
