// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aggregator/fleet.h"

namespace scout::bench {

/// Prints how long each answer about the whole fleet holds up the aggregator's loop at most.
void measure_answers(const aggregator::Fleet& fleet);

}  // namespace scout::bench
