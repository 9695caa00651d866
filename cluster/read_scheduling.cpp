// SPDX-License-Identifier: Apache-2.0
#include "cluster/read_scheduling.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "kube/objects/read_migration_settings.h"
#include "migration/quantity.h"

namespace scout::cluster {

namespace scheduling = migration::scheduling;
using kube::Field;
using kube::JsonValue;
using kube::Nested;

namespace {

/// One of the matchExpressions or matchFields, of nodes and of pods.
struct Asking {
    migration::NodeRequirement asked;
};
Status read_json(JsonValue value, Asking& target) {
    auto& [key, op, values] = target.asked;
    return read_members(value, Field{"key", key}, Field{"operator", op}, Field{"values", values});
}

std::vector<migration::NodeRequirement> taken(std::vector<Asking> all) {
    std::vector<migration::NodeRequirement> out;
    out.reserve(all.size());
    for (auto& each : all) {
        out.push_back(std::move(each.asked));
    }
    return out;
}

struct Selector {
    scheduling::LabelSelector selector;
};
Status read_json(JsonValue value, Selector& target) {
    PlainLabels labels{target.selector.labels};
    std::vector<Asking> asks;
    auto done = read_members(value, Field{"matchLabels", labels}, Field{"matchExpressions", asks});
    target.selector.expressions = taken(std::move(asks));
    return done;
}

std::optional<scheduling::LabelSelector> taken(std::optional<Selector> selector) {
    return selector ? std::optional{std::move(selector->selector)} : std::nullopt;
}

struct Term {
    migration::NodeSelectorTerm term;
};
Status read_json(JsonValue value, Term& target) {
    std::vector<Asking> expressions;
    std::vector<Asking> fields;
    auto done =
        read_members(value, Field{"matchExpressions", expressions}, Field{"matchFields", fields});
    target.term.expressions = taken(std::move(expressions));
    target.term.fields = taken(std::move(fields));
    return done;
}

struct OtherPods {
    scheduling::PodTerm term;
};
Status read_json(JsonValue value, OtherPods& target) {
    std::optional<Selector> pods;
    std::optional<Selector> spaces;
    auto done = read_members(
        value, Field{"labelSelector", pods}, Field{"namespaceSelector", spaces},
        Field{"namespaces", target.term.spaces}, Field{"topologyKey", target.term.topology},
        Field{"matchLabelKeys", target.term.label_keys},
        Field{"mismatchLabelKeys", target.term.unlike_label_keys});
    target.term.pods = taken(std::move(pods));
    target.term.space_labels = taken(std::move(spaces));
    return done;
}

void take(std::vector<OtherPods> from, std::vector<scheduling::PodTerm>& to) {
    for (auto& each : from) {
        to.push_back(std::move(each.term));
    }
}

struct Spread {
    scheduling::SpreadConstraint constraint;
    std::string when;
};
Status read_json(JsonValue value, Spread& target) {
    auto& constraint = target.constraint;
    std::optional<Selector> pods;
    std::string affinity;
    std::string taints;
    auto done = read_members(
        value, Field{"maxSkew", constraint.max_skew}, Field{"minDomains", constraint.min_domains},
        Field{"topologyKey", constraint.topology}, Field{"labelSelector", pods},
        Field{"matchLabelKeys", constraint.label_keys}, Field{"whenUnsatisfiable", target.when},
        Field{"nodeAffinityPolicy", affinity}, Field{"nodeTaintsPolicy", taints});
    constraint.pods = taken(std::move(pods));
    constraint.honors_affinity = affinity != "Ignore";
    constraint.honors_taints = taints == "Honor";
    return done;
}

struct Tolerated {
    scheduling::Toleration toleration;
};
Status read_json(JsonValue value, Tolerated& target) {
    auto& [key, op, one, effect] = target.toleration;
    return read_members(value, Field{"key", key}, Field{"operator", op}, Field{"value", one},
                        Field{"effect", effect});
}

/// Others are none of the scheduler's: their names have no domain.
bool is_counted(std::string_view resource) {
    return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
           resource == "pods" || resource.starts_with("hugepages-") ||
           resource.starts_with("attachable-volumes-") ||
           resource.find('/') != std::string_view::npos;
}

}  // namespace

Status read_json(JsonValue value, PlainLabels& target) {
    target.target.clear();
    return read_map(value, [&target](std::string_view key, JsonValue item) -> Status {
        std::string text;
        auto done = kube::read_json(item, text);
        target.target.emplace(key, std::move(text));
        return done;
    });
}

Status read_json(JsonValue value, NodeTerms& target) {
    std::vector<Term> terms;
    auto done = read_members(value, Field{"nodeSelectorTerms", terms});
    auto& out = target.target.emplace();
    for (auto& each : terms) {
        out.push_back(std::move(each.term));
    }
    return done;
}

Status read_json(JsonValue value, AffinityOf& target) {
    constexpr std::string_view required = "requiredDuringSchedulingIgnoredDuringExecution";
    NodeTerms nodes{target.pod.node_terms};
    std::vector<OtherPods> with;
    std::vector<OtherPods> without;
    auto done = read_members(value, Nested{"nodeAffinity", Field{required, nodes}},
                             Nested{"podAffinity", Field{required, with}},
                             Nested{"podAntiAffinity", Field{required, without}});
    take(std::move(with), target.pod.affinity);
    take(std::move(without), target.pod.anti_affinity);
    return done;
}

Status read_json(JsonValue value, SpreadOf& target) {
    std::vector<Spread> all;
    auto done = kube::read_json(value, all);
    for (auto& each : all) {
        if (each.when != "ScheduleAnyway") {
            target.pod.spread.push_back(std::move(each.constraint));
        }
    }
    return done;
}

Status read_json(JsonValue value, TolerationsOf& target) {
    std::vector<Tolerated> all;
    auto done = kube::read_json(value, all);
    for (auto& each : all) {
        target.pod.tolerations.push_back(std::move(each.toleration));
    }
    return done;
}

Status read_json(JsonValue value, Amounts& target) {
    return read_map(value, [&target](std::string_view name, JsonValue item) -> Status {
        kube::SharedText text;
        kube::QuantityText quantity{text};
        if (auto done = read_json(item, quantity); !done || !is_counted(name)) {
            return done;
        }
        const auto amount = migration::Quantity::parse(text.view());
        if (!amount) {
            return fail(amount.error());
        }
        constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
        const auto whole = name == "cpu" ? amount->thousandths_rounded_up() : amount->rounded_up();
        target.target[std::string{name}] = static_cast<std::int64_t>(std::min(whole, most));
        return {};
    });
}

}  // namespace scout::cluster
