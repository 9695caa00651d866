// SPDX-License-Identifier: Apache-2.0
// What a person types behind `scoutctl where`: any bytes are answered, and what is taken keeps the
// promises of cli/subject.h.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/node_name.h"
#include "cli/subject.h"

namespace {

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using scout::cli::SubjectKind;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto subject = scout::cli::parse_subject(text);
    if (!subject) {
        expect(!subject.error().message.empty());
        return 0;
    }
    expect(text.size() <= scout::cli::subject_limit);
    if (subject->kind == SubjectKind::host_model) {
        expect(scout::is_node_name(subject->node));
    } else {
        expect(!subject->name.empty());
        expect(subject->node.empty() || scout::is_node_name(subject->node));
    }
    if (subject->kind == SubjectKind::guest) {
        const std::string again =
            "guest/" + subject->name + (subject->node.empty() ? "" : "@" + subject->node);
        expect(scout::cli::parse_subject(again) == *subject);
    }
    return 0;
}
