// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <vector>

#include "cli/offline.h"
#include "migration/class_rows.h"
#include "migration/matrix.h"

namespace scout::cli {
namespace {

using migration::Matrix;

std::vector<migration::LabelView> views_of(const migration::Labels& labels) {
    return {labels.begin(), labels.end()};
}

/// Counted for the level: hosts of the architecture that have a host-model (design §5).
std::map<std::string, std::uint32_t> count_hosts(const std::vector<HostSide>& hosts) {
    std::map<std::string, std::uint32_t> counted;
    for (const auto& host : hosts) {
        const auto& profile = host.host.documents.profile;
        counted[profile.arch] += profile.host_model ? 1U : 0U;
    }
    return counted;
}

}  // namespace

MatrixAnswer make_matrix(const Hosts& hosts, const migration::CpuMap* map) {
    Matrix matrix({.machine_type = {}, .map = map});
    std::vector<Matrix::NodeId> ids;
    ids.reserve(hosts.usable.size());
    for (const auto& host : hosts.usable) {
        const auto labels = views_of(host.host.labels);
        const auto& profile = host.host.documents.profile;
        ids.push_back(matrix.add(labels, &profile, migration::digest(profile)));
    }
    const auto counted = count_hosts(hosts.usable);
    MatrixAnswer answer;
    for (std::size_t row = 0; row < ids.size(); ++row) {
        const auto& host = hosts.usable[row];
        const auto destinations = matrix.destinations(ids[row], migration::Layer::truth);
        const auto& arch = host.host.documents.profile.arch;
        answer.rows.push_back(
            {.node = host.side.path,
             .level = migration::migratability_level(destinations, counted.at(arch)),
             .destinations = destinations,
             .node_class = matrix.class_of(ids[row])});
    }
    answer.classes = migration::class_rows(matrix, ids);
    answer.map = map == nullptr ? std::string{} : map->name();
    answer.left_out = hosts.unusable;
    return answer;
}

}  // namespace scout::cli
