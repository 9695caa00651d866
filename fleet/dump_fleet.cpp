// SPDX-License-Identifier: Apache-2.0
#include "fleet/dump_fleet.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/host_model_placement.h"
#include "cluster/label_check.h"
#include "cluster/node_profile.h"
#include "cluster/node_state.h"
#include "cluster/settings_in_force.h"
#include "cluster/upgrade_answer.h"
#include "cluster/vm_placement.h"
#include "migration/label_profile.h"

namespace scout::fleet {
namespace {

Error not_in_a_dump(std::string_view what, std::string_view why) {
    return {Errc::invalid, std::string{what} +
                               ": a cluster's objects cannot answer this: " + std::string{why} +
                               "; ask an aggregator (without --from and --live)"};
}

/// Placed on a node and not at its end.
bool is_there(const kube::Vmi& vmi) {
    return !vmi.node.empty() && !kube::is_final_phase(vmi.phase.view());
}

GuestLine guest_line(const kube::Vmi& vmi) {
    GuestLine line;
    line.node = vmi.node.str();
    line.name = cluster::full_name(vmi.meta);
    line.state = vmi.phase.str();
    line.cpu.model = vmi.cpu_model.str();
    line.cpu.machine = vmi.machine.empty() ? vmi.machine_asked.str() : vmi.machine.str();
    line.cpu.mode = migration::CpuMode::unstated;
    line.cpu_error = "the live CPU is not in the cluster's objects";
    return line;
}

std::string map_name(const migration::CpuMap* map) {
    return map == nullptr ? std::string{} : map->name();
}

std::vector<DocumentState> documents_of(const std::vector<cluster::LeftOut>& left_out) {
    std::vector<DocumentState> documents;
    documents.reserve(left_out.size());
    for (const auto& each : left_out) {
        documents.push_back({.document = each.place, .usable = false, .reason = each.reason});
    }
    return documents;
}

/// Labels of KubeVirt and of Kubernetes' own that a node's answers rest on.
migration::Labels shown_labels(const migration::Labels& labels) {
    migration::Labels out;
    for (const auto& [key, value] : labels) {
        if (migration::is_of_kubevirt(key) || key == migration::label::arch) {
            out.emplace_hint(out.end(), key, value);
        }
    }
    return out;
}

DumpOptions options_for(const cluster::Objects& objects, const DumpWishes& wishes,
                        const std::function<void(std::string_view)>& tell) {
    DumpOptions options{.map = wishes.map};
    const auto settings = cluster::settings_in_force(cluster::level_settings(options.levels()),
                                                     cluster::config_in_force(objects.configs),
                                                     cluster::kubevirt_in_force(objects.kubevirts));
    for (const auto& fault : settings.faults) {
        tell("ScoutConfig " + std::string{kube::ScoutConfig::name_in_force} +
             ": not obeyed: " + fault);
    }
    const auto& levels = settings.levels;
    options.layer = wishes.layer.value_or(levels.layer);
    options.machine_type = wishes.machine_type.empty() ? levels.machine_type : wishes.machine_type;
    options.counting = cluster::with_settings(options.levels(), levels).counting;
    return options;
}

}  // namespace

void GuestCounts::add(const kube::Vmi& vmi) {
    if (is_there(vmi)) {
        ++by_node_[vmi.node.str()];
    }
}

std::uint32_t GuestCounts::on(std::string_view node) const {
    const auto found = by_node_.find(node);
    return found == by_node_.end() ? 0U : found->second;
}

DumpFleet::DumpFleet(cluster::Dump dump, DumpOptions options)
    : dump_(std::move(dump)), options_(std::move(options)) {}

std::vector<cluster::NodeLevel> DumpFleet::levels() const {
    auto options = options_.levels();
    options.most_refusals = 0;
    options.names_destinations = false;
    return cluster::judge_levels(dump_.objects, dump_.moment, options).nodes;
}

NodeLine DumpFleet::line_of(const kube::Node& node, const cluster::NodeLevel& level) const {
    const auto stock = cluster::node_state(node, dump_.moment).stock;
    const auto chosen = cluster::node_profile(node, stock, dump_.objects);
    const auto answer =
        make_profile(cluster::truth_profile(chosen, stock, options_.map), options_.map);
    NodeLine line;
    line.name = node.meta.name;
    line.arch = answer.profile.arch;
    line.virt_type = answer.profile.virt_type;
    line.vendor = migration::join(stock.vendors);
    line.host_model = migration::join(stock.host_models);
    line.source = chosen.object != nullptr ? "profile" : "labels";
    if (!chosen.why_labels.empty()) {
        line.notices.push_back("known by its labels: " + chosen.why_labels);
    }
    line.comparable = answer.not_comparable.empty();
    line.reason = answer.not_comparable;
    line.level = level.level;
    line.destinations = level.destinations;
    line.schedulable = level.schedulable;
    line.not_counted = level.not_counted;
    if (!level.still_counted.empty()) {
        line.notices.push_back(level.still_counted);
    }
    return line;
}

std::vector<GuestLine> DumpFleet::guests_on(const std::string& node) const {
    std::vector<GuestLine> guests;
    for (const auto& vmi : dump_.objects.vmis) {
        if (is_there(vmi) && (node.empty() || vmi.node == node)) {
            guests.push_back(guest_line(vmi));
        }
    }
    return guests;
}

Result<NodesAnswer> DumpFleet::nodes() {
    const auto judged = levels();
    GuestCounts guests;
    for (const auto& vmi : dump_.objects.vmis) {
        guests.add(vmi);
    }
    NodesAnswer answer{.nodes = {}, .map = map_name(options_.map)};
    for (std::size_t i = 0; i < judged.size(); ++i) {
        auto& line = answer.nodes.emplace_back(line_of(dump_.objects.nodes[i], judged[i]));
        line.guests = guests.on(line.name);
    }
    return answer;
}

Result<NodeDetail> DumpFleet::node(const std::string& name) {
    const auto node = cluster::find_node(dump_.objects, name);
    if (!node) {
        return fail(node.error());
    }
    const auto state = cluster::node_state(**node, dump_.moment);
    const auto place = static_cast<std::size_t>(*node - dump_.objects.nodes.data());
    NodeDetail detail;
    detail.line = line_of(**node, levels()[place]);
    const auto chosen = cluster::node_profile(**node, state.stock, dump_.objects);
    detail.profile =
        make_profile(cluster::truth_profile(chosen, state.stock, options_.map), options_.map);
    detail.facts = migration::label_facts(state.stock);
    detail.labels = shown_labels(state.labels);
    detail.yardstick = chosen.object != nullptr
                           ? "CPUProfile " + chosen.object->meta.name + ", as its agent told it"
                           : "node labels";
    detail.guests = guests_on(name);
    detail.line.guests = static_cast<std::uint32_t>(detail.guests.size());
    return detail;
}

Result<GuestsAnswer> DumpFleet::guests(const std::string& node) {
    if (!node.empty()) {
        if (const auto found = cluster::find_node(dump_.objects, node); !found) {
            return fail(found.error());
        }
    }
    return GuestsAnswer{.guests = guests_on(node), .errors = {}};
}

Status DumpFleet::watch_guests(const std::string& /*node*/, const GuestSink& /*sink*/) {
    return fail(not_in_a_dump("guests --watch", "they are of one moment"));
}

Result<migration::Placement> DumpFleet::where(const FleetSubject& subject,
                                              const std::string& target) {
    auto placement = placement_of(subject);
    if (!placement || target.empty()) {
        return placement;
    }
    if (const auto node = cluster::find_node(dump_.objects, target); !node) {
        return fail(node.error());
    }
    std::erase_if(placement->nodes,
                  [&target](const migration::NodeAnswer& each) { return each.node != target; });
    if (placement->nodes.empty()) {
        placement->notes.push_back(target + " was left out: it is the guest's own node");
    }
    return placement;
}

Result<migration::Placement> DumpFleet::placement_of(const FleetSubject& subject) const {
    const auto& [kind, name, node] = subject.subject;
    switch (kind) {
        case SubjectKind::host_model:
            return cluster::place_host_model(dump_.objects, node, dump_.moment, options_.levels());
        case SubjectKind::guest: {
            const auto vmi = cluster::find_vmi(dump_.objects, name, node);
            if (!vmi) {
                return fail(vmi.error());
            }
            return cluster::place_vmi(dump_.objects, **vmi, dump_.moment, options_.map);
        }
        case SubjectKind::file:
            break;
    }
    return fail(
        Errc::invalid,
        "expected a VMI or host-model@NODE to look for in the cluster, found the file " + name);
}

Result<AnyMatrix> DumpFleet::matrix() {
    return LevelsAnswer{
        .levels = cluster::judge_levels(dump_.objects, dump_.moment, options_.levels()),
        .layer = options_.layer,
        .map = map_name(options_.map),
        .left_out = documents_of(dump_.left_out)};
}

LabelCheckAnswer DumpFleet::check_labels() const {
    return {.nodes = cluster::check_labels(dump_.objects, dump_.moment, options_.levels()),
            .map = map_name(options_.map),
            .left_out = documents_of(dump_.left_out)};
}

DumpFleet::Nodes DumpFleet::taking_vms(std::string& left_out) const {
    std::map<std::string, std::vector<std::string>> others;
    std::map<std::string, Nodes> by_arch;
    for (const auto& node : dump_.objects.nodes) {
        const auto state = cluster::node_state(node, dump_.moment);
        const bool labelled = !state.stock.host_models.empty();
        if (state.stock.schedulable && (labelled || !state.stock.features.empty())) {
            by_arch[state.stock.arch].push_back(&node);
        } else if (state.stock.schedulable) {
            others["its labeller has written no CPU"].push_back(node.meta.name);
        } else if (labelled) {
            others["kubevirt.io/schedulable is not true there"].push_back(node.meta.name);
        }
    }
    const auto most = std::max_element(
        by_arch.begin(), by_arch.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    for (auto each = by_arch.begin(); each != by_arch.end(); ++each) {
        for (const auto* node : each == most ? Nodes{} : each->second) {
            others["another architecture, " + each->first].push_back(node->meta.name);
        }
    }
    for (const auto& [why, names] : others) {
        left_out += "; left out, for " + why + ": " + migration::join(names);
    }
    return most == by_arch.end() ? Nodes{} : most->second;
}

Result<DumpFleet::Nodes> DumpFleet::named(const std::vector<std::string>& names) const {
    Nodes nodes;
    for (const auto& name : names) {
        const auto node = cluster::find_node(dump_.objects, name);
        if (!node) {
            return fail(node.error());
        }
        nodes.push_back(*node);
    }
    return nodes;
}

Result<migration::Baseline> DumpFleet::baseline(const std::vector<std::string>& names) {
    std::string left_out;
    const auto nodes = names.empty() ? Result<Nodes>{taking_vms(left_out)} : named(names);
    if (!nodes) {
        return fail(nodes.error());
    }
    if (nodes->empty()) {
        return fail(Errc::not_found,
                    "expected nodes that take VMs (kubevirt.io/schedulable=true), found none");
    }
    std::vector<migration::Profile> profiles;
    profiles.reserve(nodes->size());
    std::vector<migration::NamedProfile> hosts;
    for (const auto* node : *nodes) {
        const auto state = cluster::node_state(*node, dump_.moment);
        const auto chosen = cluster::node_profile(*node, state.stock, dump_.objects);
        profiles.push_back(cluster::truth_profile(chosen, state.stock, options_.map));
        hosts.push_back({.name = node->meta.name, .profile = profiles.back()});
    }
    auto baseline = migration::find_baseline(hosts, options_.map);
    baseline.reason += left_out;
    return baseline;
}

Result<migration::UpgradeImpact> DumpFleet::upgrade_impact(const std::string& node) {
    return cluster::node_upgrade_impact(dump_.objects, node, options_.levels());
}

void tell_left_out(const std::vector<cluster::LeftOut>& left_out,
                   const std::function<void(std::string_view)>& tell) {
    for (const auto& each : left_out) {
        const bool named = each.reason.starts_with(each.place);
        tell("left out: " + (named ? "" : each.place + ": ") + each.reason);
    }
}

Result<std::unique_ptr<DumpFleet>> open_dump(cluster::Dump dump, const DumpWishes& wishes,
                                             const std::function<void(std::string_view)>& tell) {
    tell_left_out(dump.left_out, tell);
    if (dump.objects.nodes.empty()) {
        return dump.files == 0
                   ? fail(Errc::invalid, "the cluster has no nodes, so there is nothing to tell")
                   : fail(Errc::invalid,
                          "expected Node objects (kubectl get nodes -o yaml), found none in " +
                              std::to_string(dump.files) + (dump.files == 1 ? " file" : " files"));
    }
    auto options = options_for(dump.objects, wishes, tell);
    return std::make_unique<DumpFleet>(std::move(dump), std::move(options));
}

}  // namespace scout::fleet
