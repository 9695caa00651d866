// SPDX-License-Identifier: Apache-2.0
#include "aggregator/registry.h"

#include <utility>

#include "base/digest.h"
#include "base/logging.h"
#include "base/node_name.h"
#include "wire/convert.h"

namespace scout::aggregator {
namespace {

/// Content address of a guest's CPU: of all that the wire tells of it.
std::string digest_of(const migration::GuestCpu& cpu) {
    return sha256_hex(wire::to_wire(cpu).SerializeAsString());
}

}  // namespace

Registry::Registry(RegistryOptions options, const Clock& clock)
    : options_(options), clock_(clock) {}

Status Registry::introduce(const Introduction& introduction, SteadyTime now) {
    if (auto* node = known(introduction.node); node != nullptr &&
                                               node->host_identity == introduction.host_identity &&
                                               node->kind == NodeKind::agent) {
        node->agent_version = introduction.agent_version;
        touch(introduction.node, now);
        return {};
    }
    if (auto room = make_room(introduction, now); !room) {
        return room;
    }
    auto& node = nodes_[introduction.node];
    node.name = introduction.node;
    node.host_identity = introduction.host_identity;
    node.agent_version = introduction.agent_version;
    node.last_heard = now;
    tell(ChangeKind::node_added, node);
    return {};
}

/// A free place for the node: the name is not, or no more, that of another host.
Status Registry::make_room(const Introduction& introduction, SteadyTime now) {
    const auto found = nodes_.find(introduction.node);
    if (found == nodes_.end()) {
        if (nodes_.size() >= options_.nodes_limit) {
            return fail(Errc::unavailable,
                        "the aggregator is full: it keeps at most " +
                            std::to_string(options_.nodes_limit) +
                            " nodes, and takes another once one of them is forgotten");
        }
        return {};
    }
    const auto& holder = found->second;
    if (holder.kind == NodeKind::document) {
        return fail(Errc::refused, "node name " + log_value(holder.name) +
                                       " is taken by the document " +
                                       log_value(holder.host_identity) + "; this host is " +
                                       log_value(introduction.host_identity) +
                                       ": remove the document or give the node another name");
    }
    if (judge(holder, now) == Freshness::fresh) {
        return fail(Errc::refused, "node name " + log_value(holder.name) + " is in use by host " +
                                       log_value(holder.host_identity) +
                                       ", which reports now; this host is " +
                                       log_value(introduction.host_identity) +
                                       ": give one of them another node name");
    }
    forget(found);
    return {};
}

void Registry::touch(std::string_view node, SteadyTime now) {
    auto* found = known(node);
    if (found != nullptr && found->kind == NodeKind::agent) {
        found->last_heard = std::max(found->last_heard, now);
        set_freshness(*found, judge(*found, now));
    }
}

Result<bool> Registry::report_host(std::string_view node, HostReport report) {
    auto* found = known(node);
    if (found == nullptr) {
        return fail(Errc::not_found, "node " + log_value(node) + " is not known");
    }
    auto profile = report.profile_digest.empty() ? nullptr : profiles_.find(report.profile_digest);
    const bool complete = report.profile_digest.empty() || profile != nullptr;
    const bool new_profile = set_profile(*found, std::move(profile));
    if (new_profile || !(found->host == report)) {
        found->host = std::move(report);
        remember_profile(*found);
        tell(ChangeKind::node_changed, *found);
    }
    tell_report(*found);
    return complete;
}

void Registry::deliver(const std::string& digest, migration::Profile profile) {
    const auto shared = profiles_.share(digest, StoredProfile{digest, std::move(profile)});
    for (auto& [name, node] : nodes_) {
        if (node.host.profile_digest == digest && set_profile(node, shared)) {
            remember_profile(node);
            tell(ChangeKind::node_changed, node);
            tell_report(node);
        }
    }
}

Status Registry::change_guests(std::string_view node, std::vector<Guest> changed,
                               const std::vector<RemovedGuest>& removed) {
    auto* found = known(node);
    if (found == nullptr) {
        return fail(Errc::not_found, "node " + log_value(node) + " is not known");
    }
    for (const auto& guest : removed) {
        drop_guest(*found, guest);
    }
    for (auto& guest : changed) {
        put_guest(*found, std::move(guest));
    }
    return {};
}

Status Registry::report_pressure(std::string_view node, migration::PressureReport report,
                                 SteadyTime now) {
    auto* found = known(node);
    if (found == nullptr) {
        return fail(Errc::not_found, "node " + log_value(node) + " is not known");
    }
    const auto before = std::exchange(
        found->pressure,
        {.report = std::make_shared<const migration::PressureReport>(std::move(report)),
         .at = now});
    for (const auto& observer : pressure_observers_) {
        observer(*found, before.report.get());
    }
    return {};
}

Status Registry::add_document(const Document& document, SteadyTime now) {
    if (!is_node_name(document.name)) {
        return fail(Errc::invalid, document.path + ": a node is called as its file, and expected " +
                                       std::string{node_name_rule} + ", found " +
                                       log_value(document.name) + ": rename the file");
    }
    if (const auto* holder = find(document.name)) {
        return fail(Errc::refused, document.path + ": node name " + log_value(document.name) +
                                       " is taken by " + log_value(holder->host_identity) +
                                       ": give the file another name");
    }
    if (nodes_.size() >= options_.nodes_limit) {
        return fail(Errc::unavailable,
                    document.path + ": the aggregator is full: it keeps at most " +
                        std::to_string(options_.nodes_limit) + " nodes: name fewer documents");
    }
    auto& node = nodes_[document.name];
    node.name = document.name;
    node.host_identity = document.path;
    node.kind = NodeKind::document;
    node.last_heard = now;
    node.host = document.host;
    if (document.profile != nullptr) {
        node.host.profile_digest = wire::profile_digest(*document.profile);
        node.profile = share(node.host.profile_digest, *document.profile);
        remember_profile(node);
    }
    tell(ChangeKind::node_added, node);
    return {};
}

void Registry::restore(Node node, SteadyTime now) {
    if (nodes_.contains(node.name) || nodes_.size() >= options_.nodes_limit) {
        return;
    }
    auto& placed = nodes_[node.name];
    placed = std::move(node);
    placed.freshness = judge(placed, now);
    guests_ += placed.guests.size();
    tell(ChangeKind::node_added, placed);
    for (const auto& [uuid, guest] : placed.guests) {
        tell(ChangeKind::guest_added, placed, &guest);
    }
}

void Registry::tick(SteadyTime now) {
    for (auto it = nodes_.begin(); it != nodes_.end();) {
        const auto node = it++;
        if (age(node->second, now) >= options_.forget_after) {
            forget(node);
        } else {
            set_freshness(node->second, judge(node->second, now));
        }
    }
}

const Node* Registry::find(std::string_view node) const {
    const auto found = nodes_.find(node);
    return found == nodes_.end() ? nullptr : &found->second;
}

SharedCpu Registry::share(migration::GuestCpu cpu) {
    const auto digest = digest_of(cpu);
    return cpus_.share(digest, std::move(cpu));
}

SharedProfile Registry::share(std::string digest, migration::Profile profile) {
    return profiles_.share(digest, StoredProfile{digest, std::move(profile)});
}

Node* Registry::known(std::string_view node) {
    const auto found = nodes_.find(node);
    return found == nodes_.end() ? nullptr : &found->second;
}

void Registry::tell(ChangeKind kind, const Node& node, const Guest* guest) const {
    const Change change{kind, node, guest};
    for (const auto& observer : observers_) {
        observer(change);
    }
}

void Registry::tell_report(const Node& node) const {
    for (const auto& observer : report_observers_) {
        observer(node);
    }
}

Freshness Registry::judge(const Node& node, SteadyTime now) const {
    const auto passed = age(node, now);
    if (passed >= options_.gone_after) {
        return Freshness::gone;
    }
    return passed > options_.stale_after ? Freshness::stale : Freshness::fresh;
}

void Registry::set_freshness(Node& node, Freshness freshness) {
    if (node.freshness != freshness) {
        node.freshness = freshness;
        tell(ChangeKind::node_changed, node);
    }
}

/// True if the node's profile is another one now.
bool Registry::set_profile(Node& node, SharedProfile profile) {
    if (node.profile == profile) {
        return false;
    }
    node.profile = std::move(profile);
    return true;
}

/// For upgrade_impact(): the profile that is there now, with the host's facts of now.
void Registry::remember_profile(Node& node) {
    if (node.profile == nullptr) {
        return;
    }
    // By content: another version of the agent may tell the same under another digest.
    if (node.latest.profile != nullptr && node.latest.profile != node.profile &&
        !(node.latest.profile->profile == node.profile->profile)) {
        node.before = std::move(node.latest);
    }
    node.latest = {.profile = node.profile, .facts = node.host.facts};
}

void Registry::put_guest(Node& node, Guest guest) {
    const auto found = node.guests.find(guest.uuid);
    if (found == node.guests.end()) {
        if (node.guests.size() >= options_.guests_limit) {
            return;
        }
        ++guests_;
        auto uuid = guest.uuid;
        const auto placed = node.guests.emplace(std::move(uuid), std::move(guest)).first;
        tell(ChangeKind::guest_added, node, &placed->second);
    } else if (!(found->second == guest)) {
        found->second = std::move(guest);
        tell(ChangeKind::guest_changed, node, &found->second);
    }
}

void Registry::tell_removed(const Node& node, Guest& guest, const RemovedGuest& removed) const {
    guest.found_by = removed.found_by;
    guest.since_unix_ms = removed.since_unix_ms != 0 ? removed.since_unix_ms
                                                     : clock_.wall().time_since_epoch().count();
    tell(ChangeKind::guest_removed, node, &guest);
}

void Registry::drop_guest(Node& node, const RemovedGuest& removed) {
    const auto found = node.guests.find(removed.uuid);
    if (found != node.guests.end()) {
        tell_removed(node, found->second, removed);
        node.guests.erase(found);
        --guests_;
    }
}

void Registry::forget(std::map<std::string, Node, std::less<>>::iterator node) {
    for (auto& [uuid, guest] : node->second.guests) {
        tell_removed(node->second, guest, {});
    }
    guests_ -= node->second.guests.size();
    tell(ChangeKind::node_removed, node->second);
    nodes_.erase(node);
}

}  // namespace scout::aggregator
