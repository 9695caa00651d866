// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/objects/meta.h"
#include "migration/profile.h"

namespace scout::kube {
class JsonObject;
}  // namespace scout::kube

/// Profiles that outlive the agents that told them (design §4, §5): one object for each content,
/// and on each node the name of its own.
namespace scout::cluster {

/// Of a node: the CPUProfile that its agent told last, and the one before. Written by the leader.
inline constexpr std::string_view profile_annotation = "virt-scout.io/cpu-profile";
inline constexpr std::string_view former_profile_annotation = "virt-scout.io/cpu-profile-before";
/// Of a CPUProfile: since when no node names it, in RFC 3339.
inline constexpr std::string_view unused_annotation = "virt-scout.io/unused-since";

/// virt-scout.io/v1alpha1 CPUProfile (daemonset/base/crds/cpuprofiles.yaml). Never changes but for
/// its annotation, so equal names mean equal profiles.
struct CpuProfile {
    kube::ObjectMeta meta;
    std::string unused_since;  ///< unused_annotation as it is written; empty: none
    migration::Profile profile;

    bool operator==(const CpuProfile&) const = default;
};

/// "cpu-" and the first 40 digits of the profile's digest: a DNS label, as annotations of nodes and
/// names of objects want it.
[[nodiscard]] std::string profile_name(const migration::Profile& profile);
[[nodiscard]] bool is_profile_name(std::string_view name) noexcept;

/// Errors: invalid, with the path of what is wrong, and if the object is not called as its content.
[[nodiscard]] Result<CpuProfile> decode_cpu_profile(kube::JsonObject& object);

/// The object as a server-side apply makes it. Errors: invalid for what would not be read back as
/// the same profile, or is larger than an object may be.
[[nodiscard]] Result<std::string> cpu_profile_body(const migration::Profile& profile);

/// A merge patch of the object's unused_annotation; empty `since` takes it away. Of another uid the
/// API server answers 409.
[[nodiscard]] std::string unused_body(std::string_view uid, std::string_view since);

}  // namespace scout::cluster
