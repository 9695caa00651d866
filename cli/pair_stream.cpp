// SPDX-License-Identifier: Apache-2.0
#include "cli/pair_stream.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "cli/json_text.h"
#include "cli/render_json.h"
#include "cli/render_table.h"
#include "cli/table_parts.h"

namespace scout::cli {
namespace {

namespace json = boost::json;

/// One document a line: the whole stays readable with thousands of pairs.
std::string json_head(const std::vector<DocumentState>& documents) {
    auto out = "{\n  \"schema\": " + std::to_string(schema_version) + ",\n  \"documents\": [";
    bool first = true;
    for (const auto& document : json_documents(documents)) {
        out += first ? "\n    " : ",\n    ";
        out += to_json_line(document);
        first = false;
    }
    return out + "\n  ],\n  \"pairs\": [";
}

std::string yaml_head(const std::vector<DocumentState>& documents) {
    json::object object;
    object["schema"] = schema_version;
    object["documents"] = json_documents(documents);
    return to_yaml_text(object) + "pairs:";
}

}  // namespace

PairStream::PairStream(Format format, TableStyle style) : format_(format), style_(style) {}

std::string PairStream::head(const std::vector<DocumentState>& documents) const {
    switch (format_) {
        case Format::json:
            return json_head(documents);
        case Format::yaml:
            return yaml_head(documents);
        case Format::table:
        case Format::wide:
            break;
    }
    return left_out_lines(documents) + pair_header(style_) + "\n";
}

std::string PairStream::pair(const PairAnswer& answer) {
    const bool first = pairs_++ == 0;
    can_ += answer.comparison.truth == migration::Verdict::can ? 1U : 0U;
    cannot_ += answer.comparison.truth == migration::Verdict::cannot ? 1U : 0U;
    switch (format_) {
        case Format::json:
            return (first ? "\n    " : ",\n    ") + to_json_line(to_json(answer));
        case Format::yaml:
            return (first ? "\n" : "") + to_yaml_text(json::array{to_json(answer)});
        case Format::table:
        case Format::wide:
            break;
    }
    return pair_line(answer, style_) + "\n";
}

std::string PairStream::tail() const {
    switch (format_) {
        case Format::json:
            return pairs_ == 0 ? "]\n}\n" : "\n  ]\n}\n";
        case Format::yaml:
            return pairs_ == 0 ? " []\n" : "";
        case Format::table:
        case Format::wide:
            break;
    }
    return std::to_string(pairs_) + " pairs: " + std::to_string(can_) + " can, " +
           std::to_string(cannot_) + " cannot, " + std::to_string(pairs_ - can_ - cannot_) +
           " cannot be compared\n";
}

}  // namespace scout::cli
