// SPDX-License-Identifier: Apache-2.0
#include "migration/node_selector.h"

#include <algorithm>
#include <optional>

#include "base/number.h"
#include "migration/label_syntax.h"

namespace scout::migration {
namespace {

constexpr std::string_view name_field = "metadata.name";

bool is_one_of(std::string_view op, std::string_view a, std::string_view b) {
    return op == a || op == b;
}

/// The faults of one requirement. Texts are made only where somebody reads them.
class Faults {
public:
    Faults() = default;
    Faults(std::string path, std::vector<std::string>& out) : path_(std::move(path)), out_(&out) {}

    void required(std::string_view field, std::string_view why) {
        add([field, why](auto& text) {
            text.append(field).append(": Required value: ").append(why);
        });
    }
    void forbidden(std::string_view field, std::string_view why) {
        add([field, why](auto& text) { text.append(field).append(": Forbidden: ").append(why); });
    }
    void invalid(std::string_view field, std::string_view value, std::string_view why) {
        add([field, value, why](auto& text) {
            text.append(field).append(invalid_text(value)).append(why);
        });
    }
    void malformed(std::string_view field, std::string_view value, std::string_view rule) {
        add([field, value, rule](auto& text) {
            text.append(field).append(invalid_text(value)).append("expected ").append(rule);
        });
    }
    void malformed_value(std::size_t index, std::string_view value, std::string_view rule) {
        add([index, value, rule](auto& text) {
            text.append("values[").append(std::to_string(index)).append("]");
            text.append(invalid_text(value)).append("expected ").append(rule);
        });
    }
    [[nodiscard]] bool none() const noexcept { return none_; }

private:
    static std::string invalid_text(std::string_view value) {
        constexpr std::size_t most = 100;
        return ": Invalid value: \"" + std::string{value.substr(0, most)} + "\": ";
    }
    template <class Append>
    void add(const Append& append) {
        none_ = false;
        if (out_ != nullptr) {
            append(out_->emplace_back(path_));
        }
    }

    std::string path_;
    std::vector<std::string>* out_ = nullptr;
    bool none_ = true;
};

void check_expression(const NodeRequirement& asked, Faults& faults) {
    const auto& [key, op, values] = asked;
    if (is_one_of(op, "In", "NotIn")) {
        if (values.empty()) {
            faults.required("values", "must be specified when `operator` is 'In' or 'NotIn'");
        }
    } else if (is_one_of(op, "Exists", "DoesNotExist")) {
        if (!values.empty()) {
            faults.forbidden("values",
                             "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
    } else if (is_one_of(op, "Gt", "Lt")) {
        if (values.size() != 1) {
            faults.required("values",
                            "must be specified single value when `operator` is 'Lt' or 'Gt'");
        } else if (!go_integer(values.front())) {
            faults.invalid("values[0]", values.front(),
                           "for 'Gt', 'Lt' operators, the value must be an integer");
        }
    } else {
        faults.invalid("operator", op, "not a valid selector operator");
    }
    if (!is_label_key(key)) {
        faults.malformed("key", key, label_key_rule);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!is_label_value(values[i])) {
            faults.malformed_value(i, values[i], label_value_rule);
        }
    }
}

void check_field(const NodeRequirement& asked, Faults& faults) {
    const auto& [key, op, values] = asked;
    if (!is_one_of(op, "In", "NotIn")) {
        faults.invalid("operator", op, "not a valid selector operator");
    } else if (values.size() != 1) {
        faults.required(
            "values",
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
    }
    if (key != name_field) {
        faults.invalid("key", key, "not a valid field selector key");
        return;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!is_dns_subdomain(values[i])) {
            faults.malformed_value(i, values[i], dns_subdomain_rule);
        }
    }
}

std::string step(std::string_view path, const char* list, std::size_t index) {
    return std::string{path} + "." + list + "[" + std::to_string(index) + "].";
}

/// Requirements that the scheduler can read; what it cannot read, matches nothing.
bool is_readable(const NodeRequirement& asked, bool field) {
    if (field) {
        // It looks at neither key nor value.
        return is_one_of(asked.op, "In", "NotIn") && asked.values.size() == 1;
    }
    Faults faults;
    check_expression(asked, faults);
    return faults.none();
}

bool has_value(const NodeRequirement& asked, std::string_view value) {
    return std::find(asked.values.begin(), asked.values.end(), value) != asked.values.end();
}

bool meets_expression(const NodeRequirement& asked, const Labels& labels) {
    const auto found = labels.find(asked.key);
    const bool there = found != labels.end();
    if (asked.op == "In") {
        return there && has_value(asked, found->second);
    }
    if (asked.op == "NotIn") {
        return !there || !has_value(asked, found->second);
    }
    if (is_one_of(asked.op, "Exists", "DoesNotExist")) {
        return there == (asked.op == "Exists");
    }
    const auto value = there ? go_integer(found->second) : std::nullopt;
    const auto limit = go_integer(asked.values.front());
    return value && limit && (asked.op == "Gt" ? *value > *limit : *value < *limit);
}

bool meets_field(const NodeRequirement& asked, std::string_view node) {
    const auto value = asked.key == name_field ? node : std::string_view{};
    return (asked.values.front() == value) == (asked.op == "In");
}

void add(const std::vector<NodeRequirement>& from, std::vector<NodeRequirement>& to) {
    for (const auto& each : from) {
        if (std::find(to.begin(), to.end(), each) == to.end()) {
            to.push_back(each);
        }
    }
}

}  // namespace

std::vector<std::string> term_faults(const NodeSelectorTerm& term, std::string_view path) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < term.expressions.size(); ++i) {
        Faults faults(step(path, "matchExpressions", i), out);
        check_expression(term.expressions[i], faults);
    }
    for (std::size_t i = 0; i < term.fields.size(); ++i) {
        Faults faults(step(path, "matchFields", i), out);
        check_field(term.fields[i], faults);
    }
    return out;
}

bool matches(const NodeSelectorTerm& term, const Labels& labels, std::string_view node) {
    const auto expression = [&labels](const NodeRequirement& asked) {
        return is_readable(asked, false) && meets_expression(asked, labels);
    };
    const auto field = [node](const NodeRequirement& asked) {
        return is_readable(asked, true) && meets_field(asked, node);
    };
    return !term.empty() &&
           std::all_of(term.expressions.begin(), term.expressions.end(), expression) &&
           std::all_of(term.fields.begin(), term.fields.end(), field);
}

bool matches(const std::vector<NodeSelectorTerm>& terms, const Labels& labels,
             std::string_view node) {
    return std::any_of(terms.begin(), terms.end(),
                       [&labels, node](const auto& term) { return matches(term, labels, node); });
}

std::vector<NodeSelectorTerm> merged(std::vector<NodeSelectorTerm> terms,
                                     const NodeSelectorTerm& added) {
    if (terms.empty() && !added.empty()) {
        terms.push_back(added);
        return terms;
    }
    for (auto& term : terms) {
        if (!term.empty()) {
            add(added.expressions, term.expressions);
            add(added.fields, term.fields);
        }
    }
    return terms;
}

}  // namespace scout::migration
