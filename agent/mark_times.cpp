// SPDX-License-Identifier: Apache-2.0
#include "agent/mark_times.h"

#include <sstream>
#include <utility>

#include "base/files.h"
#include "base/logging.h"
#include "base/number.h"

namespace scout::agent {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t boot_id_limit = 128;
constexpr std::size_t marks_bytes = std::size_t{256} << 10U;
constexpr std::uint64_t most_ms = std::uint64_t{1} << 42U;  // 139 years

Result<std::string> read_boot_id(const std::filesystem::path& path) {
    auto text = read_file(path, boot_id_limit);
    if (text) {
        text->erase(text->find_last_not_of(" \n") + 1);
    }
    return text;
}

}  // namespace

Result<MarkTimes> read_marks(const std::filesystem::path& file,
                             const std::filesystem::path& boot_id, SteadyTime now) {
    const auto boot = read_boot_id(boot_id);
    if (!boot) {
        return fail(boot.error());
    }
    const auto text = read_file(file, marks_bytes);
    if (!text) {
        return text.error().code == Errc::not_found ? Result<MarkTimes>{} : fail(text.error());
    }
    std::istringstream lines(*text);
    std::string key;
    std::string value;
    lines >> key >> value;
    if (key != "boot") {
        return fail(Errc::invalid,
                    file.string() + ": expected \"boot\" and an id, found " + log_value(key));
    }
    MarkTimes marks;
    if (value != *boot) {
        return marks;
    }
    while (marks.size() < marks_limit && lines >> key >> value) {
        const auto ms = whole_number(value);
        if (!ms || *ms > most_ms) {
            return fail(Errc::invalid, file.string() + ": expected a pod and milliseconds, found " +
                                           log_value(key + " " + value));
        }
        const SteadyTime time{milliseconds{static_cast<std::int64_t>(*ms)}};
        if (time <= now) {
            marks.emplace(key, time);
        }
    }
    return marks;
}

Status write_marks(const std::filesystem::path& file, const std::filesystem::path& boot_id,
                   const MarkTimes& marks) {
    const auto boot = read_boot_id(boot_id);
    if (!boot) {
        return fail(boot.error());
    }
    std::string text = "boot " + *boot + "\n";
    for (const auto& [pod, time] : marks) {
        const auto ms = std::chrono::floor<milliseconds>(time.time_since_epoch());
        text += pod + " " + std::to_string(ms.count()) + "\n";
    }
    return write_file_atomically(file, text);
}

}  // namespace scout::agent
