// SPDX-License-Identifier: Apache-2.0
#include "cluster/dump_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cluster/dump_files.h"
#include "cluster/json_stream.h"
#include "cluster/vm_placement.h"
#include "cluster/yaml_json.h"
#include "kube/json.h"
#include "kube/list_document.h"
#include "kube/resource_version.h"

namespace scout::cluster {
namespace {

constexpr std::string_view list_suffix = "List";
constexpr unsigned most_lists = 4;  ///< one in the other
constexpr std::string_view kubevirt_group = "kubevirt.io";
constexpr std::string_view our_group = "virt-scout.io";

bool is_json(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

/// "kubevirt.io" of "kubevirt.io/v1"; empty for the core group.
std::string_view group_of(std::string_view api_version) {
    const auto slash = api_version.find('/');
    return slash == std::string_view::npos ? std::string_view{} : api_version.substr(0, slash);
}

template <class Object>
std::vector<Object> values_of(std::map<std::pair<std::string, std::string>, Object>& known) {
    std::vector<Object> out;
    out.reserve(known.size());
    for (auto& [name, object] : known) {
        out.push_back(std::move(object));
    }
    known.clear();
    return out;
}

/// What only a dump wants of a node's conditions: kubelet touches it every few minutes.
struct Beat {
    std::optional<WallTime> at;
};

Status read_json(kube::JsonValue value, Beat& target) {
    return kube::read_members(value, kube::Field{"lastHeartbeatTime", target.at});
}

}  // namespace

DumpReader::DumpReader(const DumpLimits& limits)
    : limits_(limits), reader_(std::make_unique<kube::JsonReader>(texts_)) {}

DumpReader::~DumpReader() = default;

void DumpReader::read(const std::filesystem::path& path) {
    ++dump_.files;
    auto text = read_dump_file(path, limits_.file_bytes);
    if (!text) {
        leave_out(path.string(), std::move(text.error().message));
        return;
    }
    if (is_json(*text)) {
        read_json(path.string(), *text);
        return;
    }
    auto documents = yaml_to_json(*text);
    if (!documents) {
        leave_out(path.string(), std::move(documents.error().message));
        return;
    }
    text->clear();
    text->shrink_to_fit();
    const bool many = documents->size() > 1;
    for (auto& document : *documents) {
        read_text(path.string() + (many ? ": line " + std::to_string(document.line) : ""),
                  std::move(document.json));
    }
}

Dump DumpReader::take() {
    auto kubevirts = values_of(kubevirts_);
    tell_all_but_one(kubevirts);
    if (not_kept_ > 0) {
        dump_.left_out.push_back({.place = "and " + std::to_string(not_kept_) + " more",
                                  .reason = "too many to be listed"});
    }
    dump_.objects = {.nodes = values_of(nodes_),
                     .kubevirts = std::move(kubevirts),
                     .vmis = values_of(vmis_),
                     .migrations = values_of(migrations_),
                     .launchers = values_of(launchers_),
                     .profiles = values_of(profiles_)};
    return std::move(dump_);
}

/// A cluster has one KubeVirt; which of several counts must not stay unsaid.
void DumpReader::tell_all_but_one(const std::vector<kube::KubeVirt>& kubevirts) {
    const auto* counts = kubevirt_in_force(kubevirts);
    for (const auto& kubevirt : kubevirts) {
        if (counts != nullptr && !kubevirt.phase.empty() && &kubevirt != counts) {
            leave_out(full_name(kubevirt.meta),
                      "a second KubeVirt object with a phase, and a "
                      "cluster has one; " +
                          full_name(counts->meta) + " counts");
        }
    }
}

void DumpReader::read_json(const std::string& place, std::string& text) {
    const auto values = json_stream(kube::PaddedText::of(text).view());
    for (std::size_t i = 0; i < values.size(); ++i) {
        read_object(place + (values.size() > 1 ? ": object " + std::to_string(i + 1) : ""),
                    kube::PaddedText::promised(values[i]), {});
    }
}

void DumpReader::read_text(const std::string& place, std::string text) {
    read_object(place, kube::PaddedText::of(text), {});
}

void DumpReader::read_object(const std::string& place, kube::PaddedText text,
                             std::string_view kind) {
    auto object = reader_->parse(text);
    if (!object) {
        leave_out(place, std::move(object.error().message));
        return;
    }
    std::string api_version;
    std::string own_kind;
    std::string name;
    auto head = object->read(kube::Field{"apiVersion", api_version}, kube::Field{"kind", own_kind},
                             kube::Nested{"metadata", kube::Field{"name", name}});
    if (!head) {
        leave_out(place, std::move(head.error().message));
        return;
    }
    const std::string_view of_kind = own_kind.empty() ? kind : std::string_view{own_kind};
    if (of_kind.empty()) {
        leave_out(place, "expected an object of Kubernetes, found no 'kind'");
    } else if (of_kind.ends_with(list_suffix) && name.empty()) {
        read_list(place, text, of_kind.substr(0, of_kind.size() - list_suffix.size()));
    } else {
        auto again = object->rewind();
        auto done = again ? decode(*object, group_of(api_version), of_kind) : std::move(again);
        if (!done) {
            leave_out(place, std::string{of_kind} + ": " + done.error().message);
        }
    }
}

void DumpReader::read_list(const std::string& place, kube::PaddedText text, std::string_view kind) {
    const auto list = kube::split_list(text);
    if (!list || lists_ == most_lists) {
        leave_out(place, list ? "lists within lists" : list.error().message);
        return;
    }
    ++lists_;
    const std::string of_items{kind};
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        read_object(place + ": item " + std::to_string(i + 1), list->items[i], of_items);
    }
    --lists_;
}

Status DumpReader::decode(kube::JsonObject& object, std::string_view group, std::string_view kind) {
    if (kind == "Node" && group.empty()) {
        return decode_node(object);
    }
    if (kind == "Pod" && group.empty()) {
        auto pod = kube::decode_launcher_pod(object);
        if (pod && pod->vmi_uid.empty()) {
            ++dump_.other_kinds;  // no launcher
            return {};
        }
        return put(launchers_, std::move(pod));
    }
    // Entries of typed lists do not say their group: the kinds are ours and KubeVirt's alone.
    if (kind == "CPUProfile" && (group == our_group || group.empty())) {
        return put(profiles_, decode_cpu_profile(object));
    }
    if (group == kubevirt_group || group.empty()) {
        if (kind == "VirtualMachineInstance") {
            return put(vmis_, kube::decode_vmi(object));
        }
        if (kind == "VirtualMachineInstanceMigration") {
            return put(migrations_, kube::decode_migration(object));
        }
        if (kind == "KubeVirt") {
            return put(kubevirts_, kube::decode_kubevirt(object));
        }
    }
    ++dump_.other_kinds;
    return {};
}

/// Heartbeats are of no use but here: in an informer they would make every node a changed one.
Status DumpReader::decode_node(kube::JsonObject& object) {
    auto node = kube::decode_node(object);
    if (!node) {
        return fail(std::move(node.error()));
    }
    std::optional<WallTime> heartbeat;
    std::vector<Beat> beats;
    if (auto again = object.rewind(); !again) {
        return again;
    }
    // What is no time says nothing.
    static_cast<void>(object.read(
        kube::Nested{"metadata",
                     kube::Nested{"annotations", kube::Field{"kubevirt.io/heartbeat", heartbeat}}},
        kube::Nested{"status", kube::Field{"conditions", beats}}));
    const auto see = [this](const std::optional<WallTime>& time) {
        dump_.moment = std::max(dump_.moment, time.value_or(WallTime{}));
    };
    see(heartbeat);
    for (const auto& beat : beats) {
        see(beat.at);
    }
    for (const auto& taint : node->taints) {
        see(taint.added);
    }
    for (const auto& condition : node->conditions) {
        see(condition.since);
    }
    return put(nodes_, std::move(node));
}

template <class Object>
Status DumpReader::put(Known<Object>& known, Result<Object> object) {
    if (!object) {
        return fail(std::move(object.error()));
    }
    if (object->meta.name.empty()) {
        return fail(Errc::invalid, "expected metadata.name, found none");
    }
    auto [place, fresh] =
        known.try_emplace({object->meta.space.str(), object->meta.name}, std::move(*object));
    if (fresh) {
        return {};
    }
    if (object->meta.uid != place->second.meta.uid && !object->meta.uid.empty() &&
        !place->second.meta.uid.empty()) {
        leave_out(full_name(object->meta),
                  "there twice with different UIDs, so of two clusters, or made anew; the one of "
                  "the higher resourceVersion counts: give the objects of one cluster and moment");
    }
    if (kube::compare_versions(object->meta.version, place->second.meta.version) !=
        kube::VersionOrder::older) {
        place->second = std::move(*object);
    }
    return {};
}

void DumpReader::leave_out(const std::string& place, std::string reason) {
    if (dump_.left_out.size() < limits_.left_out) {
        dump_.left_out.push_back({.place = place, .reason = std::move(reason)});
    } else {
        ++not_kept_;
    }
}

}  // namespace scout::cluster
