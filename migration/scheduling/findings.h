// SPDX-License-Identifier: Apache-2.0
#pragma once

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

inline void refuse(Findings& out, ReasonCode code, std::string text,
                   std::vector<std::string> keys) {
    out.push_back({Verdict::cannot, {code, Layer::stock, std::move(text), std::move(keys)}});
}

inline void leave_open(Findings& out, std::string text, std::vector<std::string> keys) {
    out.push_back({Verdict::unknown,
                   {ReasonCode::not_comparable, Layer::stock, std::move(text), std::move(keys)}});
}

}  // namespace scout::migration::scheduling
