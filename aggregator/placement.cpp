// SPDX-License-Identifier: Apache-2.0
#include "aggregator/placement.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/messages.h"
#include "base/duration.h"
#include "base/logging.h"
#include "wire/checks.h"
#include "wire/convert.h"

namespace scout::aggregator {
namespace {

using migration::Comparison;
using migration::CpuMode;

struct Found {
    const Node* node;
    const Guest* guest;
};

std::vector<Found> find_guests(std::string_view wanted, std::string_view on,
                               const Registry& registry) {
    std::vector<Found> by_uuid;
    std::vector<Found> by_name;
    for (const auto& [name, node] : registry.nodes()) {
        if (!on.empty() && name != on) {
            continue;
        }
        if (const auto found = node.guests.find(wanted); found != node.guests.end()) {
            by_uuid.push_back({&node, &found->second});
        }
        for (const auto& [uuid, guest] : node.guests) {
            if (guest.name == wanted) {
                by_name.push_back({&node, &guest});
            }
        }
    }
    return by_uuid.empty() ? by_name : by_uuid;
}

/// A guest that moved from a node that is not heard of any more is on both: the fresher node's word
/// holds.
void drop_outdated(std::vector<Found>& found) {
    std::map<std::string_view, Freshness> best;
    for (const auto& [node, guest] : found) {
        auto& known = best.emplace(guest->uuid, node->freshness).first->second;
        known = std::min(known, node->freshness);
    }
    std::erase_if(found, [&best](const Found& place) {
        return place.node->freshness != best.at(place.guest->uuid);
    });
}

Result<Found> find_guest(const std::string& wanted, const std::string& on,
                         const Registry& registry) {
    auto found = find_guests(wanted, on, registry);
    drop_outdated(found);
    if (found.empty()) {
        return fail(Errc::not_found, "guest " + log_value(wanted) + " is not known" +
                                         (on.empty() ? "" : " on node " + log_value(on)));
    }
    if (found.size() > 1) {
        constexpr std::size_t shown = 8;
        std::string places;
        const bool one_guest = std::all_of(found.begin(), found.end(), [&found](const auto& place) {
            return place.guest->uuid == found.front().guest->uuid;
        });
        for (std::size_t i = 0; i < found.size() && i < shown; ++i) {
            places += (i == 0 ? "" : ", ") + found[i].guest->uuid + " on " + found[i].node->name;
        }
        return fail(Errc::invalid,
                    "guest " + log_value(wanted) + " is not one: " + places +
                        (found.size() > shown ? ", …" : "") +
                        (one_guest ? ": name its node" : ": name its UUID or its node"));
    }
    return found.front();
}

/// Labels of the source as far as a guest that somebody describes tells them.
migration::StockNode described_source(const migration::GuestCpu& guest) {
    migration::StockNode node;
    node.arch = guest.arch.empty() ? std::string{} : migration::go_arch(guest.arch);
    node.schedulable = true;
    if (guest.mode == CpuMode::host_model && !guest.model.empty()) {
        node.host_models = {guest.model};
        node.required = guest.require;
    }
    if (!guest.vendor.empty()) {
        node.vendors = {guest.vendor};
    }
    return node;
}

Result<PlacementSubject> describe(const virt_scout::v1::GuestCpu& described) {
    auto guest = wire::from_wire(described);
    if (!guest) {
        return fail(std::move(guest.error()));
    }
    PlacementSubject out;
    out.guest = std::move(*guest);
    out.stock = migration::stock_guest(out.guest, described_source(out.guest));
    return out;
}

migration::StockNode source_labels(const Node& source, FleetMatrix& matrix) {
    if (source.profile == nullptr) {
        return {};
    }
    return migration::stock_node(matrix.labels().of(*source.profile));
}

Result<PlacementSubject> host_model_subject(const std::string& name, const Registry& registry,
                                            FleetMatrix& matrix) {
    const auto* source = registry.find(name);
    if (source == nullptr) {
        return fail(Errc::not_found, "node " + log_value(name) + " is not known");
    }
    if (source->profile == nullptr) {
        return fail(Errc::unavailable, no_profile_text(*source));
    }
    PlacementSubject out;
    out.name = name;
    out.source = source->name;
    out.guest = migration::host_model_guest(source->profile->profile);
    out.stock =
        migration::stock_host_model_guest(source_labels(*source, matrix), matrix.machine_type());
    return out;
}

Comparison unknown_because(std::string text, std::string key) {
    Comparison out;
    out.reasons.push_back({.code = migration::ReasonCode::not_comparable,
                           .layer = migration::Layer::truth,
                           .text = std::move(text),
                           .keys = {std::move(key)}});
    return out;
}

/// Of a guest whose CPU nobody knows nothing can be said, but where it is.
PlacementSubject running_subject(const Node& node, const Guest& guest, FleetMatrix& matrix) {
    PlacementSubject out;
    out.name = guest.name.empty() ? guest.uuid : guest.name;
    out.source = node.name;
    if (guest.cpu == nullptr) {
        out.unknown = "the CPU of guest " + log_value(out.name) + " is not known: " +
                      (guest.cpu_error.empty() ? "it has not been read yet" : guest.cpu_error);
        return out;
    }
    out.guest = node.profile == nullptr ? *guest.cpu
                                        : migration::running_on(*guest.cpu, node.profile->profile);
    out.stock = migration::stock_guest(out.guest, source_labels(node, matrix));
    return out;
}

std::string last_heard(const Node& node, SteadyTime now) {
    return "node " + node.name + " was last heard of " + age_text(age(node, now)) + " ago";
}

}  // namespace

Result<PlacementSubject> find_subject(const virt_scout::v1::Subject& subject,
                                      const Registry& registry, FleetMatrix& matrix) {
    Result<PlacementSubject> out;
    if (subject.has_guest()) {
        const auto found = find_guest(subject.guest(), subject.node(), registry);
        if (!found) {
            return fail(found.error());
        }
        out = running_subject(*found->node, *found->guest, matrix);
    } else if (subject.has_host_model_of()) {
        out = host_model_subject(subject.host_model_of(), registry, matrix);
    } else if (subject.has_described()) {
        out = describe(subject.described());
    } else {
        return fail(Errc::invalid,
                    "expected a guest, a node or a described guest as subject, found nothing");
    }
    if (out && !subject.name().empty()) {
        out->name = wire::cut(subject.name(), wire::text_limit);
    }
    return out;
}

Comparison PlacementSearch::ask(const Node& target) {
    if (!subject_.unknown.empty()) {
        return unknown_because(subject_.unknown, subject_.name);
    }
    const auto* source = registry_.find(subject_.source);
    if (source != nullptr && source->freshness == Freshness::gone) {
        return unknown_because(last_heard(*source, now_) + ": nothing that it told counts",
                               source->name);
    }
    if (target.freshness == Freshness::gone) {
        return unknown_because(last_heard(target, now_) + ": nothing that it told counts",
                               target.name);
    }
    if (target.profile == nullptr) {
        return unknown_because(no_profile_text(target), target.name);
    }
    auto facts = target.profile->digest;
    if (subject_.guest.tsc_hz) {
        const auto hz = target.host.facts.tsc_hz;
        facts += ' ' + (hz ? std::to_string(*hz) : std::string{"-"});
        facts += target.host.facts.tsc_scalable ? 's' : '-';
    }
    auto found = by_facts_.find(facts);
    if (found == by_facts_.end()) {
        found = by_facts_.emplace(std::move(facts), compare_with(target)).first;
    }
    auto answer = found->second;
    for (const auto* node : {source, &target}) {
        if (node != nullptr && node->freshness == Freshness::stale) {
            answer.reasons.push_back({.code = migration::ReasonCode::not_comparable,
                                      .layer = migration::Layer::truth,
                                      .text = last_heard(*node, now_) + ": the answer is as old",
                                      .keys = {node->name}});
        }
    }
    return answer;
}

Comparison PlacementSearch::compare_with(const Node& target) const {
    const auto& profile = *target.profile;
    const auto& facts = target.host.facts;
    const auto with = [this, &profile, &facts](const migration::Labels& labels) {
        const migration::NodeView node{
            .profile = profile.profile, .facts = facts, .labels = labels};
        return migration::compare(guest_, migration::prepare(node, matrix_.map()));
    };
    auto& labels = matrix_.labels();
    return subject_.guest.tsc_hz ? with(labels.of(profile, facts)) : with(labels.of(profile));
}

}  // namespace scout::aggregator
