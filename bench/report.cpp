// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>

namespace scout::bench {
namespace {

double cpu_clock() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

double cpu_seconds(const std::function<void()>& work) {
    const double start = cpu_clock();
    work();
    return cpu_clock() - start;
}

double best_cpu_seconds(int runs, const std::function<void()>& work) {
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i < runs; ++i) {
        best = std::min(best, cpu_seconds(work));
    }
    return best;
}

std::string duration(double seconds) {
    struct Unit {
        double factor;
        const char* name;
    };
    const Unit unit = seconds >= 1      ? Unit{1, "s"}
                      : seconds >= 1e-3 ? Unit{1e3, "ms"}
                                        : Unit{1e6, "us"};
    char text[32];
    std::snprintf(text, sizeof text, "%.3g %s", seconds * unit.factor, unit.name);
    return text;
}

void row(const std::string& what, const std::string& measured, const std::string& peer,
         const std::string& ratio, const std::string& must_be, bool met) {
    std::printf("%-52s | %-12s | %-34s | %-10s | %-12s | %s\n", what.c_str(), measured.c_str(),
                peer.c_str(), ratio.c_str(), must_be.c_str(), met ? "met" : "NOT MET");
    std::fflush(stdout);
}

}  // namespace scout::bench
