// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "migration/comparison.h"
#include "migration/cpu_map.h"
#include "migration/guest.h"
#include "migration/labels.h"
#include "migration/profile.h"

namespace scout::test {

/// A cpu_map of three invented models: "Small" {cx8, fpu, mmx, sse} and "Large" (Small + avx, aes),
/// both of vendor Intel, and "Other" {cx8, fpu, mmx, sse, svm} of vendor AMD; "Generic" {cx8, fpu,
/// mmx} is of no vendor.
[[nodiscard]] migration::CpuMap small_map();

/// A KVM host on x86_64 with this host-model and these named models.
struct HostSpec {
    std::string model = "Small";
    std::string vendor = "Intel";
    std::vector<std::string> require;
    std::vector<std::string> disable;
    std::vector<std::string> usable;      ///< named models usable='yes'
    std::vector<std::string> not_usable;  ///< named models usable='no'
    std::vector<std::string> machines;
};
[[nodiscard]] migration::Profile host(const HostSpec& spec);

/// Both layers for the host-model guest of one host on another; labels as those of standalone
/// hosts.
[[nodiscard]] migration::Comparison compare_hosts(const migration::Profile& from,
                                                  const migration::Profile& to,
                                                  const migration::CpuMap& map);

}  // namespace scout::test
