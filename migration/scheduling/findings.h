// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "migration/verdict.h"

namespace scout::migration::scheduling {

/// Why a pod cannot go to a node, or why that cannot be told. The reason's layer is the stock one.
struct Finding {
    Verdict verdict = Verdict::cannot;  ///< cannot or unknown
    Reason reason;
};
using Findings = std::vector<Finding>;

/// Takes it in, once, and of each verdict the first twenty: the rest tells nobody anything.
inline void add(Findings& out, Finding finding) {
    constexpr std::ptrdiff_t most = 20;
    const auto same = [&finding](const Finding& each) {
        return each.verdict == finding.verdict && each.reason.text == finding.reason.text;
    };
    const auto alike = std::count_if(out.begin(), out.end(), [&finding](const Finding& each) {
        return each.verdict == finding.verdict;
    });
    if (alike < most && std::none_of(out.begin(), out.end(), same)) {
        out.push_back(std::move(finding));
    }
}

inline void refuse(Findings& out, ReasonCode code, std::string text,
                   std::vector<std::string> keys) {
    add(out, {Verdict::cannot, {code, Layer::stock, std::move(text), std::move(keys)}});
}

inline void leave_open(Findings& out, std::string text, std::vector<std::string> keys) {
    add(out, {Verdict::unknown,
              {ReasonCode::not_comparable, Layer::stock, std::move(text), std::move(keys)}});
}

}  // namespace scout::migration::scheduling
