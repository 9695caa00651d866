// SPDX-License-Identifier: Apache-2.0
#include "tests/support/profiles.h"

#include <algorithm>
#include <map>
#include <utility>

namespace scout::test {

using migration::make_feature_set;

migration::CpuMap small_map() {
    std::map<std::string, migration::MapModel, std::less<>> models;
    models["Small"] = {.vendor = "Intel", .features = {"cx8", "fpu", "mmx", "sse"}};
    models["Large"] = {.vendor = "Intel", .features = {"aes", "avx", "cx8", "fpu", "mmx", "sse"}};
    models["Other"] = {.vendor = "AMD", .features = {"cx8", "fpu", "mmx", "sse", "svm"}};
    models["Generic"] = {.vendor = "", .features = {"cx8", "fpu", "mmx"}};
    return {"test map", std::move(models)};
}

migration::Profile host(const HostSpec& spec) {
    migration::Profile profile;
    profile.arch = "x86_64";
    profile.virt_type = "kvm";
    profile.vendor = spec.vendor;
    profile.host_model = migration::HostModel{.name = spec.model,
                                              .require = make_feature_set(spec.require),
                                              .disable = make_feature_set(spec.disable),
                                              .maxphysaddr = std::nullopt};
    for (const auto& name : spec.usable) {
        profile.models.push_back(
            {.name = name, .usable = migration::Usable::yes, .vendor = "", .blockers = {}});
    }
    for (const auto& name : spec.not_usable) {
        profile.models.push_back(
            {.name = name, .usable = migration::Usable::no, .vendor = "", .blockers = {}});
    }
    std::sort(profile.models.begin(), profile.models.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    profile.machines = make_feature_set(spec.machines);
    return profile;
}

migration::Comparison compare_hosts(const migration::Profile& from, const migration::Profile& to,
                                    const migration::CpuMap& map) {
    const migration::HostFacts facts;
    const auto source = migration::standalone_labels(from, facts, &map);
    const auto target = migration::standalone_labels(to, facts, &map);
    return migration::compare(migration::host_model_guest(from),
                              migration::stock_host_model_guest(migration::stock_node(source), ""),
                              {.profile = to, .facts = facts, .labels = target}, &map);
}

}  // namespace scout::test
