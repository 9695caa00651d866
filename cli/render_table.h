// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/answers.h"
#include "cli/style.h"

namespace scout::cluster {
struct DrainPlan;
struct MoveForecast;
struct PolicyAnswer;
struct PolicyLint;
}  // namespace scout::cluster

/// Answers for people. Nothing from outside reaches the terminal with control characters in it.
namespace scout::cli {

[[nodiscard]] std::string to_table(const PairAnswer& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const ProfileAnswer& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const LabelsAnswer& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const MatrixAnswer& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const LabelCheckAnswer& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const StuckListing& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const ProtectionListing& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const PressureListing& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const cluster::CauseStory& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const cluster::MoveForecast& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const cluster::DrainPlan& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const cluster::PolicyAnswer& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const cluster::PolicyLint& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const migration::Placement& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const migration::Baseline& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const migration::UpgradeImpact& answer, const TableStyle& style);

[[nodiscard]] std::string to_table(const NodesAnswer& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const NodeDetail& answer, const TableStyle& style);
[[nodiscard]] std::string to_table(const GuestsAnswer& answer, const TableStyle& style);

/// One line of `guests --watch`, without its newline.
[[nodiscard]] std::string to_table(const GuestEvent& event, const TableStyle& style);

/// One line of `debug watch`, without its newline.
[[nodiscard]] std::string to_table(const WatchLine& line, const TableStyle& style);

/// The full story of one answer of `where`, as `why-not` tells it.
[[nodiscard]] std::string explain(const migration::Placement& answer, const TableStyle& style);

/// The header and one line of `compare --all`, without their newlines. Columns have fixed widths,
/// so that lines can be written before the last pair is known.
[[nodiscard]] std::string pair_header(const TableStyle& style);
[[nodiscard]] std::string pair_line(const PairAnswer& answer, const TableStyle& style);

}  // namespace scout::cli
