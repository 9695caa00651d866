// SPDX-License-Identifier: Apache-2.0
#include "cli/write_levels.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "cli/json_parts.h"
#include "cli/object_stream.h"
#include "cli/render_json.h"
#include "cli/table_parts.h"
#include "cli/text.h"

namespace scout::cli {
namespace {

namespace json = boost::json;
using cluster::Levels;

/// The label keys that a reason speaks of. What the truth layer misses are features: their labels.
json::array labels_of(const migration::Reason& reason) {
    const bool features =
        reason.layer == migration::Layer::truth && reason.code == migration::ReasonCode::feature;
    json::array labels;
    for (const auto& key : reason.keys) {
        labels.push_back(
            json_text(features ? std::string{migration::label::cpu_feature} + key : key));
    }
    return labels;
}

json::object json_node(const Levels& levels, std::size_t place) {
    const auto& node = levels.nodes[place];
    json::object object;
    object["name"] = json_text(node.name);
    object["schedulable"] = node.schedulable;
    object["level"] = node.level ? json::value(*node.level) : json::value(nullptr);
    object["notCounted"] = json_text_or_null(node.not_counted);
    object["stillCounted"] = json_text_or_null(node.still_counted);
    object["truthNotKnown"] = node.truth_not_known;
    object["out"] = json_list(levels.out(place));
    object["unknown"] = json_list(levels.unknown(place));
    return object;
}

json::object json_refusal(const Levels& levels, std::size_t from, const cluster::Refusal& refusal) {
    json::array reasons;
    for (const auto& reason : *refusal.reasons) {
        json::object object;
        object["code"] = json_text(to_string(reason.code));
        object["text"] = json_text(shortened(reason.text));
        object["labels"] = labels_of(reason);
        reasons.push_back(std::move(object));
    }
    json::object object;
    object["from"] = json_text(levels.nodes[from].name);
    object["to"] = json_text(levels.nodes[refusal.to].name);
    object["layer"] = json_text(to_string(refusal.layer));
    object["reasons"] = std::move(reasons);
    return object;
}

void write_object(const LevelsAnswer& answer, Format format, TextSink& sink) {
    const auto& levels = answer.levels;
    ObjectStream out(format, sink);
    out.member("schema", schema_version);
    out.member("map", json_text_or_null(answer.map));
    out.member("layer", json_text(to_string(answer.layer)));
    out.begin_list("nodes");
    for (std::size_t place = 0; place < levels.nodes.size() && !sink.failed(); ++place) {
        out.item(json_node(levels, place));
    }
    out.end_list();
    out.begin_list("refused");
    for (std::size_t from = 0; from < levels.nodes.size() && !sink.failed(); ++from) {
        for (const auto& refusal : levels.refused(from)) {
            out.item(json_refusal(levels, from, refusal));
        }
    }
    out.end_list();
    out.member("refusedNotListed", levels.not_listed);
    out.member("leftOut", json_documents(answer.left_out));
    out.end();
}

std::string reasons_text(const std::vector<migration::Reason>& reasons) {
    std::string out;
    for (const auto& reason : reasons) {
        out += (out.empty() ? "" : "; ") + std::string(to_string(reason.code)) + ": " + reason.text;
    }
    return out;
}

using Names = std::vector<std::string_view>;

/// Sources of what is refused alike: by target, layer and text.
class Refusals {
public:
    explicit Refusals(const Levels& levels) {
        for (std::size_t from = 0; from < levels.nodes.size(); ++from) {
            for (const auto& each : levels.refused(from)) {
                by_target_[{levels.nodes[each.to].name, to_string(each.layer), text_of(each)}]
                    .push_back(levels.nodes[from].name);
            }
        }
    }

    /// Refusals of one layer with one text are one line, however many pairs of nodes they are of.
    void write(const TableStyle& style, TextSink& sink) const {
        std::map<std::tuple<std::string_view, std::string_view, Names>, Names> lines;
        for (const auto& [key, sources] : by_target_) {
            const auto& [target, layer, text] = key;
            lines[{layer, text, sources}].push_back(target);
        }
        Table table({"FROM", "NOT TO", "LAYER", "WHY"});
        for (const auto& [key, targets] : lines) {
            const auto& [layer, text, sources] = key;
            table.add({{.text = list(sources, style)},
                       {.text = list(targets, style)},
                       {.text = std::string(layer)},
                       {.text = shortened(text), .tone = Tone::bad}});
        }
        table.write(style.colour, sink);
    }

private:
    static std::string list(const Names& names, const TableStyle& style) {
        constexpr std::size_t most_names = 3;
        const std::vector<std::string> all(names.begin(), names.end());
        return style.wide ? migration::join(all) : short_list(all, most_names);
    }

    /// Each text once, however many classes of nodes it is said of.
    std::string_view text_of(const cluster::Refusal& refusal) {
        const auto [known, fresh] = of_reasons_.try_emplace(refusal.reasons.get());
        if (fresh) {
            known->second = *texts_.insert(reasons_text(*refusal.reasons)).first;
        }
        return known->second;
    }

    std::set<std::string> texts_;
    std::map<const std::vector<migration::Reason>*, std::string_view> of_reasons_;
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, Names> by_target_;
};

std::string note_of(const cluster::NodeLevel& node) {
    if (!node.not_counted.empty()) {
        return node.not_counted;
    }
    std::string note = node.still_counted;
    if (node.truth_not_known > 0) {
        note += (note.empty() ? "" : "; ") + std::string{"CPU truth not known for "} +
                std::to_string(node.truth_not_known) + ": where host-model@" + node.name +
                " says why";
    }
    return note;
}

Table nodes_table(const Levels& levels, const TableStyle& style) {
    constexpr std::size_t most_names = 8;
    Table table({"NODE", "STATE", "LEVEL", "TO", "UNKNOWN", "DESTINATIONS", "NOTE"});
    for (std::size_t place = 0; place < levels.nodes.size(); ++place) {
        const auto& node = levels.nodes[place];
        const auto out = levels.out(place);
        const auto unknown = levels.unknown(place).size();
        table.add(
            {{.text = node.name},
             {.text = node.schedulable ? "open" : "closed",
              .tone = node.schedulable ? Tone::good : Tone::doubtful},
             {.text = node.level ? std::to_string(*node.level) : std::string{}},
             {.text = std::to_string(out.size())},
             {.text = std::to_string(unknown), .tone = unknown == 0 ? Tone::plain : Tone::doubtful},
             {.text = style.wide ? migration::join(out) : short_list(out, most_names)},
             {.text = note_of(node)}});
    }
    return table;
}

void write_tables(const LevelsAnswer& answer, const TableStyle& style, TextSink& sink) {
    const auto& levels = answer.levels;
    nodes_table(levels, style).write(style.colour, sink);
    if (std::any_of(levels.nodes.begin(), levels.nodes.end(),
                    [](const auto& node) { return node.refusals > 0; })) {
        sink.add("\n");
        Refusals(levels).write(style, sink);
    }
    if (levels.not_listed > 0) {
        sink.add("and " + std::to_string(levels.not_listed) +
                 " more: ask for one node with 'where host-model@NODE'\n");
    }
    sink.add("\n" +
             field("Layer", std::string(to_string(answer.layer)) + " (of LEVEL and TO)", style));
    sink.add(answer.map.empty() ? std::string{} : field("CPU map", answer.map, style));
}

}  // namespace

void write_levels(const LevelsAnswer& answer, Format format, const TableStyle& style,
                  TextSink& sink) {
    switch (format) {
        case Format::json:
        case Format::yaml:
            write_object(answer, format, sink);
            return;
        case Format::table:
        case Format::wide:
            write_tables(answer, style, sink);
    }
}

}  // namespace scout::cli
