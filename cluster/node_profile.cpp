// SPDX-License-Identifier: Apache-2.0
#include "cluster/node_profile.h"

#include <algorithm>

#include "migration/label_profile.h"
#include "migration/labels.h"

namespace scout::cluster {
namespace {

std::string differs(const char* what, const std::string& in_labels, std::string_view in_profile) {
    const auto shown = [](std::string_view text) {
        return text.empty() ? std::string{"none"} : std::string{text};
    };
    return std::string{"its labels say "} + what + " " + shown(in_labels) + ", the profile says " +
           shown(in_profile);
}

/// Empty if both are of one state of the node, as far as labels tell. Of several vendors some may
/// be stale (dossier §5.2).
std::string disagreement(const migration::StockNode& stock, const migration::Profile& profile) {
    if (const auto arch = migration::go_arch(profile.arch); stock.arch != arch) {
        return differs("architecture", stock.arch, arch);
    }
    const std::string_view vendor = profile.vendor.empty() ? migration::default_vendor(profile.arch)
                                                           : std::string_view{profile.vendor};
    if (!vendor.empty() &&
        std::find(stock.vendors.begin(), stock.vendors.end(), vendor) == stock.vendors.end()) {
        return differs("vendor", migration::join(stock.vendors), vendor);
    }
    const auto model = profile.host_model ? profile.host_model->name : std::string{};
    const auto labelled = migration::join(stock.host_models);
    return labelled == model ? std::string{} : differs("host-model", labelled, model);
}

}  // namespace

NodeProfile node_profile(const kube::Node& node, const migration::StockNode& stock,
                         const CpuProfile* named) {
    const auto name = named_profile(node);
    if (name.empty()) {
        return {};
    }
    if (named == nullptr) {
        return {.object = nullptr, .why_labels = "there is no CPUProfile " + std::string{name}};
    }
    auto why = disagreement(stock, named->profile);
    return {.object = why.empty() ? named : nullptr, .why_labels = std::move(why)};
}

NodeProfile node_profile(const kube::Node& node, const migration::StockNode& stock,
                         const Objects& objects) {
    return node_profile(node, stock, find_profile(objects, named_profile(node)));
}

migration::Profile truth_profile(const NodeProfile& chosen, const migration::StockNode& stock,
                                 const migration::CpuMap* map) {
    return chosen.object != nullptr ? chosen.object->profile : migration::label_profile(stock, map);
}

std::string_view named_profile(const kube::Node& node, std::string_view annotation) {
    const auto name = node.annotations.find(annotation).value_or(std::string_view{});
    return is_profile_name(name) ? name : std::string_view{};
}

const CpuProfile* find_profile(const Objects& objects, std::string_view name) {
    const auto found = std::lower_bound(objects.profiles.begin(), objects.profiles.end(), name,
                                        [](const CpuProfile& profile, std::string_view wanted) {
                                            return profile.meta.name < wanted;
                                        });
    return found == objects.profiles.end() || found->meta.name != name ? nullptr : &*found;
}

}  // namespace scout::cluster
