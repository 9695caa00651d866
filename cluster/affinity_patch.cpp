// SPDX-License-Identifier: Apache-2.0
#include "cluster/affinity_patch.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "cluster/term_json.h"
#include "kube/json_lookup.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;

/// What people write has some hundred bytes. Each term gets a piece of the patch.
constexpr std::size_t most_bytes = std::size_t{256} << 10U;
constexpr std::size_t most_terms = 1000;

constexpr std::string_view affinity_path = "/spec/affinity";
constexpr std::string_view node_path = "/spec/affinity/nodeAffinity";
constexpr std::string_view required_path =
    "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view preferred_path =
    "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view terms_path =
    "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";

std::string path_of(std::size_t term) {
    return std::string{terms_path} + "/" + std::to_string(term);
}

tl::unexpected<Error> wrong_type(std::string_view path, const char* expected) {
    return fail(Errc::invalid, std::string{path} + ": expected " + expected);
}

/// Null if the value is absent or null.
Result<const json::object*> object_or_none(const json::value* value, std::string_view path) {
    if (value == nullptr || value->is_null()) {
        return nullptr;
    }
    return value->is_object() ? Result<const json::object*>{&value->get_object()}
                              : wrong_type(path, "an object");
}

Result<const json::array*> array_or_none(const json::value* value, std::string_view path) {
    if (value == nullptr || value->is_null()) {
        return nullptr;
    }
    return value->is_array() ? Result<const json::array*>{&value->get_array()}
                             : wrong_type(path, "an array");
}

const json::value* member(const json::object* object, std::string_view key) {
    return object == nullptr ? nullptr : object->if_contains(key);
}

/// A pod's affinity as far as we read it.
class Affinity {
public:
    [[nodiscard]] static Result<Affinity> parse(std::string_view text);

    /// Terms of the required selector; none: the pod requires nothing.
    struct Term {
        const json::array* expressions = nullptr;  ///< null: there are none
        const json::array* fields = nullptr;       ///< likewise

        [[nodiscard]] bool matches_nothing() const {
            return (expressions == nullptr || expressions->empty()) &&
                   (fields == nullptr || fields->empty());
        }
    };
    bool has_affinity = false;
    bool has_node_affinity = false;
    std::optional<std::vector<Term>> terms;
    const json::array* preferred = nullptr;  ///< null: there is none

private:
    [[nodiscard]] Status read_node_affinity(const json::object* node);
    [[nodiscard]] Status read_terms(const json::object& selector);

    std::unique_ptr<const json::value> document_;  ///< the pointers above are into it
};

tl::unexpected<Error> too_large(std::string_view path, std::size_t most, const char* of,
                                std::size_t found) {
    return fail(Errc::invalid, std::string{path} + ": expected at most " + std::to_string(most) +
                                   " " + of + ", found " + std::to_string(found));
}

Result<Affinity> Affinity::parse(std::string_view text) {
    Affinity affinity;
    if (text.size() > most_bytes) {
        return too_large(affinity_path, most_bytes, "bytes", text.size());
    }
    boost::system::error_code error;
    auto document = text.empty() ? json::value{} : json::parse(text, error);
    if (error) {
        return fail(Errc::invalid,
                    std::string{affinity_path} + ": expected JSON: " + error.message());
    }
    affinity.document_ = std::make_unique<const json::value>(std::move(document));
    const auto whole = object_or_none(affinity.document_.get(), affinity_path);
    if (!whole) {
        return fail(whole.error());
    }
    affinity.has_affinity = *whole != nullptr;
    const auto node = object_or_none(member(*whole, "nodeAffinity"), node_path);
    if (!node) {
        return fail(node.error());
    }
    if (auto read = affinity.read_node_affinity(*node); !read) {
        return fail(std::move(read.error()));
    }
    return affinity;
}

Status Affinity::read_node_affinity(const json::object* node) {
    has_node_affinity = node != nullptr;
    const auto selector = object_or_none(
        member(node, "requiredDuringSchedulingIgnoredDuringExecution"), required_path);
    const auto listed = array_or_none(
        member(node, "preferredDuringSchedulingIgnoredDuringExecution"), preferred_path);
    if (!selector || !listed) {
        return fail(selector ? listed.error() : selector.error());
    }
    preferred = *listed;
    return *selector == nullptr ? Status{} : read_terms(**selector);
}

Status Affinity::read_terms(const json::object& selector) {
    const auto listed = array_or_none(member(&selector, "nodeSelectorTerms"), terms_path);
    if (!listed) {
        return fail(listed.error());
    }
    if (*listed != nullptr && (*listed)->size() > most_terms) {
        return too_large(terms_path, most_terms, "terms", (*listed)->size());
    }
    terms.emplace();
    for (std::size_t i = 0; *listed != nullptr && i < (*listed)->size(); ++i) {
        const auto path = path_of(i);
        const auto term = object_or_none(&(**listed)[i], path);
        if (!term) {
            return fail(term.error());
        }
        const auto expressions =
            array_or_none(member(*term, "matchExpressions"), path + "/matchExpressions");
        const auto fields = array_or_none(member(*term, "matchFields"), path + "/matchFields");
        if (!expressions || !fields) {
            return fail(expressions ? fields.error() : expressions.error());
        }
        terms->push_back({*expressions, *fields});
    }
    return {};
}

bool contains(const json::array& array, const json::value& value) {
    return std::find(array.begin(), array.end(), value) != array.end();
}

/// An addition puts a value in the place of a null, too.
json::value addition(std::string_view path, json::value value) {
    return {{"op", "add"}, {"path", path}, {"value", std::move(value)}};
}

/// To one list of one term; those that are there are not added again.
void append(const json::array* there, const std::string& path, const json::array& wanted,
            json::array& patch) {
    if (there == nullptr && !wanted.empty()) {
        patch.push_back(addition(path, wanted));
        return;
    }
    for (const auto& each : wanted) {
        if (!contains(*there, each)) {
            patch.push_back(addition(path + "/-", each));
        }
    }
}

void require(const Affinity& affinity, const migration::NodeSelectorTerm& wanted,
             json::array& patch) {
    if (!affinity.terms) {
        const json::object selector{{"nodeSelectorTerms", json::array{json_of(wanted)}}};
        patch.push_back(addition(required_path, selector));
        return;
    }
    const auto expressions = json_of(wanted.expressions);
    const auto fields = json_of(wanted.fields);
    for (std::size_t i = 0; i < affinity.terms->size(); ++i) {
        const auto& term = (*affinity.terms)[i];
        if (!term.matches_nothing()) {
            append(term.expressions, path_of(i) + "/matchExpressions", expressions, patch);
            append(term.fields, path_of(i) + "/matchFields", fields, patch);
        }
    }
}

void prefer(const Affinity& affinity, const NodePreference& preference, json::array& patch) {
    const json::object preferred{{"matchExpressions", json_of({preference.requirement})}};
    const json::value term{{"weight", preference.weight}, {"preference", preferred}};
    if (affinity.preferred == nullptr) {
        patch.push_back(addition(preferred_path, json::array{term}));
    } else if (!contains(*affinity.preferred, term)) {
        patch.push_back(addition(std::string{preferred_path} + "/-", term));
    }
}

}  // namespace

Result<std::string> affinity_patch(std::string_view affinity, const NodeDemands& demands) {
    const auto read = Affinity::parse(affinity);
    if (!read) {
        return fail(read.error());
    }
    json::array patch;
    if (!demands.required.empty()) {
        require(*read, demands.required, patch);
    }
    if (demands.preferred) {
        prefer(*read, *demands.preferred, patch);
    }
    if (patch.empty()) {
        return std::string{};
    }
    if (!read->has_node_affinity) {
        patch.insert(patch.begin(), addition(node_path, json::object{}));
    }
    if (!read->has_affinity) {
        patch.insert(patch.begin(), addition(affinity_path, json::object{}));
    }
    return json::serialize(patch);
}

Result<bool> requires_of_node(std::string_view affinity, std::string_view key,
                              std::string_view op) {
    const auto read = Affinity::parse(affinity);
    if (!read) {
        return fail(read.error());
    }
    const auto asks = [key, op](const json::value& expression) {
        const auto* object = expression.if_object();
        return object != nullptr && kube::text_at(*object, "key") == key &&
               kube::text_at(*object, "operator") == op;
    };
    const auto& terms = read->terms;
    return terms && std::any_of(terms->begin(), terms->end(), [&asks](const Affinity::Term& term) {
               return term.expressions != nullptr &&
                      std::any_of(term.expressions->begin(), term.expressions->end(), asks);
           });
}

}  // namespace scout::cluster
