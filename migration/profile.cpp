// SPDX-License-Identifier: Apache-2.0
#include "migration/profile.h"

#include <algorithm>
#include <string_view>

#include "base/digest.h"

namespace scout::migration {
namespace {

/// Writes fields with their lengths, so that no two profiles share a text.
class CanonicalText {
public:
    void add(std::string_view field) {
        text_ += std::to_string(field.size());
        text_ += ':';
        text_ += field;
    }
    void add(const std::vector<std::string>& fields) {
        text_ += '[';
        for (const auto& field : fields) {
            add(field);
        }
        text_ += ']';
    }
    void add(std::optional<unsigned> number) { add(number ? std::to_string(*number) : "-"); }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

std::string_view usable_text(const std::optional<Usable>& usable) {
    if (!usable) {
        return "-";
    }
    switch (*usable) {
        case Usable::no:
            return "no";
        case Usable::yes:
            return "yes";
        case Usable::unknown:
            return "unknown";
    }
    return "-";
}

}  // namespace

std::string digest(const Profile& profile) {
    CanonicalText text;
    text.add("profile/1");
    text.add(profile.origin == ProfileOrigin::bare_cpu ? "cpu" : "domcaps");
    text.add(profile.arch);
    text.add(profile.virt_type);
    text.add(profile.vendor);
    text.add(profile.host_model ? "host-model" : "-");
    if (!profile.no_host_model.empty()) {
        text.add(profile.no_host_model);
    }
    if (profile.host_model) {
        text.add(profile.host_model->name);
        text.add(profile.host_model->require);
        text.add(profile.host_model->disable);
        const auto address = profile.host_model->maxphysaddr.value_or(MaxPhysAddr{});
        text.add(address.mode);
        text.add(address.bits);
        text.add(address.limit);
    }
    for (const auto& model : profile.models) {
        text.add(model.name);
        text.add(usable_text(model.usable));
        text.add(model.vendor);
        text.add(model.blockers);
    }
    text.add(profile.supported_listed ? "listed" : "-");
    text.add(profile.supported);
    text.add(profile.machines);
    text.add(profile.asked_machine);
    if (!profile.launch_security.empty()) {
        text.add(profile.launch_security);  // left out if empty: older digests stay what they were
    }
    if (profile.max_vcpus) {
        text.add(profile.max_vcpus);  // likewise
    }
    return sha256_hex(text.text());
}

std::string_view default_vendor(std::string_view arch) noexcept {
    return arch == "s390x" ? "IBM" : "";
}

const NamedModel* find_model(const Profile& profile, std::string_view name) {
    const auto found = std::find_if(profile.models.begin(), profile.models.end(),
                                    [name](const auto& model) { return model.name == name; });
    return found == profile.models.end() ? nullptr : &*found;
}

}  // namespace scout::migration
