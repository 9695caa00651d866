// SPDX-License-Identifier: Apache-2.0
// The forecast of one migration, for the lab's comparison with real ones.
//
//   lab_forecast NAME=NUMBER…      prints one JSON document
//
// memory, dirty, link, bandwidth in MiB or MiB per second (bandwidth: of the policy; 0: none),
// start in milliseconds, limit in seconds (0: none), auto-converge, post-copy and disruption 0
// or 1.
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "migration/convergence.h"

namespace {

using namespace scout::migration;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;

struct Option {
    std::string_view name;
    std::uint64_t value = 0;
};

using Options = std::array<Option, 9>;

bool read(std::string_view word, Options& options) {
    const auto equals = word.find('=');
    for (auto& option : options) {
        if (equals != std::string_view::npos && word.substr(0, equals) == option.name) {
            const auto digits = word.substr(equals + 1);
            const auto [end, error] =
                std::from_chars(digits.data(), digits.data() + digits.size(), option.value);
            return error == std::errc{} && end == digits.data() + digits.size();
        }
    }
    return false;
}

void print(const char* name, const MigrationCourse& course, const char* behind) {
    const auto end = to_string(course.end);
    std::printf(
        R"("%s": {"end": "%.*s", "moved": %s, "seconds": %.3f, "downtime": %.3f, "passes": %u, "throttle": %u}%s)",
        name, static_cast<int>(end.size()), end.data(), course.moved() ? "true" : "false",
        static_cast<double>(course.duration.count()) / 1000,
        static_cast<double>(course.downtime.count()) / 1000, course.passes, course.throttle,
        behind);
}

}  // namespace

int main(int count, char** words) {
    Options options{{{"memory"},
                     {"dirty"},
                     {"link"},
                     {"bandwidth"},
                     {"start"},
                     {"limit"},
                     {"auto-converge"},
                     {"post-copy"},
                     {"disruption"}}};
    for (int at = 1; at < count; ++at) {
        if (!read(words[at], options)) {
            std::fprintf(stderr, "expected NAME=NUMBER with a name of the list, found '%s'\n",
                         words[at]);
            return 2;
        }
    }
    const auto& [memory, dirty, link, bandwidth, start, limit, auto_converge, post_copy,
                 disruption] = options;
    const auto range = [](const Option& of) {
        return Range{of.value * mebibyte, of.value * mebibyte, of.value * mebibyte};
    };
    MigrationSettings settings;
    settings.allow_auto_converge = auto_converge.value != 0;
    settings.allow_post_copy = post_copy.value != 0;
    settings.allow_workload_disruption = disruption.value != 0;
    settings.bandwidth = Quantity{bandwidth.value * mebibyte};
    settings.completion_per_gib = std::chrono::seconds{limit.value};
    const auto made = forecast({.memory = range(memory),
                                .dirty_rate = range(dirty),
                                .bandwidth = range(link),
                                .start = std::chrono::milliseconds{start.value}},
                               settings);
    std::printf("{");
    print("optimistic", made.optimistic, ", ");
    print("expected", made.expected, ", ");
    print("pessimistic", made.pessimistic, "}\n");
    return 0;
}
