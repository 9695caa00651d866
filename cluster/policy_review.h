// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/scout_config.h"

/// What is said to whoever makes or changes a MigrationPolicy with which something is wrong, and
/// whether it is refused. Pure.
namespace scout::cluster {

struct PolicyFinding;

enum class PolicyLintMode : std::uint8_t {
    off,
    warn,
    refuse,  ///< what does not do what it says
};
[[nodiscard]] std::string_view to_string(PolicyLintMode mode) noexcept;  // "off", "warn", "refuse"
[[nodiscard]] std::optional<PolicyLintMode> policy_lint_mode_named(std::string_view word) noexcept;

/// Null: there is none. What is wrong is added to `faults`; the default is in its place.
[[nodiscard]] PolicyLintMode policy_lint_mode(const kube::ScoutConfig* config,
                                              std::vector<std::string>& faults);

/// What is in force in a few words, for people.
[[nodiscard]] std::string summary(PolicyLintMode mode);

struct PolicyReview {
    std::string refusal;                ///< empty: it is taken
    std::vector<std::string> warnings;  ///< at most nine
};

/// What the API server and KubeVirt refuse, or leave out, by themselves is not said once more.
[[nodiscard]] PolicyReview review_policy(const std::vector<PolicyFinding>& findings,
                                         PolicyLintMode mode);

}  // namespace scout::cluster
