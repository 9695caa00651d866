// SPDX-License-Identifier: Apache-2.0
// The aggregator's snapshot file, as it lies there and behind a right checksum: any content is
// refused or restored, and what was restored can be written and restored again.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "aggregator/registry.h"
#include "aggregator/snapshot_messages.h"
#include "base/clock.h"
#include "base/digest.h"

namespace {

using scout::aggregator::Registry;
using scout::aggregator::RegistryOptions;

constexpr scout::WallTime wall{std::chrono::hours{24 * 365 * 56}};
const scout::SystemClock system_clock;
constexpr scout::SteadyTime now{std::chrono::hours{24 * 30}};

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

std::string with_checksum(std::string_view payload) {
    std::string text = "virt-scout-snapshot 1 ";
    text.append(scout::sha256_hex(payload)).append("\n").append(payload);
    return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    Registry untouched{RegistryOptions{}, system_clock};
    if (!scout::aggregator::restore_snapshot(text, wall, now, untouched)) {
        expect(untouched.nodes().empty());
    }

    Registry first{RegistryOptions{}, system_clock};
    if (!scout::aggregator::restore_snapshot(with_checksum(text), wall, now, first)) {
        expect(first.nodes().empty());
        return 0;
    }
    first.tick(now + std::chrono::seconds{1});
    Registry second{RegistryOptions{}, system_clock};
    const auto again = scout::aggregator::encode_snapshot(first, wall, now);
    expect(scout::aggregator::restore_snapshot(again, wall, now, second).has_value());
    expect(second.nodes().size() == first.nodes().size());
    expect(second.guests() == first.guests());
    return 0;
}
