// SPDX-License-Identifier: Apache-2.0
#include "cli/offline.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "migration/cpu_truth.h"

namespace scout::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* labeller_file = "virsh_domcapabilities.xml";

bool is_labeller_folder(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path / labeller_file, ignored);
}

/// A bare `<cpu>` does not name its architecture; the maps that we read are x86 only, so that a
/// model which is there tells it.
std::string kubernetes_arch(const migration::Profile& profile, const migration::CpuMap* map) {
    const bool in_map =
        map != nullptr && profile.host_model && map->find(profile.host_model->name) != nullptr;
    return migration::go_arch(profile.arch.empty() && in_map ? "x86_64" : profile.arch);
}

migration::Labels node_labels(const documents::NodeDocuments& node, const migration::CpuMap* map) {
    auto labels = migration::labeller_labels(node.profile, node.facts, map);
    labels.insert_or_assign(std::string(migration::label::schedulable), "true");
    if (auto arch = kubernetes_arch(node.profile, map); !arch.empty()) {
        labels.insert_or_assign(std::string(migration::label::arch), std::move(arch));
    }
    return labels;
}

/// Domain capabilities alone list no machine types: then nothing can be said of their labels.
migration::StockGuest asked_of(const migration::StockGuest& guest, const Host& target) {
    auto asked = guest;
    if (target.documents.profile.machines.empty()) {
        asked.machine_type.clear();
    }
    return asked;
}

HostSide host_side(const std::string& path, documents::NodeDocuments node,
                   const migration::CpuMap* map) {
    auto labels = node_labels(node, map);
    Side side{.path = path,
              .guest = migration::host_model_guest(node.profile),
              .stock = migration::stock_host_model_guest(migration::stock_node(labels), {}),
              .host_model = true};
    return {.side = std::move(side),
            .host = {.documents = std::move(node), .labels = std::move(labels)}};
}

/// The node that a live domain runs on is not known from its document: no labels, so the gate asks
/// for the named model as the live XML has it.
Side guest_side(const std::string& path, documents::LiveDomain domain) {
    auto stock = migration::stock_guest(domain.cpu, {});
    return {.path = path,
            .guest = std::move(domain.cpu),
            .stock = std::move(stock),
            .host_model = false};
}

/// Files and labeller folders directly in the folder.
Result<std::vector<std::string>> list_documents(const fs::path& folder) {
    auto found = list_files(folder);
    if (!found) {
        return fail(std::move(found.error()));
    }
    std::error_code error;
    for (auto entry = fs::directory_iterator(folder, error);
         !error && entry != fs::directory_iterator{}; entry.increment(error)) {
        if (is_labeller_folder(entry->path())) {
            found->push_back(entry->path());
        }
    }
    if (error) {
        return fail(Errc::unavailable, folder.string() + ": " + error.message());
    }
    std::sort(found->begin(), found->end());
    return std::vector<std::string>(found->begin(), found->end());
}

}  // namespace

const Side& side_of(const AnySide& any) noexcept {
    const auto* host = std::get_if<HostSide>(&any);
    return host == nullptr ? *std::get_if<Side>(&any) : host->side;
}

Result<AnySide> load_any(const std::string& path, const migration::CpuMap* map) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
        auto node = documents::read_labeller_folder(path);
        if (!node) {
            return fail(std::move(node.error()));
        }
        return host_side(path, std::move(*node), map);
    }
    auto document = documents::read_document(path);
    if (!document) {
        return fail(std::move(document.error()));
    }
    if (auto* domain = std::get_if<documents::LiveDomain>(&*document)) {
        return guest_side(path, std::move(*domain));
    }
    documents::NodeDocuments node{.profile = std::move(std::get<migration::Profile>(*document)),
                                  .facts = {}};
    return host_side(path, std::move(node), map);
}

Result<Side> load_side(const std::string& path, const migration::CpuMap* map) {
    auto any = load_any(path, map);
    if (!any) {
        return fail(std::move(any.error()));
    }
    return side_of(*any);
}

Result<HostSide> load_host(const std::string& path, const migration::CpuMap* map) {
    auto any = load_any(path, map);
    if (!any) {
        return fail(std::move(any.error()));
    }
    if (auto* host = std::get_if<HostSide>(&*any)) {
        return std::move(*host);
    }
    return fail(Errc::invalid,
                path +
                    ": expected a host (domain capabilities, a host-model <cpu> or a "
                    "labeller folder), found a live domain: a guest can only be the source");
}

Result<std::vector<std::string>> expand_documents(const std::vector<std::string>& paths) {
    std::vector<std::string> documents;
    for (const auto& path : paths) {
        std::error_code error;
        if (!fs::exists(path, error)) {
            return fail(Errc::not_found,
                        path + ": " + (error ? error.message() : "no such file or folder"));
        }
        if (!fs::is_directory(path, error) || is_labeller_folder(path)) {
            documents.push_back(path);
            continue;
        }
        auto listed = list_documents(path);
        if (!listed) {
            return fail(std::move(listed.error()));
        }
        if (listed->empty()) {
            return fail(Errc::invalid, path + ": expected documents, found an empty folder");
        }
        std::move(listed->begin(), listed->end(), std::back_inserter(documents));
    }
    if (documents.size() > most_documents) {
        return fail(Errc::invalid, "expected at most " + std::to_string(most_documents) +
                                       " documents, found " + std::to_string(documents.size()));
    }
    return documents;
}

Hosts load_hosts(const std::vector<std::string>& documents, const migration::CpuMap* map) {
    Hosts hosts;
    for (const auto& path : documents) {
        auto host = load_host(path, map);
        if (host) {
            hosts.usable.push_back(std::move(*host));
        } else {
            hosts.unusable.push_back(
                {.document = path, .usable = false, .reason = std::move(host.error().message)});
        }
    }
    return hosts;
}

PairAnswer compare_sides(const Side& guest, const HostSide& target, const migration::CpuMap* map) {
    const auto asked = asked_of(guest.stock, target.host);
    return {.source = guest.path,
            .target = target.side.path,
            .comparison = migration::compare(guest.guest, asked, target.host.view(), map)};
}

migration::Placement place(const std::string& subject, const Side& guest, const Hosts& hosts,
                           const migration::CpuMap* map) {
    migration::Placement placement{
        .subject = subject, .source = guest.host_model ? guest.path : std::string{}, .nodes = {}};
    for (const auto& target : hosts.usable) {
        std::error_code ignored;
        if (!fs::equivalent(guest.path, target.side.path, ignored)) {
            placement.nodes.push_back({.node = target.side.path,
                                       .comparison = compare_sides(guest, target, map).comparison});
        }
    }
    for (const auto& document : hosts.unusable) {
        placement.nodes.push_back(
            {.node = document.document,
             .comparison = unusable_document(document.document, document.reason)});
    }
    std::sort(placement.nodes.begin(), placement.nodes.end(),
              [](const auto& a, const auto& b) { return a.node < b.node; });
    return placement;
}

Result<migration::Baseline> make_baseline(const Hosts& hosts, const migration::CpuMap* map) {
    if (!hosts.unusable.empty()) {
        std::string all;
        for (const auto& document : hosts.unusable) {
            all += (all.empty() ? "" : "; ") + document.reason;
        }
        return fail(Errc::invalid, "a baseline needs every document: " + all);
    }
    std::vector<migration::NamedProfile> profiles;
    profiles.reserve(hosts.usable.size());
    for (const auto& host : hosts.usable) {
        profiles.push_back({.name = host.side.path, .profile = host.host.documents.profile});
    }
    return migration::find_baseline(profiles, map);
}

ProfileAnswer make_profile(migration::Profile profile, const migration::CpuMap* map) {
    ProfileAnswer answer{.profile = std::move(profile), .supported = {}, .not_comparable = {}};
    answer.supported = migration::supported_features(answer.profile, map);
    if (const auto reason = migration::not_comparable(answer.profile)) {
        answer.not_comparable = reason->text;
    } else if (!answer.supported.known()) {
        answer.not_comparable = answer.supported.why;
    }
    return answer;
}

}  // namespace scout::cli
