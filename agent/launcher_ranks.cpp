// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher_ranks.h"

#include <algorithm>
#include <array>
#include <utility>

namespace scout::agent {
namespace {

using migration::PressedLauncher;
using migration::PressureSignal;

constexpr std::array ranked_signals{
    PressureSignal::memory_available,  PressureSignal::pid_available,
    PressureSignal::nodefs_available,  PressureSignal::nodefs_inodes_free,
    PressureSignal::imagefs_available, PressureSignal::imagefs_inodes_free};

template <class T>
const T* find(const LauncherRanks::ByPod<T>& all, const std::string& pod_uid) {
    const auto found = all.find(pod_uid);
    return found == all.end() ? nullptr : &found->second;
}

bool is_of_inodes(PressureSignal signal) noexcept {
    return signal == PressureSignal::nodefs_inodes_free ||
           signal == PressureSignal::imagefs_inodes_free ||
           signal == PressureSignal::containerfs_inodes_free;
}

bool is_of_nodefs(PressureSignal signal) noexcept {
    return signal == PressureSignal::nodefs_available ||
           signal == PressureSignal::nodefs_inodes_free;
}

}  // namespace

bool LauncherRanks::knows(PressureSignal signal) const noexcept {
    return !is_of_filesystem(signal) || (storages && (is_of_nodefs(signal) || !own_imagefs));
}

PressedLauncher LauncherRanks::pressed(const LauncherPod& pod, PressureSignal signal) const {
    PressedLauncher out{.vmi = pod.guest,
                        .pod_uid = pod.pod_uid,
                        .usage = std::nullopt,
                        .request = std::nullopt,
                        .priority = std::nullopt,
                        .vm_grace = pod.vm_grace};
    const auto* standing = find(standings, pod.pod_uid);
    if (standing != nullptr) {
        out.priority = standing->priority;
    }
    if (is_of_filesystem(signal)) {
        const bool inodes = is_of_inodes(signal);
        const auto* storage = storages ? find(*storages, pod.pod_uid) : nullptr;
        if (storage != nullptr) {
            out.usage = inodes ? storage->inodes : storage->bytes;
        }
        if (inodes) {
            out.request = 0;
        } else if (standing != nullptr) {
            out.request = standing->storage_request;
        }
        return out;
    }
    const bool memory = signal == PressureSignal::memory_available;
    const auto* usage = find(usages, pod.pod_uid);
    if (usage != nullptr) {
        out.usage = memory ? std::optional{usage->working_set} : usage->tasks;
    }
    if (!memory) {
        out.request = 0;
    } else if (standing != nullptr) {
        out.request = standing->memory_request;
    } else if (usage != nullptr) {
        out.request = usage->memory_request();
    }
    return out;
}

migration::EvictionCandidate LauncherRanks::candidate(const PressedLauncher& launcher,
                                                      PressureSignal signal) const {
    auto request = launcher.request.value_or(0);
    if (is_of_inodes(signal)) {
        const auto* standing = find(standings, launcher.pod_uid);
        request = standing == nullptr ? 0 : standing->storage_request;
    }
    return {.priority = launcher.priority.value_or(0), .usage = launcher.usage, .request = request};
}

std::vector<PressedLauncher> LauncherRanks::ranked(PressureSignal of) const {
    const auto signal = migration::ranked_as(of);
    if (!knows(signal)) {
        return {};
    }
    std::vector<PressedLauncher> all;
    std::vector<migration::EvictionCandidate> candidates;
    for (const auto& pod : pods) {
        all.push_back(pressed(pod, signal));
        candidates.push_back(candidate(all.back(), signal));
    }
    std::vector<PressedLauncher> ranked;
    for (const auto index : migration::eviction_order(candidates, signal)) {
        ranked.push_back(std::move(all[index]));
    }
    return ranked;
}

std::vector<migration::EvictionLine> LauncherRanks::lines(
    const std::set<PressureSignal>& near) const {
    std::vector<migration::EvictionLine> lines;
    for (const auto signal : ranked_signals) {
        auto first = ranked(signal);
        if (first.empty()) {
            continue;
        }
        const bool is_near = std::any_of(near.begin(), near.end(), [signal](PressureSignal one) {
            return migration::ranked_as(one) == signal;
        });
        const auto most = is_near ? migration::told_near : migration::told_launchers;
        const auto count = std::min(first.size(), most);
        const auto others = first.size() - count;
        first.resize(count);
        lines.push_back({.signal = signal, .first = std::move(first), .others = others});
    }
    return lines;
}

}  // namespace scout::agent
