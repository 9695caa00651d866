// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "cluster/policy_answer.h"

/// Numbers that migrations run by, as several answers show them.
namespace scout::cli {

[[nodiscard]] boost::json::value json_value(const cluster::NumberInForce& number);
/// For people: "no limit", "512".
[[nodiscard]] std::string value_text(const cluster::NumberInForce& number);

}  // namespace scout::cli
