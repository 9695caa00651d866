// SPDX-License-Identifier: Apache-2.0
#include "cli/render_json.h"

#include <optional>
#include <string_view>
#include <utility>

#include "cli/json_parts.h"
#include "cli/text.h"

namespace scout::cli {
namespace {

namespace json = boost::json;

std::string_view usable_text(migration::Usable usable) {
    switch (usable) {
        case migration::Usable::no:
            return "no";
        case migration::Usable::yes:
            return "yes";
        case migration::Usable::unknown:
            return "unknown";
    }
    return "unknown";
}

json::value json_max_phys_addr(const std::optional<migration::MaxPhysAddr>& address) {
    if (!address) {
        return nullptr;
    }
    const auto number = [](const std::optional<unsigned>& value) {
        return value ? json::value(*value) : json::value(nullptr);
    };
    json::object object;
    object["mode"] = json_text(address->mode);
    object["bits"] = number(address->bits);
    object["limit"] = number(address->limit);
    return object;
}

json::value json_host_model(const std::optional<migration::HostModel>& model) {
    if (!model) {
        return nullptr;
    }
    json::object object;
    object["name"] = json_text(model->name);
    object["require"] = json_list(model->require);
    object["disable"] = json_list(model->disable);
    object["maxphysaddr"] = json_max_phys_addr(model->maxphysaddr);
    return object;
}

json::array json_models(const std::vector<migration::NamedModel>& models) {
    json::array list;
    list.reserve(models.size());
    for (const auto& model : models) {
        json::object object;
        object["name"] = json_text(model.name);
        object["usable"] = model.usable ? json_text(usable_text(*model.usable)) : nullptr;
        object["blockers"] = json_list(model.blockers);
        list.push_back(std::move(object));
    }
    return list;
}

std::string_view origin_text(migration::SetOrigin origin) {
    switch (origin) {
        case migration::SetOrigin::listed:
            return "listed";
        case migration::SetOrigin::expanded:
            return "expanded";
        case migration::SetOrigin::by_map:
            return "by-map";
        case migration::SetOrigin::assumed:
            return "assumed";
        case migration::SetOrigin::not_known:
            return "not-known";
    }
    return "not-known";
}

json::object& add_profile(json::object& object, const ProfileAnswer& answer) {
    const auto& profile = answer.profile;
    object["arch"] = json_text_or_null(profile.arch);
    object["domain"] = json_text_or_null(profile.virt_type);
    object["vendor"] = json_text_or_null(profile.vendor);
    object["hostModel"] = json_host_model(profile.host_model);
    object["models"] = json_models(profile.models);
    object["supported"] = json_list(answer.supported.features);
    object["supportedFrom"] = json_text(origin_text(answer.supported.origin));
    object["machines"] = json_list(profile.machines);
    object["comparable"] = answer.not_comparable.empty();
    object["reason"] = json_text_or_null(answer.not_comparable);
    object["map"] = json_text_or_null(answer.supported.map);
    return object;
}

}  // namespace

json::value to_json(const PairAnswer& answer) {
    const auto& comparison = answer.comparison;
    auto object = json_answer();
    object["source"] = json_text(answer.source);
    object["target"] = json_text(answer.target);
    object["verdict"] = json_text(to_string(comparison.truth));
    object["gate"] = json_text(gate_text(comparison.gate));
    object["missing"] = json_list(comparison.missing);
    object["reasons"] = json_reasons(comparison.reasons);
    object["map"] = json_text_or_null(comparison.map);
    return object;
}

json::value to_json(const DocumentState& document) {
    json::object object;
    object["document"] = json_text(document.document);
    object["usable"] = document.usable;
    object["reason"] = json_text_or_null(document.reason);
    return object;
}

json::value to_json(const ProfileAnswer& answer) {
    auto object = json_answer();
    return add_profile(object, answer);
}

json::value to_json(const LabelsAnswer& answer) {
    auto object = json_answer();
    object["document"] = json_text(answer.document);
    object["labels"] = json_labels(answer.labels);
    return object;
}

json::value to_json(const MatrixAnswer& answer) {
    auto object = json_answer();
    object["map"] = json_text_or_null(answer.map);
    object["classes"] = answer.classes;
    json::array rows;
    rows.reserve(answer.rows.size());
    for (const auto& row : answer.rows) {
        json::object line;
        line["node"] = json_text(row.node);
        line["level"] = row.level;
        line["destinations"] = row.destinations;
        line["class"] = row.node_class;
        line["cells"] = json_text(row.cells);
        rows.push_back(std::move(line));
    }
    object["rows"] = std::move(rows);
    json::array left_out;
    for (const auto& document : answer.left_out) {
        left_out.push_back(to_json(document));
    }
    object["leftOut"] = std::move(left_out);
    return object;
}

json::value to_json(const migration::Placement& answer) {
    auto object = json_answer();
    object["subject"] = json_text(answer.subject);
    object["source"] = json_text_or_null(answer.source);
    json::array nodes;
    nodes.reserve(answer.nodes.size());
    for (const auto& node : answer.nodes) {
        const auto& comparison = node.comparison;
        json::object line;
        line["node"] = json_text(node.node);
        line["verdict"] = json_text(to_string(comparison.verdict));
        line["stock"] = json_text(to_string(comparison.gate));
        line["truth"] = json_text(to_string(comparison.truth));
        line["gap"] = comparison.gap();
        line["reasons"] = json_reasons(comparison.reasons);
        nodes.push_back(std::move(line));
    }
    object["nodes"] = std::move(nodes);
    object["summary"] = json_text(summary(answer));
    return object;
}

json::value cpu_stanza(const migration::Baseline& baseline) {
    if (!baseline.model || !baseline.custom_features) {
        return nullptr;
    }
    json::object object;
    object["model"] = json_text(*baseline.model);
    json::array features;
    features.reserve(baseline.custom_features->size());
    for (const auto& name : *baseline.custom_features) {
        json::object feature;
        feature["name"] = json_text(name);
        feature["policy"] = "require";
        features.push_back(std::move(feature));
    }
    object["features"] = std::move(features);
    return object;
}

json::value to_json(const migration::Baseline& answer) {
    auto object = json_answer();
    object["model"] = answer.model ? json_text(*answer.model) : nullptr;
    object["vendor"] = json_text_or_null(answer.vendor);
    object["reason"] = json_text_or_null(answer.reason);
    object["common"] = json_list(answer.common);
    json::object losses;
    for (const auto& [host, loss] : answer.losses) {
        losses.insert_or_assign(valid_utf8(host),
                                loss.features ? json::value(json_list(*loss.features)) : nullptr);
    }
    object["losses"] = std::move(losses);
    object["custom"] = cpu_stanza(answer);
    return object;
}

json::value to_json(const migration::UpgradeImpact& answer) {
    const auto usable = [](const std::optional<migration::Usable>& value) {
        return json_text(value ? usable_text(*value) : "absent");
    };
    auto object = json_answer();
    json::object model;
    model["before"] = json_text_or_null(answer.model_before);
    model["after"] = json_text_or_null(answer.model_after);
    model["changed"] = answer.model_changed();
    object["hostModel"] = std::move(model);
    json::object named;
    named["before"] = usable(answer.named_usable_before);
    named["after"] = usable(answer.named_usable_after);
    object["namedModelUsable"] = std::move(named);
    object["comparable"] = answer.comparable;
    object["missingAfter"] = json_list(answer.missing_after);
    object["missingBefore"] = json_list(answer.missing_before);
    object["advice"] = json_text(answer.advice);
    return object;
}

}  // namespace scout::cli
