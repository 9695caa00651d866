// SPDX-License-Identifier: Apache-2.0
#include "migration/upgrade_impact.h"

#include <array>
#include <utility>

#include "migration/cpu_truth.h"

namespace scout::migration {
namespace {

struct Side {
    std::string model;
    std::optional<Usable> named_usable;
    EffectiveSet guest;  ///< of a host-model guest started there
    EffectiveSet supported;
    std::optional<Reason> fault;
};

Side side_of(const Profile& profile, const CpuMap* map) {
    Side side;
    side.model = profile.host_model ? profile.host_model->name : std::string{};
    const NamedModel* named = find_model(profile, side.model);
    side.named_usable = named != nullptr ? named->usable : std::nullopt;
    side.guest = effective_features(host_model_guest(profile), map);
    side.supported = supported_features(profile, map);
    side.fault = not_comparable(profile);
    return side;
}

std::string another_machine(const char* what, const std::string& before, const std::string& after) {
    return std::string{"the "} + what + " changed from " + or_unstated(before) + " to " +
           or_unstated(after) + ": this is another machine";
}

/// Why the two are not of one machine on which facts may be drawn, the plainest reason first; empty
/// if they are.
std::string obstacle(const Profile& before, const Profile& after,
                     const std::array<Side, 2>& sides) {
    if (!before.arch.empty() && !after.arch.empty() && before.arch != after.arch) {
        return another_machine("architecture", before.arch, after.arch);
    }
    for (const auto& side : sides) {
        if (side.fault) {
            return side.fault->text;
        }
    }
    if (before.vendor != after.vendor) {
        return another_machine("vendor", before.vendor, after.vendor);
    }
    return {};
}

/// Why the features of one side are not known; empty if they are.
std::string not_known(const std::array<Side, 2>& sides) {
    for (const auto& side : sides) {
        for (const auto* set : {&side.guest, &side.supported}) {
            if (!set->known()) {
                return set->why;
            }
        }
    }
    return {};
}

/// Which of the documents does not tell, for a sentence that goes on with "not tell".
std::string silent(bool before_tells, bool after_tells) {
    if (before_tells) {
        return "the document after the change does";
    }
    return after_tells ? "the document before the change does" : "the documents do";
}

void compare_machines(const Profile& before, const Profile& after, UpgradeImpact& out) {
    const bool old_told = !before.machines.empty();
    const bool new_told = !after.machines.empty();
    if (!old_told || !new_told) {
        out.notes.push_back("machine types: not known, for " + silent(old_told, new_told) +
                            " not list them (capabilities.xml of a labeller folder does)");
        return;
    }
    out.machines_missing_after = subtract(before.machines, after.machines);
    out.machines_missing_before = subtract(after.machines, before.machines);
    if (!out.machines_missing_after->empty()) {
        out.notes.push_back(
            "machine types: no longer offered: " + join(*out.machines_missing_after) +
            "; guests of these types cannot migrate to it nor start there");
    }
    if (!out.machines_missing_before->empty()) {
        out.notes.push_back("machine types: new: " + join(*out.machines_missing_before) +
                            "; guests of these types cannot go to hosts that were not changed yet");
    }
}

std::string tsc_text(std::uint64_t hz, bool scalable) {
    return std::to_string(hz) + (scalable ? " Hz (scalable)" : " Hz (cannot scale)");
}

void compare_tsc(const HostFacts& before, const HostFacts& after, UpgradeImpact& out) {
    if (!before.tsc_hz || !after.tsc_hz) {
        out.notes.push_back("TSC: not known, for " +
                            silent(before.tsc_hz.has_value(), after.tsc_hz.has_value()) +
                            " not tell its frequency; guests with a pinned TSC are not judged");
        return;
    }
    if (before.tsc_hz == after.tsc_hz && before.tsc_scalable == after.tsc_scalable) {
        return;
    }
    const bool fits = tsc_acceptable(*before.tsc_hz, *after.tsc_hz, after.tsc_scalable);
    const bool fits_back = tsc_acceptable(*after.tsc_hz, *before.tsc_hz, before.tsc_scalable);
    auto note = "TSC: changed from " + tsc_text(*before.tsc_hz, before.tsc_scalable) + " to " +
                tsc_text(*after.tsc_hz, after.tsc_scalable) +
                "; guests pinned to the frequency before " +
                (fits ? "still fit" : "cannot migrate to it");
    if (before.tsc_scalable && !after.tsc_scalable) {
        note += "; those pinned to lower ones cannot, for it no longer scales";
    }
    if (!fits_back) {
        note += "; guests pinned to the new one cannot go to hosts that were not changed yet";
    }
    if (after.tsc_scalable && !before.tsc_scalable) {
        note +=
            "; guests pinned to ones lower than both cannot go to hosts that were not changed "
            "yet, for those do not scale";
    }
    out.notes.push_back(std::move(note));
}

void compare_addresses(const Profile& before, const Profile& after, UpgradeImpact& out) {
    const auto old_limit = address_limit(before);
    const auto new_limit = address_limit(after);
    if (!old_limit || !new_limit) {
        out.notes.push_back("physical addresses: width not known, for " +
                            silent(old_limit.has_value(), new_limit.has_value()) +
                            " not tell it (maxphysaddr); guests with a fixed width are not judged");
    } else if (*old_limit != *new_limit) {
        const bool narrower = *new_limit < *old_limit;
        out.notes.push_back("physical addresses: changed from " + std::to_string(*old_limit) +
                            " to " + std::to_string(*new_limit) +
                            " bits; guests with a fixed width over " +
                            std::to_string(narrower ? *new_limit : *old_limit) +
                            (narrower ? " bits cannot migrate to it"
                                      : " bits cannot go to hosts that were not changed yet"));
    }
}

/// TSC and width of addresses are facts of x86.
void compare_facts(Target before, Target after, UpgradeImpact& out) {
    compare_machines(before.profile, after.profile, out);
    if (before.profile.arch != "s390x" && after.profile.arch != "s390x") {
        compare_tsc(before.facts, after.facts, out);
        compare_addresses(before.profile, after.profile, out);
    }
}

std::string features_advice(const UpgradeImpact& impact) {
    if (!impact.missing_after.empty()) {
        return "restart guests that were started before the change: the host no longer offers " +
               join(impact.missing_after) + ", so they cannot migrate to it or to its equals";
    }
    if (!impact.missing_before.empty()) {
        return "none needed for the CPU features of guests started before the change; guests "
               "started now use " +
               join(impact.missing_before) + " and cannot go to hosts that were not changed yet";
    }
    return "none needed for CPU features: those of guests started before and after the change are "
           "there on both sides";
}

}  // namespace

UpgradeImpact upgrade_impact(Target before, Target after, const CpuMap* map) {
    const std::array<Side, 2> sides{side_of(before.profile, map), side_of(after.profile, map)};
    const auto& [old_side, new_side] = sides;
    UpgradeImpact out;
    out.model_before = old_side.model;
    out.model_after = new_side.model;
    out.named_usable_before = old_side.named_usable;
    out.named_usable_after = new_side.named_usable;
    for (const auto& side : sides) {
        for (const auto* set : {&side.guest, &side.supported}) {
            out.map = out.map.empty() ? set->map : out.map;
        }
    }
    out.assumed = before.profile.origin == ProfileOrigin::bare_cpu ||
                  after.profile.origin == ProfileOrigin::bare_cpu;
    auto why = obstacle(before.profile, after.profile, sides);
    if (why.empty()) {
        compare_facts(before, after, out);
        why = not_known(sides);
    }
    out.comparable = why.empty();
    if (out.comparable) {
        out.missing_after = missing_features(old_side.guest, new_side.supported);
        out.missing_before = missing_features(new_side.guest, old_side.supported);
    }
    out.advice = out.comparable ? features_advice(out) : "cannot be compared: " + why;
    if (!out.notes.empty()) {
        const bool lost = out.machines_missing_after && !out.machines_missing_after->empty();
        out.advice += lost ? "; guests of machine types that are gone need another one" : "";
        out.advice += "; see the notes for the rest";
    }
    return out;
}

}  // namespace scout::migration
