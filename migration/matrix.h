// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "migration/comparison.h"
#include "migration/cpu_map.h"
#include "migration/verdict.h"

namespace scout::migration {

/// One label as it lies in the caller's memory.
using LabelView = std::pair<std::string_view, std::string_view>;

/// Which nodes can host-model guests of each node go to, for a whole fleet, kept current.
///
/// Nodes fall into classes (equal labels that matter, equal profile); features are interned to bits
/// and class × class is word operations; counts come from class sizes (design §5). Adding or
/// removing a node touches one class: O(classes), never O(nodes). A full recomputation equals the
/// incremental result after any sequence. One thread. A NodeId that
/// is not of a node in the matrix throws std::logic_error: the caller is broken. Nothing else
/// fails.
class Matrix {
public:
    struct Options {
        /// Judged by the gate for every guest, but not on nodes whose profile lists none; empty:
        /// not judged.
        std::string machine_type;
        const CpuMap* map = nullptr;  ///< must outlive the matrix
    };
    using NodeId = std::uint32_t;

    explicit Matrix(Options options);
    ~Matrix();
    Matrix(Matrix&&) noexcept;
    Matrix& operator=(Matrix&&) noexcept;
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;

    /// Where the labels of a node that has a profile come from.
    enum class LabelsFrom : std::uint8_t {
        profile,  ///< derived from it (labeller_labels()): what it does not tell, they do not
                  ///< either
        node,     ///< as KubeVirt wrote them: what is not among them, the node lacks
    };

    /// Adds a node. Labels in any order; those that do not matter are passed over. `profile` null:
    /// they are the node's own, and the truth layer knows it by them alone (design §5: guest =
    /// required ∪ (model expansion ∩ own cpu-feature labels), supported = cpu-feature labels).
    /// `digest` names the profile (content address); equal digests must mean equal profiles.
    NodeId add(std::span<const LabelView> labels, const Profile* profile, std::string_view digest,
               LabelsFrom from = LabelsFrom::profile);
    void remove(NodeId node);

    [[nodiscard]] std::size_t nodes() const noexcept;
    [[nodiscard]] std::size_t classes() const noexcept;

    /// Nodes other than itself that a host-model guest of this node can go to. Stock: the gate
    /// passes. Truth: both layers can (design §5).
    [[nodiscard]] std::uint32_t destinations(NodeId node, Layer layer) const;

    /// Combined verdict and both layers for a host-model guest of `from` on `to`.
    struct Cell {
        Verdict gate = Verdict::unknown;
        Verdict truth = Verdict::unknown;
    };
    [[nodiscard]] Cell cell(NodeId from, NodeId to) const;

    /// Class of a node, a small number stable while any node of the class lives.
    [[nodiscard]] std::uint32_t class_of(NodeId node) const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// The proposal's level, 0 to 100: floor(100 × destinations / (counted − 1)), itself excluded; 0
/// for a lone counted node (design §5; docs/decisions/0003-level.md). Pure; never fails.
[[nodiscard]] unsigned migratability_level(std::uint32_t destinations,
                                           std::uint32_t counted) noexcept;

}  // namespace scout::migration
