// SPDX-License-Identifier: Apache-2.0
#include "cli/answers.h"

#include <algorithm>

namespace scout::cli {

using migration::Verdict;

int exit_code_of(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::can:
            return exit_code::can;
        case Verdict::cannot:
            return exit_code::cannot;
        case Verdict::unknown:
            return exit_code::unknown;
    }
    return exit_code::error;
}

Verdict overall(const migration::Placement& placement) noexcept {
    const auto& nodes = placement.nodes;
    const auto any = [&nodes](Verdict wanted) {
        return std::any_of(nodes.begin(), nodes.end(), [wanted](const auto& node) {
            return node.comparison.verdict == wanted;
        });
    };
    if (any(Verdict::can)) {
        return Verdict::can;
    }
    // Where nobody was asked, nothing is known.
    return any(Verdict::unknown) || nodes.empty() ? Verdict::unknown : Verdict::cannot;
}

std::string_view gate_text(Verdict gate) noexcept {
    switch (gate) {
        case Verdict::can:
            return "pass";
        case Verdict::cannot:
            return "fail";
        case Verdict::unknown:
            return "unknown";
    }
    return "unknown";
}

std::string_view usable_text(const std::optional<migration::Usable>& usable) noexcept {
    if (!usable) {
        return "absent";
    }
    switch (*usable) {
        case migration::Usable::no:
            return "no";
        case migration::Usable::yes:
            return "yes";
        case migration::Usable::unknown:
            return "unknown";
    }
    return "unknown";
}

migration::Comparison unusable_document(const std::string& path, const std::string& why) {
    migration::Comparison comparison;
    comparison.reasons.push_back({.code = migration::ReasonCode::document,
                                  .layer = migration::Layer::truth,
                                  .text = why,
                                  .keys = {path}});
    return comparison;
}

}  // namespace scout::cli
