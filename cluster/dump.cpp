// SPDX-License-Identifier: Apache-2.0
#include "cluster/dump.h"

#include <utility>

#include "cluster/dump_reader.h"

namespace scout::cluster {

Result<Dump> read_dump(const std::vector<std::filesystem::path>& paths,
                       const DumpProgress& progress, const DumpLimits& limits) {
    DumpReader reader(limits);
    if (auto read = reader.read(paths, progress); !read) {
        return fail(std::move(read.error()));
    }
    return reader.take();
}

}  // namespace scout::cluster
