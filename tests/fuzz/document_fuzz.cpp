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

bool is_name(std::string_view text) {
    return text.size() <= 253 && std::ranges::none_of(text, [](char c) {
               const auto byte = static_cast<unsigned char>(c);
               return byte < 0x20 || byte == 0x7f;
           });
}

void check(const scout::migration::FeatureSet& require,
           const scout::migration::FeatureSet& disable) {
    expect(std::ranges::all_of(require, is_name) && std::ranges::all_of(disable, is_name));
    expect(scout::migration::intersect(require, disable).empty());
}

void check(const scout::migration::GuestCpu& guest) {
    check(guest.require, guest.disable);
    expect(is_name(guest.model) && is_name(guest.vendor) && is_name(guest.machine));
    expect(!guest.tsc_hz || *guest.tsc_hz > 0);
}

void check(const scout::migration::Profile& profile) {
    expect(std::ranges::is_sorted(profile.models, {}, &scout::migration::NamedModel::name));
    expect(std::ranges::adjacent_find(profile.models, {}, &scout::migration::NamedModel::name) ==
           profile.models.end());
    expect(is_name(profile.arch) && is_name(profile.virt_type) && is_name(profile.vendor));
    if (profile.host_model) {
        expect(!profile.host_model->name.empty() && is_name(profile.host_model->name));
        check(profile.host_model->require, profile.host_model->disable);
    }
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
    if (scout::documents::add_cpu_map_models(xml, "fuzz.xml", models)) {
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
        } else {
            check(std::get<scout::documents::LiveDomain>(*document).cpu);
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
