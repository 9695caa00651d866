// SPDX-License-Identifier: Apache-2.0
// What a server answers, cut into portions in any way: the first byte chooses their size. The same
// bytes in one piece must read the same, and nothing may grow beyond its limit.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "kube/http_answer.h"

namespace {

using scout::kube::HttpAnswer;

constexpr std::size_t body_limit = 4096;

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

/// The body of a whole answer.
std::optional<std::string> read(std::string_view bytes, std::size_t portion) {
    HttpAnswer answer({.head_bytes = 1024, .body_bytes = body_limit});
    while (!bytes.empty() && !answer.is_done()) {
        const auto space = answer.space();
        const auto size = std::min({portion, space.size(), bytes.size()});
        std::memcpy(space.data(), bytes.data(), size);
        const auto taken = answer.take(size);
        expect(answer.body().size() <= body_limit);
        if (!taken) {
            expect(!taken.error().message.empty());
            return std::nullopt;
        }
        bytes.remove_prefix(size);
    }
    if (!answer.end()) {
        return std::nullopt;
    }
    expect(answer.is_done() && answer.has_head());
    expect(answer.head().warnings.size() <= 16);
    return answer.body();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const auto whole = read(bytes, bytes.size());
    const auto cut = read(bytes, 1U + data[0]);
    // A limit may be met earlier in one piece than in portions; what both take must be the same.
    expect(!whole || !cut || *whole == *cut);
    return 0;
}
