// SPDX-License-Identifier: Apache-2.0
#include "cli/offline.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "documents/folder.h"
#include "migration/cpu_truth.h"

namespace scout::cli {
namespace {

namespace fs = std::filesystem;

HostSide host_side(const std::string& path, documents::NodeDocuments node,
                   const migration::CpuMap* map) {
    auto labels = migration::standalone_labels(node.profile, node.facts, map);
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

Result<documents::Document> read_input() {
    constexpr const char* name = "standard input";
    auto text = read_descriptor(STDIN_FILENO, document_limit);
    if (!text) {
        return fail(std::move(text.error()).within(name));
    }
    auto document = documents::parse_document(*text);
    if (!document) {
        return fail(std::move(document.error()).within(name));
    }
    return document;
}

AnySide any_side(const std::string& path, documents::Document document,
                 const migration::CpuMap* map) {
    if (auto* domain = std::get_if<documents::LiveDomain>(&document)) {
        return guest_side(path, std::move(*domain));
    }
    documents::NodeDocuments node{.profile = std::move(std::get<migration::Profile>(document)),
                                  .facts = {}};
    return host_side(path, std::move(node), map);
}

/// The same documents without repeats, the first of each stays. The system tells which are the
/// same, as for the subject of place(); what is not there is told of when it is read.
std::vector<std::string> each_once(std::vector<std::string> documents) {
    std::set<std::pair<dev_t, ino_t>> seen;
    std::erase_if(documents, [&seen](const std::string& path) {
        struct stat found{};
        return ::stat(path.c_str(), &found) == 0 &&
               !seen.emplace(found.st_dev, found.st_ino).second;
    });
    return documents;
}

/// The truth first, whichever layer decides.
PairAnswer by_truth(PairAnswer answer) {
    auto& reasons = answer.comparison.reasons;
    std::stable_partition(reasons.begin(), reasons.end(), [](const migration::Reason& reason) {
        return reason.layer == migration::Layer::truth;
    });
    return answer;
}

}  // namespace

Status check_one_input(const std::string& first, const std::string& second) {
    if (first == standard_input && second == standard_input) {
        return fail(Errc::invalid,
                    "expected - for one document at most, found it for both: standard input can be "
                    "read once");
    }
    return {};
}

bool exists(const std::string& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

const Side& side_of(const AnySide& any) noexcept {
    const auto* host = std::get_if<HostSide>(&any);
    return host == nullptr ? *std::get_if<Side>(&any) : host->side;
}

Result<AnySide> load_any(const std::string& path, const migration::CpuMap* map) {
    std::error_code ignored;
    if (path != standard_input && fs::is_directory(path, ignored)) {
        if (!documents::is_labeller_folder(path)) {
            return fail(Errc::invalid, path +
                                           ": expected a document or KubeVirt's labeller folder, "
                                           "found a folder without "
                                           "virsh_domcapabilities.xml; name a file in it");
        }
        auto node = documents::read_labeller_folder(path);
        if (!node) {
            return fail(std::move(node.error()));
        }
        return host_side(path, std::move(*node), map);
    }
    auto document = path == standard_input ? read_input() : documents::read_document(path);
    if (!document) {
        return fail(std::move(document.error()));
    }
    return any_side(path, std::move(*document), map);
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
        if (!fs::is_directory(path, error) || documents::is_labeller_folder(path)) {
            documents.push_back(path);
            continue;
        }
        auto listed = documents::list_documents(path);
        if (!listed) {
            return fail(std::move(listed.error()));
        }
        if (listed->empty()) {
            return fail(Errc::invalid, path +
                                           ": expected files or labeller folders, found none in "
                                           "this folder (others below it "
                                           "are not searched)");
        }
        std::move(listed->begin(), listed->end(), std::back_inserter(documents));
    }
    documents = each_once(std::move(documents));
    if (documents.size() > most_documents) {
        return fail(Errc::invalid, "expected at most " + std::to_string(most_documents) +
                                       " documents, found " + std::to_string(documents.size()));
    }
    return documents;
}

Error nothing_usable(std::size_t documents) {
    return {Errc::invalid, "none of " + std::to_string(documents) +
                               (documents == 1 ? " file" : " files") +
                               " is a document of libvirt that can be used (what virsh "
                               "domcapabilities prints)"};
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

ReadySide make_ready(const AnySide& any, const migration::CpuMap* map) {
    const auto& side = side_of(any);
    ReadySide ready{
        .side = side, .guest = migration::prepare(side.guest, side.stock, map), .target = {}};
    if (const auto* host = std::get_if<HostSide>(&any)) {
        ready.target.emplace(migration::prepare(host->host.view(), map));
    }
    return ready;
}

std::optional<PairAnswer> compare_by_truth(const ReadySide& guest, const ReadySide& target) {
    if (!target.target) {
        return std::nullopt;
    }
    return by_truth({.source = guest.side.path,
                     .target = target.side.path,
                     .comparison = migration::compare(guest.guest, *target.target)});
}

migration::Placement place(const std::string& subject, const Side& guest, const Hosts& hosts,
                           const migration::CpuMap* map) {
    migration::Placement placement;
    placement.subject = subject;
    placement.source = guest.host_model ? guest.path : std::string{};
    const auto ready = migration::prepare(guest.guest, guest.stock, map);
    for (const auto& target : hosts.usable) {
        std::error_code ignored;
        if (fs::equivalent(guest.path, target.side.path, ignored)) {
            placement.notes.push_back(target.side.path +
                                      " was left out: it is the document of the subject itself");
        } else {
            const auto node = migration::prepare(target.host.view(), map);
            placement.nodes.push_back(
                {.node = target.side.path, .comparison = migration::compare(ready, node)});
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
        return fail(
            Errc::invalid,
            "a baseline needs every document, for it must hold on each host; mend these or leave "
            "them out: " +
                all);
    }
    std::vector<migration::NamedProfile> profiles;
    profiles.reserve(hosts.usable.size());
    for (const auto& host : hosts.usable) {
        profiles.push_back({.name = host.side.path, .profile = host.host.documents.profile});
    }
    return migration::find_baseline(profiles, map);
}

}  // namespace scout::cli
