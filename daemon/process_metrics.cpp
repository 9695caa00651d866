// SPDX-License-Identifier: Apache-2.0
#include "daemon/process_metrics.h"

#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <prometheus/metric_family.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/files.h"
#include "base/version.h"

namespace scout::daemon {
namespace {

/// Second field of /proc/self/statm, in pages.
std::uint64_t resident_pages(std::string_view statm) {
    const auto space = statm.find(' ');
    if (space == std::string_view::npos) {
        return 0;
    }
    std::uint64_t pages = 0;
    std::from_chars(statm.data() + space + 1, statm.data() + statm.size(), pages);
    return pages;
}

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::uint64_t count_open_files() {
    std::error_code error;
    std::uint64_t count = 0;
    for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end;
         !error && entry != end; entry.increment(error)) {
        ++count;
    }
    return count == 0 ? 0 : count - 1;  // the descriptor that lists them is among them
}

prometheus::MetricFamily family(std::string name, std::string help, prometheus::MetricType type,
                                double value) {
    prometheus::ClientMetric metric;
    if (type == prometheus::MetricType::Counter) {
        metric.counter.value = value;
    } else {
        metric.gauge.value = value;
    }
    prometheus::MetricFamily made;
    made.name = std::move(name);
    made.help = std::move(help);
    made.type = type;
    made.metric.push_back(std::move(metric));
    return made;
}

}  // namespace

ProcessFacts read_process_facts() {
    ProcessFacts facts;
    if (const auto statm = read_file("/proc/self/statm", 4096)) {
        facts.resident_bytes =
            resident_pages(*statm) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    }
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) == 0) {
        facts.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    }
    facts.open_files = count_open_files();
    return facts;
}

ProcessMetrics::ProcessMetrics(WallTime started) : started_(started) {}

std::vector<prometheus::MetricFamily> ProcessMetrics::Collect() const {
    using prometheus::MetricType;
    const auto facts = read_process_facts();
    const std::chrono::duration<double> started = started_.time_since_epoch();
    std::vector<prometheus::MetricFamily> families;
    families.push_back(family("process_resident_memory_bytes", "Resident memory.",
                              MetricType::Gauge, static_cast<double>(facts.resident_bytes)));
    families.push_back(family("process_cpu_seconds_total", "CPU time of user and system.",
                              MetricType::Counter, facts.cpu_seconds));
    families.push_back(family("process_start_time_seconds", "Start, in seconds since 1970.",
                              MetricType::Gauge, started.count()));
    families.push_back(family("process_open_fds", "Open file descriptors.", MetricType::Gauge,
                              static_cast<double>(facts.open_files)));
    auto build = family("virt_scout_build_info", "Version and commit; the value is always 1.",
                        MetricType::Gauge, 1);
    build.metric.front().label = {{"commit", commit}, {"version", version}};
    families.push_back(std::move(build));
    return families;
}

}  // namespace scout::daemon
