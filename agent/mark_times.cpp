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

/// By the wall clock, which may have been set since: what lies ahead is not known.
std::optional<SteadyTime> last_alive(const std::filesystem::path& file, SteadyTime now) {
    std::error_code error;
    const auto written = std::filesystem::last_write_time(file, error);
    const auto age = std::filesystem::file_time_type::clock::now() - written;
    return error || age.count() < 0 ? std::nullopt
                                    : std::optional{now - std::chrono::ceil<milliseconds>(age)};
}

Error unreadable(const std::filesystem::path& file, const std::string& key,
                 const std::string& value) {
    return {.code = Errc::invalid,
            .message = file.string() + ": expected a pod and milliseconds, found " +
                       log_value(key + " " + value)};
}

}  // namespace

Result<KeptMarks> read_marks(const std::filesystem::path& file,
                             const std::filesystem::path& boot_id, SteadyTime now) {
    const auto boot = read_boot_id(boot_id);
    if (!boot) {
        return fail(boot.error());
    }
    const auto text = read_file(file, marks_bytes);
    if (!text) {
        return text.error().code == Errc::not_found ? Result<KeptMarks>{} : fail(text.error());
    }
    std::istringstream lines(*text);
    std::string key;
    std::string value;
    lines >> key >> value;
    if (key != "boot") {
        return fail(Errc::invalid,
                    file.string() + ": expected \"boot\" and an id, found " + log_value(key));
    }
    KeptMarks kept;
    if (value != *boot) {
        return kept;
    }
    kept.alive = last_alive(file, now);
    auto& marks = kept.marks;
    while (marks.size() < marks_limit && lines >> key >> value) {
        const auto ms = whole_number(value);
        if (!ms || *ms > most_ms) {
            return fail(unreadable(file, key, value));
        }
        const SteadyTime time{milliseconds{static_cast<std::int64_t>(*ms)}};
        if (time <= now) {
            marks.emplace(key, time);
        }
    }
    return kept;
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

Status note_alive(const std::filesystem::path& file) {
    std::error_code error;
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now(), error);
    if (error) {
        return fail(Errc::unavailable, file.string() + ": " + error.message());
    }
    return {};
}

}  // namespace scout::agent
