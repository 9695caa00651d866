// SPDX-License-Identifier: Apache-2.0
// A kubelet's configuration with a drop-in, and the kernel's files: any bytes, parted by a line
// "---8<---", are taken or refused with a reason, and what is taken has a meaning.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "migration/node_pressure.h"
#include "migration/node_shutdown.h"
#include "pressure/kernel_texts.h"
#include "pressure/kubelet_config.h"
#include "pressure/pod_cgroups.h"

namespace {

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

template <class T>
void expect_reason(const scout::Result<T>& result) {
    expect(result || (result.error().code == scout::Errc::invalid &&
                      !result.error().message.empty() && result.error().message.size() < 4096));
}

void follow(const scout::pressure::KubeletConfig& config, std::uint64_t number) {
    using namespace scout::migration;
    expect(shutdown_grace(config.shutdown).value_or(std::chrono::seconds{0}) >=
           std::chrono::seconds{0});
    NodePressure pressure(config.eviction);
    NodeRoom room;
    for (const auto& threshold : config.eviction.thresholds) {
        room[threshold.signal] = {.available = number, .capacity = number / 2 * 3};
    }
    for (int second = 0; second < 40; ++second) {
        pressure.add(scout::SteadyTime{std::chrono::seconds{second}}, room);
        for (auto& [signal, left] : room) {
            left.available /= 2;
        }
    }
    const auto grace = pressure.kubelet_grace(std::chrono::seconds{60});
    expect(!grace || (*grace >= std::chrono::seconds{0} && *grace <= std::chrono::seconds{60}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace scout::pressure;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    constexpr std::string_view mark = "\n---8<---\n";
    const auto cut = std::min(bytes.find(mark), bytes.size());
    const auto first = bytes.substr(0, cut);
    const auto second = bytes.substr(std::min(cut + mark.size(), bytes.size()));
    const auto number = parse_number(first);
    expect_reason(number);
    expect_reason(parse_limit(first));
    expect_reason(parse_stat(first, "inactive_file"));
    expect_reason(parse_meminfo(first));
    expect_reason(parse_task_count(first));
    const auto stall = parse_stall(first);
    expect_reason(stall);
    expect(!stall ||
           (stall->some >= 0 && stall->some <= 1 && stall->full >= 0 && stall->full <= 1));
    KubeletFiles files{.main = {{.name = "config.yaml", .text = std::string{first}}},
                       .drop_ins = {}};
    if (!second.empty()) {
        files.drop_ins.push_back({.name = "10.conf", .text = std::string{second}});
    }
    const auto config = parse_kubelet_config(files);
    expect_reason(config);
    if (config) {
        follow(*config, size * 1'000'000);
        // Whatever a root is called, a pod's cgroup is below it.
        const auto place =
            pod_cgroup(config->cgroup_root, CgroupDriver::systemd, QosClass::burstable, "a");
        for (const auto& step : place) {
            expect(step != ".." && step.is_relative());
        }
    }
    return 0;
}
