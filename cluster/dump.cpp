// SPDX-License-Identifier: Apache-2.0
#include "cluster/dump.h"

#include "cluster/dump_files.h"
#include "cluster/dump_reader.h"

namespace scout::cluster {

Result<Dump> read_dump(const std::vector<std::filesystem::path>& paths,
                       const DumpProgress& progress, const DumpLimits& limits) {
    const auto files = dump_files(paths, limits.files);
    if (!files) {
        return fail(files.error());
    }
    DumpReader reader(limits);
    for (const auto& path : *files) {
        if (progress) {
            progress(reader.files() + 1, files->size());
        }
        reader.read(path);
    }
    return reader.take();
}

}  // namespace scout::cluster
