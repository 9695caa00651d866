// SPDX-License-Identifier: Apache-2.0
#include "cli/json_parts.h"

#include <utility>

#include "cli/render_json.h"
#include "cli/text.h"

namespace scout::cli {
namespace {

namespace json = boost::json;

std::string_view mode_text(migration::CpuMode mode) {
    switch (mode) {
        case migration::CpuMode::custom:
            return "custom";
        case migration::CpuMode::host_model:
            return "host-model";
        case migration::CpuMode::host_passthrough:
            return "host-passthrough";
        case migration::CpuMode::unstated:
            return {};
    }
    return {};
}

}  // namespace

json::value json_text(std::string_view text) {
    const auto valid = valid_utf8(text);
    return json::string(valid);
}

json::value json_text_or_null(std::string_view text) {
    return text.empty() ? json::value(nullptr) : json_text(text);
}

json::array json_list(const std::vector<std::string>& names) {
    json::array list;
    list.reserve(names.size());
    for (const auto& name : names) {
        list.push_back(json_text(name));
    }
    return list;
}

json::value json_list_or_null(const std::optional<std::vector<std::string>>& names) {
    return names ? json::value(json_list(*names)) : json::value(nullptr);
}

json::array json_sentences(const std::vector<std::string>& sentences) {
    json::array list;
    list.reserve(sentences.size());
    for (const auto& sentence : sentences) {
        list.push_back(json_text(shortened(sentence)));
    }
    return list;
}

json::object json_labels(const migration::Labels& labels) {
    json::object object;
    object.reserve(labels.size());
    for (const auto& [key, value] : labels) {
        object.insert_or_assign(valid_utf8(key), json_text(value));
    }
    return object;
}

json::array json_reasons(const std::vector<migration::Reason>& reasons) {
    json::array list;
    list.reserve(reasons.size());
    for (const auto& reason : reasons) {
        json::object object;
        object["code"] = json_text(to_string(reason.code));
        object["layer"] = json_text(to_string(reason.layer));
        object["text"] = json_text(shortened(reason.text));
        object["keys"] = json_list(reason.keys);
        list.push_back(std::move(object));
    }
    return list;
}

json::object json_answer() {
    json::object object;
    object["schema"] = schema_version;
    return object;
}

json::object json_guest_cpu(const migration::GuestCpu& cpu) {
    json::object object;
    object["mode"] = json_text_or_null(mode_text(cpu.mode));
    object["arch"] = json_text_or_null(cpu.arch);
    object["domain"] = json_text_or_null(cpu.virt_type);
    object["vendor"] = json_text_or_null(cpu.vendor);
    object["model"] = json_text_or_null(cpu.model);
    object["require"] = json_list(cpu.require);
    object["disable"] = json_list(cpu.disable);
    object["machine"] = json_text_or_null(cpu.machine);
    object["tscHz"] = cpu.tsc_hz ? json::value(*cpu.tsc_hz) : json::value(nullptr);
    object["vcpus"] = cpu.vcpus == 0 ? json::value(nullptr) : json::value(cpu.vcpus);
    object["ties"] = json_list_or_null(cpu.ties);
    return object;
}

}  // namespace scout::cli
