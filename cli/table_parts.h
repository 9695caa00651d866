// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/answers.h"
#include "cli/style.h"
#include "migration/verdict.h"

/// Pieces that several tables share.
namespace scout::cli {

[[nodiscard]] Tone tone_of(migration::Verdict verdict) noexcept;

/// The verdict as a coloured word.
[[nodiscard]] std::string painted(migration::Verdict verdict, const TableStyle& style);

/// "  truth  feature: text" for each reason.
[[nodiscard]] std::string reason_lines(const std::vector<migration::Reason>& reasons,
                                       const TableStyle& style);

/// "Title:   text", for the lines above a table. Empty text is "-".
[[nodiscard]] std::string field(std::string_view title, std::string_view text,
                                const TableStyle& style);

/// A line for each of them.
[[nodiscard]] std::string note_lines(const std::vector<std::string>& notes);

/// A line for each document that could not be used.
[[nodiscard]] std::string left_out_lines(const std::vector<DocumentState>& documents);

/// The rows of `guests`, for `node` too.
[[nodiscard]] std::string guest_table(const std::vector<GuestLine>& guests,
                                      const TableStyle& style);

}  // namespace scout::cli
