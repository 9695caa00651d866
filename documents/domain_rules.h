// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "migration/feature_set.h"
#include "migration/guest.h"

/// What libvirt means by the parts of a domain, whatever form they come in: its own XML
/// (domain_document.cpp), or the JSON that KubeVirt's launchers make of it
/// (launcher/domain_json.h). Pure; any thread.
namespace scout::documents {

/// Bytes of the longest name that is taken; longer ones would not pass the wire either. Real names
/// of models, features and machines have less than 64.
inline constexpr std::size_t longest_name = 253;

/// Not too long, and without control characters.
[[nodiscard]] bool is_plain_name(std::string_view text) noexcept;
/// What is wrong with one that is not; `place` says where it stands.
[[nodiscard]] std::string name_fault(std::string_view text, std::string_view place);

/// Features by what their policy asks for.
struct FeatureLists {
    migration::FeatureSet require;  ///< require, force and no policy at all (libvirt's default)
    migration::FeatureSet disable;  ///< disable and forbid
    bool optional = false;          ///< some are optional: whether they are there is not said
    bool forbid = false;            ///< some are forbidden: hosts that have them refuse the guest
};

/// Takes the features of one CPU. Rule: virCPUDefParseXML of libvirt; a feature that is there twice
/// with one policy is harmless, though libvirt refuses that too.
class FeaturePolicies {
public:
    /// Errors: invalid for a policy that libvirt does not have, and for a second one of a feature.
    [[nodiscard]] Status add(std::string name, std::string_view policy);
    /// What was added; nothing is left.
    [[nodiscard]] FeatureLists take();

private:
    std::map<std::string, std::string, std::less<>> policies_;
    std::vector<std::string> require_;
    std::vector<std::string> disable_;
    bool optional_ = false;
    bool forbid_ = false;
};

/// An amount in KiB. Nothing for a unit that libvirt does not have (`bytes`, `KiB`, `k`, `MB`, …;
/// none is KiB), and for more bytes than 64 bits count.
[[nodiscard]] std::optional<std::uint64_t> in_kib(std::uint64_t amount, std::string_view unit);

/// Of a CPU with this mode. Nothing for a mode that libvirt does not have.
[[nodiscard]] std::optional<migration::CpuMode> cpu_mode(std::string_view mode, bool has_model);

/// The frequency in Hz that the guest's TSC is pinned to; libvirt passes one of 0 over.
[[nodiscard]] std::optional<std::uint64_t> pinned_tsc(std::optional<std::uint64_t> hz);

/// What libvirt or QEMU migrate under conditions that no document tells, if at all
/// (qemuMigrationSrcIsAllowed; QEMU's own blockers for encrypted memory, vDPA and shared folders):
/// a device by the names of its element and type, and launch security. Empty: it ties to nothing.
/// A type is repeated only if it is one that libvirt has: answers do not repeat free text.
[[nodiscard]] std::string device_tie(std::string_view element, std::string_view type);
[[nodiscard]] std::string security_tie(std::string_view type);

/// Why a document leaves open which CPU the guest has (GuestCpu::doubt).
inline constexpr std::string_view unresolved_host_model =
    "host-model is not resolved in the document";
inline constexpr std::string_view optional_features = "features are optional in the document";

}  // namespace scout::documents
