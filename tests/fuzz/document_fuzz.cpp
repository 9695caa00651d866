// SPDX-License-Identifier: Apache-2.0
// Every parser of libvirt's documents on the same bytes: none may crash, hang or hand out a result
// that breaks what its header promises.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "documents/cpu_map_document.h"
#include "documents/profile_document.h"
#include "migration/profile.h"

namespace {

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

void check(const scout::migration::Profile& profile) {
    expect(std::ranges::is_sorted(profile.models, {}, &scout::migration::NamedModel::name));
    expect(std::ranges::is_sorted(profile.machines));
    expect(scout::migration::digest(profile).size() == 64);
}

template <class T>
void expect_told(const scout::Result<T>& result) {
    expect(result.has_value() || !result.error().message.empty());
}

void parse_cpu_map(std::string_view xml) {
    expect_told(scout::documents::parse_cpu_map_index(xml));
    scout::documents::RawModels models;
    if (scout::documents::add_cpu_map_models(xml, models)) {
        expect_told(scout::documents::resolve_models(models));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view xml(reinterpret_cast<const char*>(data), size);
    const auto document = scout::documents::parse_document(xml);
    expect_told(document);
    if (document) {
        if (const auto* profile = std::get_if<scout::migration::Profile>(&*document)) {
            check(*profile);
        }
    }
    if (const auto profile = scout::documents::parse_profile(xml)) {
        check(*profile);
    }
    expect_told(scout::documents::parse_supported_features(xml));
    expect_told(scout::documents::parse_capabilities(xml));
    expect_told(scout::documents::parse_domain(xml));
    parse_cpu_map(xml);
    return 0;
}
