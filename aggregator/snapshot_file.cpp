// SPDX-License-Identifier: Apache-2.0
#include "aggregator/snapshot_file.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregator/snapshot_messages.h"
#include "base/files.h"

namespace scout::aggregator {
namespace {

/// Files set aside within one second.
constexpr int most_of_one_time = 100;

tl::unexpected<Error> cannot_move(const std::filesystem::path& path, const std::string& why) {
    return fail(Errc::unavailable, path.string() + " cannot be set aside: " + why);
}

/// Oldest first.
std::vector<std::filesystem::path> set_aside_before(const std::filesystem::path& path) {
    const auto begin = path.filename().string() + ".damaged-";
    std::vector<std::filesystem::path> files;
    std::error_code error;
    std::filesystem::directory_iterator entry(path.parent_path(), error);
    for (; !error && entry != std::filesystem::directory_iterator{}; entry.increment(error)) {
        if (entry->path().filename().string().starts_with(begin)) {
            files.push_back(entry->path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// Leaves room for one more. What cannot be removed stays: there is no harm in it.
void remove_oldest(const std::vector<std::filesystem::path>& files) {
    std::error_code ignored;
    for (std::size_t i = 0; i + kept_aside <= files.size(); ++i) {
        std::filesystem::remove(files[i], ignored);
    }
}

}  // namespace

Result<std::optional<std::string>> load_snapshot(const std::filesystem::path& path) {
    auto text = read_file(path, snapshot_limit);
    if (!text && text.error().code == Errc::not_found) {
        return std::nullopt;
    }
    if (!text) {
        return fail(std::move(text.error()));
    }
    return std::move(*text);
}

Status store_snapshot(const std::filesystem::path& path, std::string_view text) {
    if (text.size() > snapshot_limit) {
        return fail(Errc::invalid, "the snapshot has " + std::to_string(text.size()) +
                                       " bytes, and no more than " +
                                       std::to_string(snapshot_limit) + " would be read again");
    }
    return write_file_atomically(path, text);
}

Result<std::filesystem::path> set_aside(const std::filesystem::path& path, WallTime wall) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, error))) {
        return cannot_move(path, error ? error.message() : "it is no regular file");
    }
    auto time = rfc3339(wall);
    std::erase_if(time, [](char c) { return c == ':' || c == '-'; });
    const auto base = path.string() + ".damaged-" + time;
    const auto others = set_aside_before(path);
    for (int number = 1; number <= most_of_one_time; ++number) {
        // Three digits, so that the order of the names is that of the times.
        std::filesystem::path aside = number == 1 ? base : fmt::format("{}-{:03}", base, number);
        const bool later =
            others.empty() || !others.back().string().starts_with(base) || others.back() < aside;
        const auto there = std::filesystem::symlink_status(aside, error).type();
        if (later && there == std::filesystem::file_type::not_found) {
            std::filesystem::rename(path, aside, error);
            if (error) {
                return cannot_move(path, error.message());
            }
            remove_oldest(others);
            return aside;
        }
    }
    return cannot_move(path, "all names like " + base + " are taken");
}

}  // namespace scout::aggregator
