// SPDX-License-Identifier: Apache-2.0
#include "pressure/kubelet_config.h"

#include <chrono>
#include <utility>

#include "base/files.h"
#include "base/go_duration.h"
#include "pressure/kubelet_fields.h"

namespace scout::pressure {
namespace {

Status read_duration(const char* field, const std::string& text, std::chrono::milliseconds& into) {
    if (text.empty()) {
        return {};
    }
    const auto time = parse_go_duration(text);
    if (!time) {
        return fail(Error{time.error()}.within(field));
    }
    into = *time;
    return {};
}

Result<migration::NodeShutdown> shutdown_of(const KubeletFields& fields) {
    migration::NodeShutdown shutdown{.by_priority = fields.shutdown_by_priority};
    for (auto& status :
         {read_duration("shutdownGracePeriod", fields.shutdown_total, shutdown.total),
          read_duration("shutdownGracePeriodCriticalPods", fields.shutdown_critical,
                        shutdown.critical)}) {
        if (!status) {
            return fail(status.error());
        }
    }
    if (shutdown.critical > shutdown.total) {
        return fail(Errc::invalid,
                    "shutdownGracePeriodCriticalPods: expected at most shutdownGracePeriod, of "
                    "which it is a part; found more");
    }
    if (!shutdown.by_priority.empty() && shutdown.total > std::chrono::milliseconds{0}) {
        return fail(Errc::invalid,
                    "shutdownGracePeriodByPodPriority: expected it or shutdownGracePeriod, found "
                    "both");
    }
    return shutdown;
}

}  // namespace

Result<KubeletConfig> parse_kubelet_config(const KubeletFiles& files) {
    KubeletFields fields;
    for (const auto& file : files.main) {
        if (auto applied = apply_kubelet_file(file, fields); !applied) {
            return fail(std::move(applied.error()));
        }
    }
    if (!files.drop_ins.empty() && !fields.eviction.hard) {
        fields.eviction.hard = migration::default_hard_thresholds();
    }
    for (const auto& file : files.drop_ins) {
        if (auto applied = apply_kubelet_file(file, fields); !applied) {
            return fail(std::move(applied.error()));
        }
    }
    auto eviction = migration::kubelet_eviction(fields.eviction);
    if (!eviction) {
        return fail(std::move(eviction.error()).within("kubelet's configuration"));
    }
    auto shutdown = shutdown_of(fields);
    if (!shutdown) {
        return fail(std::move(shutdown.error()).within("kubelet's configuration"));
    }
    return KubeletConfig{.eviction = *std::move(eviction),
                         .shutdown = *std::move(shutdown),
                         .cgroup_root = std::move(fields.cgroup_root)};
}

Result<KubeletFiles> read_kubelet_files(const KubeletConfigPlaces& places) {
    KubeletFiles files;
    if (!places.file.empty()) {
        auto text = read_file(places.file, kubelet_file_limit);
        if (text) {
            files.main.push_back({.name = places.file.string(), .text = *std::move(text)});
        } else if (places.file_must_be || text.error().code != Errc::not_found) {
            return fail(std::move(text.error()));
        }
    }
    if (places.folder.empty()) {
        return files;
    }
    const auto paths = list_files(places.folder);
    if (!paths) {
        return fail(paths.error());
    }
    for (const auto& path : *paths) {
        if (path.extension() != ".conf") {
            continue;
        }
        if (files.drop_ins.size() == drop_ins_limit) {
            return fail(Errc::invalid, places.folder.string() + ": expected at most " +
                                           std::to_string(drop_ins_limit) +
                                           " drop-in files, found more");
        }
        auto text = read_file(path, kubelet_file_limit);
        if (!text) {
            return fail(std::move(text.error()));
        }
        files.drop_ins.push_back({.name = path.string(), .text = *std::move(text)});
    }
    return files;
}

}  // namespace scout::pressure
