// SPDX-License-Identifier: Apache-2.0
#include "cli/render_json.h"

#include <optional>
#include <string_view>
#include <utility>

#include "cli/json_parts.h"
#include "cli/matrix_rows.h"
#include "cli/text.h"

namespace scout::cli {
namespace {

namespace json = boost::json;

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
        object["usable"] = model.usable ? json_text(usable_text(model.usable)) : nullptr;
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
    object["reason"] = json_text_or_null(shortened(answer.not_comparable));
    object["map"] = json_text_or_null(answer.supported.map);
    return object;
}

json::array json_class_rows(const MatrixAnswer& answer, const MatrixRows& spread) {
    const auto members = spread.members();
    json::array list;
    list.reserve(answer.classes.size());
    for (const auto& each : answer.classes) {
        json::object line;
        line["class"] = each.number;
        line["nodes"] = members[list.size()].size();
        line["cells"] = json_text(each.cells);
        list.push_back(std::move(line));
    }
    return list;
}

}  // namespace

json::array json_documents(const std::vector<DocumentState>& documents) {
    json::array list;
    list.reserve(documents.size());
    for (const auto& document : documents) {
        list.push_back(to_json(document));
    }
    return list;
}

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
    object["assumed"] = comparison.assumed;
    return object;
}

json::value to_json(const DocumentState& document) {
    json::object object;
    object["document"] = json_text(document.document);
    object["usable"] = document.usable;
    object["reason"] = json_text_or_null(shortened(document.reason));
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
    object["leftOut"] = json_list(answer.left_out);
    object["map"] = json_text_or_null(answer.map);
    object["assumed"] = answer.assumed;
    return object;
}

json::value to_json(const MatrixAnswer& answer) {
    const MatrixRows spread(answer);
    const bool with_cells = answer.rows.size() <= most_cell_nodes;
    auto object = json_answer();
    object["map"] = json_text_or_null(answer.map);
    object["classes"] = answer.classes.size();
    json::array rows;
    rows.reserve(answer.rows.size());
    for (const auto& row : answer.rows) {
        json::object line;
        line["node"] = json_text(row.node);
        line["level"] = row.level;
        line["destinations"] = row.destinations;
        line["class"] = row.node_class ? json::value(*row.node_class) : json::value(nullptr);
        line["cells"] = with_cells ? json_text(spread.cells(rows.size())) : nullptr;
        rows.push_back(std::move(line));
    }
    object["rows"] = std::move(rows);
    object["classRows"] = json_class_rows(answer, spread);
    object["leftOut"] = json_documents(answer.left_out);
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
        line["map"] = json_text_or_null(comparison.map);
        line["assumed"] = comparison.assumed;
        nodes.push_back(std::move(line));
    }
    object["nodes"] = std::move(nodes);
    object["summary"] = json_text(summary(answer));
    object["notes"] = json_sentences(answer.notes);
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
    object["reason"] = json_text_or_null(shortened(answer.reason));
    object["common"] = json_list(answer.common);
    json::object losses;
    json::object not_known;
    for (const auto& [host, loss] : answer.losses) {
        const auto name = valid_utf8(host);
        losses.insert_or_assign(name,
                                loss.features ? json::value(json_list(*loss.features)) : nullptr);
        if (!loss.features) {
            not_known.insert_or_assign(name, json_text(shortened(loss.why)));
        }
    }
    object["losses"] = std::move(losses);
    object["lossesNotKnown"] = std::move(not_known);
    object["custom"] = cpu_stanza(answer);
    object["map"] = json_text_or_null(answer.map);
    object["assumed"] = answer.assumed;
    return object;
}

json::value to_json(const migration::UpgradeImpact& answer) {
    auto object = json_answer();
    json::object model;
    model["before"] = json_text_or_null(answer.model_before);
    model["after"] = json_text_or_null(answer.model_after);
    model["changed"] = answer.model_changed();
    object["hostModel"] = std::move(model);
    json::object named;
    named["before"] = json_text(usable_text(answer.named_usable_before));
    named["after"] = json_text(usable_text(answer.named_usable_after));
    object["namedModelUsable"] = std::move(named);
    object["comparable"] = answer.comparable;
    object["missingAfter"] = json_list(answer.missing_after);
    object["missingBefore"] = json_list(answer.missing_before);
    object["machinesMissingAfter"] = json_list_or_null(answer.machines_missing_after);
    object["machinesMissingBefore"] = json_list_or_null(answer.machines_missing_before);
    object["notes"] = json_sentences(answer.notes);
    object["advice"] = json_text(shortened(answer.advice));
    object["map"] = json_text_or_null(answer.map);
    object["assumed"] = answer.assumed;
    return object;
}

}  // namespace scout::cli
