// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/access.h"

namespace scout::kube {

/// Largest kubeconfig: 1 MiB. One with a hundred clusters, certificates inline, has 600 KiB.
inline constexpr std::size_t kubeconfig_limit = std::size_t{1} << 20U;

struct KubeconfigFile {
    std::filesystem::path path;  ///< for messages, and what relative paths in it start from
    std::string text;
};

/// Where to look, in this order.
struct KubeconfigPlaces {
    std::filesystem::path chosen;  ///< flag --kubeconfig; then nothing else is looked at
    std::string environment;       ///< variable KUBECONFIG: paths parted by ':'
    std::filesystem::path home;    ///< .kube/config in there if the variable is empty
};

/// The files that are there. As kubectl does, a missing file of the variable is passed over, the
/// chosen one must exist. Errc::not_found names all paths if there is none.
[[nodiscard]] Result<std::vector<KubeconfigFile>> read_kubeconfigs(const KubeconfigPlaces& places);

struct AccessOptions {
    std::string context;          ///< empty: current-context
    bool allow_insecure = false;  ///< a flag of the caller; the file must ask for it as well
};

/// One context of the files, merged as kubectl does: of two entries with one name, and of two
/// current-contexts, the one in the earlier file counts, whole.
///
/// Errc::invalid lists every fault of the files and of the chosen context, one line each, with
/// file, entry and key; what is wrong in entries that are not used harms nobody.
[[nodiscard]] Result<ClusterAccess> access_from_kubeconfig(const std::vector<KubeconfigFile>& files,
                                                           const AccessOptions& options);

}  // namespace scout::kube
