// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/text_sink.h"

namespace scout::cli {

/// What a text means; the colour follows from it.
enum class Tone : std::uint8_t { plain, good, bad, doubtful, strong, faint };

/// How tables look.
struct TableStyle {
    bool colour = false;
    bool wide = false;  ///< all columns and full lists
};

/// The text with terminal colours around it, if they are wanted. The text must be printable().
[[nodiscard]] std::string paint(std::string_view text, Tone tone, bool colour);

struct Cell {
    std::string text;  ///< raw: control characters are escaped when the table is written
    Tone tone = Tone::plain;
};

/// Left-aligned columns under a header, two spaces between; the last column is never padded.
class Table {
public:
    explicit Table(std::vector<std::string> headers);
    void add(std::vector<Cell> row);
    [[nodiscard]] std::string text(bool colour) const;
    /// The same, line by line: long tables are not held twice.
    void write(bool colour, TextSink& sink) const;

private:
    std::vector<std::vector<Cell>> rows_;
};

/// "a, b, c … (+5)" for narrow tables: lists are cut after `most` names.
[[nodiscard]] std::string short_list(const std::vector<std::string>& names, std::size_t most);

}  // namespace scout::cli
