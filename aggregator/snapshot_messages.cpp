// SPDX-License-Identifier: Apache-2.0
#include "aggregator/snapshot_messages.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aggregator/messages.h"
#include "base/digest.h"
#include "base/logging.h"
#include "base/node_name.h"
#include "virt_scout/v1/snapshot.pb.h"
#include "wire/checks.h"
#include "wire/convert.h"

namespace scout::aggregator {
namespace {

constexpr std::string_view magic = "virt-scout-snapshot ";
constexpr std::string_view version = "1 ";
constexpr std::size_t checksum_size = 64;
/// Ages beyond ten years are cut: they say no more, and time arithmetic must not overflow.
constexpr std::chrono::milliseconds oldest = std::chrono::hours{24 * 3650};

v1::FullReport host_to_wire(const HostReport& host) {
    v1::FullReport out;
    out.set_profile_digest(host.profile_digest);
    *out.mutable_facts() = wire::to_wire(host.facts);
    out.set_source(host.source);
    out.set_yardstick(host.yardstick);
    out.set_probe_error(host.probe_error);
    out.set_guests_error(host.guests_error);
    for (const auto& notice : host.notices) {
        out.add_notices(notice);
    }
    return out;
}

/// Turns stored nodes into nodes; the first fault ends it.
class Decoder {
public:
    Decoder(const v1::Snapshot& snapshot, Registry& registry)
        : snapshot_(snapshot), registry_(registry) {}

    Status read_shared() {
        for (const auto& stored : snapshot_.profiles()) {
            auto profile = wire::from_wire(stored.profile());
            if (!profile) {
                return fail(std::move(profile.error()));
            }
            auto digest = wire::profile_digest(*profile);
            profiles_[stored.digest()] = registry_.share(std::move(digest), std::move(*profile));
        }
        cpus_.reserve(static_cast<std::size_t>(snapshot_.cpus_size()));
        for (const auto& stored : snapshot_.cpus()) {
            auto cpu = wire::from_wire(stored);
            if (!cpu) {
                return fail(std::move(cpu.error()));
            }
            cpus_.push_back(registry_.share(std::move(*cpu)));
        }
        return {};
    }

    Result<Node> read(const v1::Snapshot::StoredNode& stored, SteadyTime last_heard) {
        wire::Checks checks;
        Node node;
        node.name = checks.name("name", stored.name());
        node.host_identity = checks.name("host_identity", stored.host_identity());
        node.agent_version = checks.name("agent_version", stored.agent_version());
        node.last_heard = last_heard;
        if (!is_node_name(node.name)) {
            checks.fault("name", node_name_rule, log_value(node.name));
        }
        if (!checks.count("guests", stored.guests_size(), registry_.options().guests_limit)) {
            return fail(std::move(checks.status().error()));
        }
        if (auto status = checks.status(); !status) {
            return fail(std::move(status.error()));
        }
        auto host = host_from_wire(stored.host());
        if (!host) {
            return fail(std::move(host.error()));
        }
        node.host = std::move(*host);
        node.latest = {.profile = profile_of(stored.latest_digest()),
                       .facts = wire::from_wire(stored.latest_facts())};
        node.before = {.profile = profile_of(stored.before_digest()),
                       .facts = wire::from_wire(stored.before_facts())};
        node.profile = profile_of(node.host.profile_digest);
        // Another version may have stored less, or under another digest: then it serves until the
        // agent reports, and is asked for anew.
        if (node.profile != nullptr) {
            node.host.profile_digest = node.profile->digest;
        }
        if (auto guests = read_guests(stored, node); !guests) {
            return fail(std::move(guests.error()));
        }
        return node;
    }

private:
    SharedProfile profile_of(const std::string& digest) const {
        const auto found = profiles_.find(digest);
        return found == profiles_.end() ? nullptr : found->second;
    }

    Status read_guests(const v1::Snapshot::StoredNode& stored, Node& node) {
        for (const auto& entry : stored.guests()) {
            auto guest = guest_from_wire(entry.guest(), registry_);
            if (!guest) {
                return fail(std::move(guest.error()));
            }
            if (entry.has_cpu()) {
                if (entry.cpu() >= cpus_.size()) {
                    return fail(Errc::invalid, "a guest has a CPU that is not listed");
                }
                guest->cpu = cpus_[entry.cpu()];
            }
            auto uuid = guest->uuid;
            node.guests.emplace(std::move(uuid), std::move(*guest));
        }
        return {};
    }

    const v1::Snapshot& snapshot_;
    Registry& registry_;
    std::unordered_map<std::string, SharedProfile> profiles_;
    std::vector<SharedCpu> cpus_;
};

/// What the wall clock says has passed since the snapshot; never negative.
std::chrono::milliseconds passed_since(std::int64_t saved_at_unix_ms, WallTime wall) {
    const auto now = wall.time_since_epoch().count();
    if (saved_at_unix_ms < 0 || saved_at_unix_ms >= now) {
        return std::chrono::milliseconds{0};
    }
    return std::chrono::milliseconds{now - saved_at_unix_ms};
}

}  // namespace

SnapshotEncoder::SnapshotEncoder(const Registry& registry, WallTime wall) : registry_(registry) {
    v1::Snapshot head;
    head.set_saved_at_unix_ms(wall.time_since_epoch().count());
    head.AppendToString(&text_);
}

bool SnapshotEncoder::turn(SteadyTime now) {
    const auto& nodes = registry_.nodes();
    auto next = nodes.upper_bound(last_);
    for (int i = 0; i < nodes_per_turn && next != nodes.end(); ++i, ++next) {
        last_ = next->first;
        if (next->second.kind == NodeKind::agent) {
            add(next->second, now);
        }
    }
    return next == nodes.end();
}

void SnapshotEncoder::add(const Node& node, SteadyTime now) {
    v1::Snapshot part;
    auto* out = part.add_nodes();
    out->set_name(node.name);
    out->set_host_identity(node.host_identity);
    out->set_agent_version(node.agent_version);
    out->set_age_ms(static_cast<std::uint64_t>(age(node, now).count()));
    *out->mutable_host() = host_to_wire(node.host);
    out->set_latest_digest(add(node.latest.profile));
    *out->mutable_latest_facts() = wire::to_wire(node.latest.facts);
    out->set_before_digest(add(node.before.profile));
    *out->mutable_before_facts() = wire::to_wire(node.before.facts);
    for (const auto& [uuid, guest] : node.guests) {
        auto* stored = out->add_guests();
        *stored->mutable_guest() = to_wire_without_cpu(guest);
        if (guest.cpu != nullptr) {
            stored->set_cpu(add(guest.cpu));
        }
    }
    part.AppendToString(&text_);
}

std::string SnapshotEncoder::add(const SharedProfile& profile) {
    if (profile == nullptr) {
        return {};
    }
    if (profiles_.insert(profile).second) {
        v1::Snapshot part;
        auto* out = part.add_profiles();
        out->set_digest(profile->digest);
        *out->mutable_profile() = wire::to_wire(profile->profile);
        part.AppendToString(&text_);
    }
    return profile->digest;
}

std::uint32_t SnapshotEncoder::add(const SharedCpu& cpu) {
    const auto number = static_cast<std::uint32_t>(cpus_.size());
    const auto [entry, fresh] = cpus_.emplace(cpu, number);
    if (fresh) {
        v1::Snapshot part;
        *part.add_cpus() = wire::to_wire(*cpu);
        part.AppendToString(&text_);
    }
    return entry->second;
}

std::string seal_snapshot(std::string payload) {
    std::string head{magic};
    head.append(version).append(sha256_hex(payload)).append("\n");
    payload.insert(0, head);
    return payload;
}

std::string encode_snapshot(const Registry& registry, WallTime wall, SteadyTime now) {
    SnapshotEncoder encoder(registry, wall);
    while (!encoder.turn(now)) {
    }
    return seal_snapshot(encoder.take());
}

Result<v1::Snapshot> decode_snapshot(std::string_view text) {
    if (!text.starts_with(magic)) {
        return fail(Errc::invalid, "expected a snapshot of virt-scout, found something else");
    }
    text.remove_prefix(magic.size());
    if (!text.starts_with(version)) {
        return fail(Errc::invalid, "expected format version 1, found another one");
    }
    text.remove_prefix(version.size());
    if (text.size() <= checksum_size || text[checksum_size] != '\n') {
        return fail(Errc::invalid, "it ends within its first line");
    }
    const auto payload = text.substr(checksum_size + 1);
    if (sha256_hex(payload) != text.substr(0, checksum_size)) {
        return fail(Errc::invalid, "its checksum does not fit its content");
    }
    return decode_payload(payload);
}

Result<v1::Snapshot> decode_payload(std::string_view payload) {
    v1::Snapshot snapshot;
    if (payload.size() > snapshot_limit ||
        !snapshot.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
        return fail(Errc::invalid, "its content cannot be read");
    }
    return snapshot;
}

Status restore_snapshot(const v1::Snapshot& snapshot, WallTime wall, SteadyTime now,
                        Registry& registry) {
    Decoder decoder(snapshot, registry);
    if (auto shared = decoder.read_shared(); !shared) {
        return shared;
    }
    const auto passed = std::min(passed_since(snapshot.saved_at_unix_ms(), wall), oldest);
    std::vector<Node> nodes;
    nodes.reserve(static_cast<std::size_t>(snapshot.nodes_size()));
    for (const auto& stored : snapshot.nodes()) {
        const auto limit = static_cast<std::uint64_t>(oldest.count());
        const std::chrono::milliseconds then{
            static_cast<std::int64_t>(std::min<std::uint64_t>(stored.age_ms(), limit))};
        auto node = decoder.read(stored, now - std::min(then + passed, oldest));
        if (!node) {
            return fail(std::move(node.error()).within("a node"));
        }
        nodes.push_back(std::move(*node));
    }
    for (auto& node : nodes) {
        registry.restore(std::move(node), now);
    }
    return {};
}

Status restore_snapshot(std::string_view text, WallTime wall, SteadyTime now, Registry& registry) {
    const auto snapshot = decode_snapshot(text);
    if (!snapshot) {
        return fail(snapshot.error());
    }
    return restore_snapshot(*snapshot, wall, now, registry);
}

}  // namespace scout::aggregator
