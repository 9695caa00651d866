// SPDX-License-Identifier: Apache-2.0
#include "documents/domain_rules.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/logging.h"

namespace scout::documents {
namespace {

using migration::CpuMode;

bool is_control(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

/// libvirt's scaled integers: a unit without "iB" or "b" is binary, "KB" is 1000.
std::optional<std::uint64_t> bytes_in(std::string_view unit) {
    constexpr std::array<std::pair<std::string_view, std::uint64_t>, 16> units{{
        {"b", 1},
        {"bytes", 1},
        {"KB", 1000},
        {"k", 1ULL << 10U},
        {"KiB", 1ULL << 10U},
        {"", 1ULL << 10U},
        {"MB", 1000ULL * 1000},
        {"M", 1ULL << 20U},
        {"MiB", 1ULL << 20U},
        {"GB", 1000ULL * 1000 * 1000},
        {"G", 1ULL << 30U},
        {"GiB", 1ULL << 30U},
        {"TB", 1000ULL * 1000 * 1000 * 1000},
        {"T", 1ULL << 40U},
        {"TiB", 1ULL << 40U},
        {"K", 1ULL << 10U},
    }};
    for (const auto& [name, factor] : units) {
        if (name == unit) {
            return factor;
        }
    }
    return std::nullopt;
}

std::string tie(std::string_view name, std::string_view type,
                std::initializer_list<std::string_view> known) {
    const bool told = std::find(known.begin(), known.end(), type) != known.end();
    return std::string{name} + (told ? " " + std::string{type} : std::string{});
}

}  // namespace

bool is_plain_name(std::string_view text) noexcept {
    return text.size() <= longest_name && std::none_of(text.begin(), text.end(), is_control);
}

std::string name_fault(std::string_view text, std::string_view place) {
    if (text.size() > longest_name) {
        return "expected names of at most " + std::to_string(longest_name) + " bytes in " +
               std::string{place} + ", found " + std::to_string(text.size());
    }
    return "expected names without control characters in " + std::string{place} + ", found " +
           log_value(text);
}

Status FeaturePolicies::add(std::string name, std::string_view policy) {
    const auto [known, first] = policies_.try_emplace(std::move(name), policy);
    if (!first) {
        return known->second == policy
                   ? Status{}
                   : fail(Errc::invalid, "expected one policy of feature '" + known->first +
                                             "', found '" + known->second + "' and " +
                                             log_value(policy));
    }
    optional_ = optional_ || policy == "optional";
    forbid_ = forbid_ || policy == "forbid";
    if (policy == "require" || policy == "force") {
        require_.push_back(known->first);
    } else if (policy == "disable" || policy == "forbid") {
        disable_.push_back(known->first);
    } else if (policy != "optional") {
        return fail(Errc::invalid,
                    "expected policy force, require, optional, disable or forbid of feature '" +
                        known->first + "', found " + log_value(policy));
    }
    return {};
}

FeatureLists FeaturePolicies::take() {
    FeatureLists lists{
        .require = migration::make_feature_set(std::exchange(require_, {})),
        .disable = migration::make_feature_set(std::exchange(disable_, {})),
        .optional = std::exchange(optional_, false),
        .forbid = std::exchange(forbid_, false),
    };
    policies_.clear();
    return lists;
}

std::optional<std::uint64_t> in_kib(std::uint64_t amount, std::string_view unit) {
    const auto factor = bytes_in(unit);
    std::uint64_t bytes = 0;
    if (!factor || __builtin_mul_overflow(amount, *factor, &bytes)) {
        return std::nullopt;
    }
    return bytes / 1024;
}

std::optional<CpuMode> cpu_mode(std::string_view mode, bool has_model) {
    if (mode == "host-model") {
        return CpuMode::host_model;
    }
    if (mode == "host-passthrough" || mode == "maximum") {
        return CpuMode::host_passthrough;
    }
    if (mode != "custom") {
        return std::nullopt;
    }
    return has_model ? CpuMode::custom : CpuMode::unstated;
}

std::optional<std::uint64_t> pinned_tsc(std::optional<std::uint64_t> hz) {
    return hz == 0U ? std::nullopt : hz;
}

std::string device_tie(std::string_view element, std::string_view type) {
    if (element == "hostdev") {
        return tie(element, type, {"mdev", "pci", "scsi", "scsi_host", "usb"});
    }
    if (element == "interface" && (type == "hostdev" || type == "vdpa")) {
        return tie(element, type, {type});
    }
    return element == "filesystem" || element == "shmem" ? std::string{element} : std::string{};
}

std::string security_tie(std::string_view type) {
    return tie("launchSecurity", type, {"s390-pv", "sev", "sev-snp", "tdx"});
}

}  // namespace scout::documents
