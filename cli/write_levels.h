// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/answers.h"
#include "cli/settings.h"
#include "cli/style.h"
#include "cli/text_sink.h"

namespace scout::cli {

/// `matrix` of a cluster. It names pairs of nodes, so it is written while it is made.
void write_levels(const LevelsAnswer& answer, Format format, const TableStyle& style,
                  TextSink& sink);

}  // namespace scout::cli
