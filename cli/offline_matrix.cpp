// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <vector>

#include "cli/offline.h"
#include "migration/matrix.h"
#include "migration/matrix_cell.h"

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

/// One node of each class stands for all of them.
std::vector<MatrixAnswer::Class> classes_of(const Matrix& matrix,
                                            const std::vector<Matrix::NodeId>& ids) {
    std::map<std::uint32_t, Matrix::NodeId> nodes;
    for (const auto id : ids) {
        nodes.emplace(matrix.class_of(id), id);
    }
    std::vector<MatrixAnswer::Class> classes;
    for (const auto& [number, from] : nodes) {
        auto& row = classes.emplace_back(MatrixAnswer::Class{.number = number, .cells = {}});
        for (const auto& [ignored, to] : nodes) {
            const auto cell = matrix.cell(from, to);
            row.cells += migration::matrix_cell::of(cell.gate, cell.truth);
        }
    }
    return classes;
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
    answer.classes = classes_of(matrix, ids);
    answer.map = map == nullptr ? std::string{} : map->name();
    answer.left_out = hosts.unusable;
    return answer;
}

}  // namespace scout::cli
