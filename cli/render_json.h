// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <boost/json/fwd.hpp>

#include "cli/answers.h"

namespace scout::cluster {
struct DrainPlan;
struct MoveForecast;
struct PolicyAnswer;
struct PolicyLint;
}  // namespace scout::cluster

/// Answers as JSON values: the contract of docs/json.md. Fields are only ever added; one that
/// changes its meaning raises `schema_version`. All strings come out as valid UTF-8.
namespace scout::cli {

inline constexpr int schema_version = 1;

[[nodiscard]] boost::json::value to_json(const PairAnswer& answer);
[[nodiscard]] boost::json::value to_json(const DocumentState& document);
[[nodiscard]] boost::json::array json_documents(const std::vector<DocumentState>& documents);
[[nodiscard]] boost::json::value to_json(const ProfileAnswer& answer);
[[nodiscard]] boost::json::value to_json(const LabelsAnswer& answer);
[[nodiscard]] boost::json::value to_json(const MatrixAnswer& answer);
[[nodiscard]] boost::json::value to_json(const LabelCheckAnswer& answer);
[[nodiscard]] boost::json::value to_json(const StuckListing& answer);
[[nodiscard]] boost::json::value to_json(const ProtectionListing& answer);
[[nodiscard]] boost::json::value to_json(const PressureListing& answer);
[[nodiscard]] boost::json::value to_json(const cluster::CauseStory& answer);
[[nodiscard]] boost::json::value to_json(const cluster::MoveForecast& answer);
[[nodiscard]] boost::json::value to_json(const cluster::DrainPlan& answer);
[[nodiscard]] boost::json::value to_json(const cluster::PolicyAnswer& answer);
[[nodiscard]] boost::json::value to_json(const cluster::PolicyLint& answer);
[[nodiscard]] boost::json::value to_json(const migration::Placement& answer);
[[nodiscard]] boost::json::value to_json(const migration::Baseline& answer);
[[nodiscard]] boost::json::value to_json(const migration::UpgradeImpact& answer);

/// The custom baseline as a KubeVirt `cpu` stanza; null when there is no model.
[[nodiscard]] boost::json::value cpu_stanza(const migration::Baseline& baseline);

[[nodiscard]] boost::json::value to_json(const NodesAnswer& answer);
[[nodiscard]] boost::json::value to_json(const NodeDetail& answer);
[[nodiscard]] boost::json::value to_json(const GuestsAnswer& answer);
[[nodiscard]] boost::json::value to_json(const GuestEvent& event);
[[nodiscard]] boost::json::value to_json(const WatchLine& line);

}  // namespace scout::cli
