// SPDX-License-Identifier: Apache-2.0
// What a person writes to aim a migration: any bytes as manifest, as term in an annotation and as
// selector are read or refused with words, and what nothing is wrong with can match a node.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cluster/move_manifest.h"
#include "cluster/term_json.h"
#include "migration/named_target.h"
#include "migration/selector_syntax.h"

namespace {

using namespace scout;

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

/// However it came to be asked for.
void judge(const migration::MoveRequest& request) {
    constexpr std::size_t most_told = 20;
    const auto faults = migration::request_faults(request);
    expect(faults.size() <= most_told);
    for (const auto& fault : faults) {
        expect(!fault.code.empty() && !fault.text.empty());
    }
    const auto& term = request.wish.term;
    if (faults.empty() && term) {
        expect(!term->empty() && migration::term_faults(*term, "t").empty());
        expect(!migration::to_text(request.wish).empty());
    }
    migration::Comparison answer;
    if (term) {
        migration::apply(*term, {{"disk", "ssd"}}, "n1", answer);
        const bool met = migration::matches(*term, {{"disk", "ssd"}}, "n1");
        expect(met == (answer.verdict != migration::Verdict::cannot));
    }
}

void take_term(std::string_view text) {
    migration::MoveReasons reasons;
    auto term = cluster::read_term_text(text, "t", reasons);
    expect(term.has_value() == std::move(reasons).take().empty());
    migration::MoveRequest request;
    request.term_path = "t";
    request.wish.term = std::move(term);
    judge(request);
}

void take_selector(std::string_view text) {
    auto term = migration::parse_selector(text);
    if (!term) {
        expect(!term.error().message.empty());
        return;
    }
    expect(!term->empty());
    migration::MoveRequest request;
    request.term_path = "t";
    request.wish.term = std::move(*term);
    judge(request);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto request = cluster::read_move_manifest(text)) {
        judge(*request);
    } else {
        expect(!request.error().message.empty());
    }
    take_term(text);
    take_selector(text);
    return 0;
}
