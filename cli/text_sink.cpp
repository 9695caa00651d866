// SPDX-License-Identifier: Apache-2.0
#include "cli/text_sink.h"

#include <cstddef>
#include <utility>

namespace scout::cli {
namespace {

constexpr std::size_t piece = 64UL * 1024;

}  // namespace

TextSink::TextSink(Write write) : write_(std::move(write)) {}

void TextSink::add(std::string_view text) {
    gathered_ += text;
    if (gathered_.size() >= piece) {
        hand_on();
    }
}

bool TextSink::finish() {
    hand_on();
    return !failed_;
}

void TextSink::hand_on() {
    failed_ = failed_ || !write_(gathered_);
    gathered_.clear();
}

}  // namespace scout::cli
