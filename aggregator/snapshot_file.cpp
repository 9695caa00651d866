// SPDX-License-Identifier: Apache-2.0
#include "aggregator/snapshot_file.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "aggregator/snapshot_messages.h"
#include "base/files.h"

namespace scout::aggregator {

LoadedSnapshot load_snapshot(const std::filesystem::path& path) {
    auto text = read_file(path, snapshot_limit);
    if (text) {
        return {.text = std::move(*text), .message = {}};
    }
    if (text.error().code == Errc::not_found) {
        return {};
    }
    return {.text = {}, .message = "the snapshot cannot be read: " + text.error().message};
}

std::string set_aside(const std::filesystem::path& path, WallTime wall) {
    auto time = rfc3339(wall);
    std::erase_if(time, [](char c) { return c == ':' || c == '-'; });
    const std::filesystem::path aside = path.string() + ".damaged-" + time;
    std::error_code error;
    std::filesystem::rename(path, aside, error);
    if (error) {
        return "it could not be set aside as " + aside.string() + ": " + error.message();
    }
    return "it was set aside as " + aside.string();
}

}  // namespace scout::aggregator
