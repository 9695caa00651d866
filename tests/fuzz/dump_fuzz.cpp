// SPDX-License-Identifier: Apache-2.0
// A file of a dump, of which support staff know nothing but that somebody sent it: whatever it
// holds, its objects are read or left out with a reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "cluster/dump.h"
#include "cluster/records.h"

namespace {

using namespace scout;

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

void expect_reasons(const std::vector<cluster::LeftOut>& left_out) {
    for (const auto& each : left_out) {
        expect(!each.place.empty() && !each.reason.empty());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const int file = ::memfd_create("dump", MFD_CLOEXEC);
    expect(file >= 0 && ::ftruncate(file, 0) == 0 &&
           ::pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
    const std::vector<std::filesystem::path> paths{"/proc/self/fd/" + std::to_string(file)};
    const auto dump = cluster::read_dump(paths, {}, {});
    expect(dump.has_value());
    expect_reasons(dump->left_out);
    const auto records = cluster::read_records(paths, {}, {});
    expect(records.has_value());
    expect_reasons(records->left_out);
    return 0;
}
