// SPDX-License-Identifier: Apache-2.0
#include "cluster/manifests.h"

#include <algorithm>

#include <boost/json/parse.hpp>

#include "cluster/json_stream.h"
#include "cluster/yaml_json.h"

namespace scout::cluster {
namespace {

constexpr std::size_t most_depth = 32;

void parse(std::string_view text, std::size_t line, Manifests& out) {
    boost::system::error_code error;
    auto value = boost::json::parse(text, error, {}, {.max_depth = most_depth});
    if (error) {
        out.faults.emplace_back(line, "no JSON: " + error.message());
    } else {
        out.documents.emplace_back(line, std::move(value));
    }
}

}  // namespace

Manifests read_manifests(std::string_view text) {
    Manifests out;
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) {
        std::size_t line = 1;
        std::size_t counted = 0;
        const auto values = json_stream(text);
        if (!values) {
            out.faults.emplace_back(0, values.error().message);
            return out;
        }
        for (const auto& value : *values) {
            const auto begin = static_cast<std::size_t>(value.data() - text.data());
            const auto passed = text.substr(counted, begin - counted);
            line += static_cast<std::size_t>(std::count(passed.begin(), passed.end(), '\n'));
            counted = begin;
            parse(value, line, out);
        }
        return out;
    }
    const auto yaml = yaml_to_json(text, YamlAuthor::person);
    if (!yaml) {
        out.faults.emplace_back(0, yaml.error().message);
        return out;
    }
    for (const auto& document : *yaml) {
        parse(document.json, document.line, out);
    }
    return out;
}

}  // namespace scout::cluster
