// SPDX-License-Identifier: Apache-2.0
#include "aggregator/query_paths.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/logging.h"
#include "base/percent.h"
#include "kube/resource.h"
#include "migration/label_syntax.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using Kind = Question::Kind;

/// Nodes of a baseline are named one by one.
constexpr std::size_t most_options = 256;
constexpr std::size_t longest_option = 512;
constexpr std::size_t longest_space = 63;

/// A form of path below the version; "*" stands for a name, "+" for a namespace.
struct Form {
    Kind kind;
    std::array<std::string_view, 5> words;
};

constexpr std::array forms{
    Form{Kind::pressure, {"pressure"}},
    Form{Kind::protections, {"protection"}},
    Form{Kind::protections, {"namespaces", "+", "protection"}},
    Form{Kind::vmi_protection, {"namespaces", "+", "virtualmachineinstances", "*", "protection"}},
    Form{Kind::nodes, {"nodes"}},
    Form{Kind::node, {"nodes", "*"}},
    Form{Kind::node_where, {"nodes", "*", "where"}},
    Form{Kind::upgrade_impact, {"nodes", "*", "upgradeimpact"}},
    Form{Kind::vmis, {"virtualmachineinstances"}},
    Form{Kind::vmis, {"namespaces", "+", "virtualmachineinstances"}},
    Form{Kind::vmi_where, {"namespaces", "+", "virtualmachineinstances", "*", "where"}},
    Form{Kind::vmi_why, {"namespaces", "+", "virtualmachineinstances", "*", "why"}},
    Form{Kind::pod_why, {"namespaces", "+", "pods", "*", "why"}},
    Form{Kind::matrix, {"matrix"}},
    Form{Kind::baseline, {"baseline"}},
};

/// What discovery tells of a resource. No kind of these is stored: it only has to have a name.
struct Served {
    const char* name;
    const char* singular;
    bool namespaced;
    const char* kind;
    std::vector<const char*> verbs;
};

std::vector<Served> served_resources() {
    return {{"nodes", "node", false, "FleetNode", {"get", "list"}},
            {"nodes/where", "", false, "Where", {"get"}},
            {"nodes/upgradeimpact", "", false, "UpgradeImpact", {"get"}},
            {"virtualmachineinstances", "virtualmachineinstance", true, "FleetGuest", {"list"}},
            {"virtualmachineinstances/where", "", true, "Where", {"get"}},
            {"virtualmachineinstances/why", "", true, "Why", {"get"}},
            {"pods/why", "", true, "Why", {"get"}},
            {"virtualmachineinstances/protection", "", true, "Protection", {"get"}},
            {"protection", "protection", true, "Protection", {"list"}},
            {"pressure", "pressure", false, "NodePressure", {"list"}},
            {"matrix", "matrix", false, "Matrix", {"list"}},
            {"baseline", "baseline", false, "Baseline", {"list"}}};
}

std::string group_version() {
    return std::string{query_group} + "/" + std::string{query_version};
}

json::object api_group() {
    const json::object version{{"groupVersion", group_version()},
                               {"version", std::string{query_version}}};
    return {{"kind", "APIGroup"},
            {"apiVersion", "v1"},
            {"name", std::string{query_group}},
            {"versions", json::array{version}},
            {"preferredVersion", version}};
}

json::object api_resources() {
    json::array listed;
    for (const auto& one : served_resources()) {
        json::array verbs;
        for (const auto* verb : one.verbs) {
            verbs.emplace_back(verb);
        }
        listed.push_back(json::object{{"name", one.name},
                                      {"singularName", one.singular},
                                      {"namespaced", one.namespaced},
                                      {"kind", one.kind},
                                      {"verbs", std::move(verbs)}});
    }
    return {{"kind", "APIResourceList"},
            {"apiVersion", "v1"},
            {"groupVersion", group_version()},
            {"resources", std::move(listed)}};
}

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto end = std::min(text.find(at), text.size());
        parts.push_back(text.substr(0, end));
        if (end == text.size()) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

bool fits(const Form& form, const std::vector<std::string_view>& words) {
    std::size_t i = 0;
    for (; i < form.words.size() && !form.words[i].empty(); ++i) {
        const bool any = form.words[i] == "*" || form.words[i] == "+";
        if (i >= words.size() || !(any || words[i] == form.words[i])) {
            return false;
        }
    }
    return i == words.size();
}

Status take_names(const Form& form, const std::vector<std::string_view>& words,
                  Question& question) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const bool is_space = form.words.at(i) == "+";
        if (!is_space && form.words.at(i) != "*") {
            continue;
        }
        auto name = percent_decode(words[i]);
        const bool right_space = name.size() <= longest_space && name.find('.') == name.npos;
        if (!migration::is_dns_subdomain(name) || (is_space && !right_space)) {
            return fail(Errc::invalid,
                        "expected a name in lower-case letters, digits, '-' and '.', found " +
                            log_value(name));
        }
        (is_space ? question.space : question.name) = std::move(name);
    }
    return {};
}

Status take_options(std::string_view query, Question& question) {
    if (query.empty()) {
        return {};
    }
    const auto parts = split(query, '&');
    if (parts.size() > most_options) {
        return fail(Errc::invalid, "expected at most " + std::to_string(most_options) +
                                       " parameters, found " + std::to_string(parts.size()));
    }
    for (const auto part : parts) {
        if (part.size() > longest_option) {
            return fail(Errc::invalid, "expected parameters of at most " +
                                           std::to_string(longest_option) +
                                           " bytes, found one of " + std::to_string(part.size()));
        }
        std::string plain{part};
        std::replace(plain.begin(), plain.end(), '+', ' ');
        const auto equals = std::min(plain.find('='), plain.size());
        if (equals > 0) {
            question.options.emplace(
                percent_decode(plain.substr(0, equals)),
                percent_decode(plain.substr(std::min(equals + 1, plain.size()))));
        }
    }
    return {};
}

}  // namespace

std::optional<std::string> discovery_document(std::string_view path) {
    if (path == query_root) {
        return json::serialize(api_group());
    }
    if (path == std::string{query_root} + "/" + std::string{query_version}) {
        return json::serialize(api_resources());
    }
    return std::nullopt;
}

Result<Question> parse_question(std::string_view path, std::string_view query) {
    const auto base = "/apis/" + group_version() + "/";
    const auto* form = forms.end();
    std::vector<std::string_view> words;
    if (path.starts_with(base)) {
        words = split(path.substr(base.size()), '/');
        form = std::find_if(forms.begin(), forms.end(),
                            [&words](const Form& each) { return fits(each, words); });
    }
    if (form == forms.end()) {
        return fail(Errc::not_found,
                    "the server could not find the requested resource: expected "
                    "one that /apis/" +
                        group_version() + " lists, found " + log_value(path));
    }
    Question question;
    question.kind = form->kind;
    if (auto named = take_names(*form, words, question); !named) {
        return fail(std::move(named.error()));
    }
    if (auto taken = take_options(query, question); !taken) {
        return fail(std::move(taken.error()));
    }
    return question;
}

kube::AccessQuestion listing_nodes() {
    return {.verb = "list", .resource = kube::resources::nodes()};
}

kube::AccessQuestion listing_vmis() {
    return {.verb = "list", .resource = kube::resources::virtual_machine_instances()};
}

bool adds_vmis(const Question& question) {
    return question.kind == Kind::node || question.kind == Kind::upgrade_impact ||
           question.kind == Kind::pressure;
}

std::vector<kube::AccessQuestion> needed_rights(const Question& question) {
    const auto& vmis = kube::resources::virtual_machine_instances();
    std::vector<kube::AccessQuestion> rights;
    if (question.kind == Kind::vmis || question.kind == Kind::protections) {
        rights.push_back({.verb = "list", .resource = vmis, .object = {.space = question.space}});
    } else if (question.kind == Kind::vmi_where || question.kind == Kind::vmi_why ||
               question.kind == Kind::vmi_protection) {
        rights.push_back({.verb = "get",
                          .resource = vmis,
                          .object = {.space = question.space, .name = question.name}});
    } else if (question.kind == Kind::pod_why) {
        rights.push_back({.verb = "get",
                          .resource = kube::resources::pods(),
                          .object = {.space = question.space, .name = question.name}});
    }
    if (is_about_nodes(question)) {
        rights.push_back(listing_nodes());
    }
    return rights;
}

/// Whoever may choose guests by node learns where they are.
bool is_about_nodes(const Question& question) {
    constexpr std::array of_vms{Kind::vmis,    Kind::vmi_where,      Kind::vmi_why,
                                Kind::pod_why, Kind::vmi_protection, Kind::protections};
    return std::find(of_vms.begin(), of_vms.end(), question.kind) == of_vms.end() ||
           question.options.contains("node");
}

}  // namespace scout::aggregator
