// SPDX-License-Identifier: Apache-2.0
#include "cluster/policy_review.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/logging.h"
#include "base/utf8.h"
#include "cluster/policy_lint.h"

namespace scout::cluster {
namespace {

constexpr std::size_t most_told = 8;
constexpr std::size_t longest_name = 63;
constexpr std::size_t longest_text = 256;

bool is_one_of(std::string_view code, const auto& codes) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
}

/// It is never applied, or keeps another one from that; it sets no limit, or by far another one.
bool does_something_else(const PolicyFinding& finding) {
    constexpr std::array<std::string_view, 4> codes{"unreachable", "equal-selectors", "no-limit",
                                                    "milli"};
    return is_one_of(finding.code, codes);
}

/// By the API server before we are asked, or by KubeVirt's webhook; and what they take though it is
/// none of what is known here, a newer KubeVirt has made known to them.
bool is_for_others_to_say(const PolicyFinding& finding) {
    constexpr std::array<std::string_view, 2> codes{"gated", "pruned"};
    return finding.severity == LintSeverity::refused || is_one_of(finding.code, codes);
}

/// The first of them, and how many there are more.
class Told {
public:
    void add(const PolicyFinding& finding) {
        if (texts_.size() == most_told) {
            ++more_;
            return;
        }
        texts_.push_back(std::string{head_of(finding.policy, longest_name)} + ": " +
                         std::string{head_of(finding.text, longest_text)});
    }
    [[nodiscard]] std::vector<std::string> take() {
        if (more_ > 0) {
            texts_.push_back("and " + std::to_string(more_) +
                             " more, which 'scoutctl policy lint' tells");
        }
        return std::move(texts_);
    }

private:
    std::vector<std::string> texts_;
    std::size_t more_ = 0;
};

}  // namespace

std::string_view to_string(PolicyLintMode mode) noexcept {
    switch (mode) {
        case PolicyLintMode::off:
            return "off";
        case PolicyLintMode::warn:
            return "warn";
        case PolicyLintMode::refuse:
            break;
    }
    return "refuse";
}

std::optional<PolicyLintMode> policy_lint_mode_named(std::string_view word) noexcept {
    for (const auto mode : {PolicyLintMode::off, PolicyLintMode::warn, PolicyLintMode::refuse}) {
        if (to_string(mode) == word) {
            return mode;
        }
    }
    return std::nullopt;
}

PolicyLintMode policy_lint_mode(const kube::ScoutConfig* config, std::vector<std::string>& faults) {
    if (config == nullptr || config->policy_lint.empty()) {
        return PolicyLintMode::warn;
    }
    const auto mode = policy_lint_mode_named(config->policy_lint.view());
    if (!mode) {
        faults.push_back("spec.policies.lint: expected off, warn or refuse, found " +
                         log_value(config->policy_lint.view()));
    }
    return mode.value_or(PolicyLintMode::warn);
}

std::string summary(PolicyLintMode mode) {
    switch (mode) {
        case PolicyLintMode::off:
            return "new migration policies are not looked at";
        case PolicyLintMode::warn:
            return "new migration policies that do not do what they say are warned of";
        case PolicyLintMode::refuse:
            break;
    }
    return "new migration policies that do not do what they say are refused";
}

PolicyReview review_policy(const std::vector<PolicyFinding>& findings, PolicyLintMode mode) {
    Told refused;
    Told warned;
    for (const auto& finding : findings) {
        if (mode == PolicyLintMode::off || is_for_others_to_say(finding)) {
            continue;
        }
        const bool is_refused = mode == PolicyLintMode::refuse && does_something_else(finding);
        (is_refused ? refused : warned).add(finding);
    }
    PolicyReview review{.refusal = {}, .warnings = warned.take()};
    for (const auto& text : refused.take()) {
        review.refusal += (review.refusal.empty() ? "" : "; ") + text;
    }
    return review;
}

}  // namespace scout::cluster
