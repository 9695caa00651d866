// SPDX-License-Identifier: Apache-2.0
#include "migration/eviction_thresholds.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/go_duration.h"

namespace scout::migration {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<std::pair<PressureSignal, std::string_view>, 9> words{
    {{PressureSignal::memory_available, "memory.available"},
     {PressureSignal::allocatable_memory_available, "allocatableMemory.available"},
     {PressureSignal::nodefs_available, "nodefs.available"},
     {PressureSignal::nodefs_inodes_free, "nodefs.inodesFree"},
     {PressureSignal::imagefs_available, "imagefs.available"},
     {PressureSignal::imagefs_inodes_free, "imagefs.inodesFree"},
     {PressureSignal::containerfs_available, "containerfs.available"},
     {PressureSignal::containerfs_inodes_free, "containerfs.inodesFree"},
     {PressureSignal::pid_available, "pid.available"}}};

std::optional<double> percentage(std::string_view text) {
    text.remove_suffix(1);
    double value = 0;
    const auto* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value, std::chars_format::fixed);
    const bool good = error == std::errc{} && end == last && value >= 0 && value <= 100;
    return good ? std::optional{value} : std::nullopt;
}

Result<double> percentage_in(std::string_view text, std::string_view range, bool (*good)(double)) {
    const auto percent = percentage(text);
    if (!percent || !good(*percent)) {
        return fail(Errc::invalid, "expected a percentage " + std::string{range} + ", found '" +
                                       std::string{text.substr(0, 40)} + "'");
    }
    return *percent;
}

/// None: switched off.
Result<std::optional<ThresholdValue>> threshold_value(std::string_view text) {
    if (!text.ends_with('%')) {
        auto amount = Quantity::parse(text);
        if (amount && amount->is_zero()) {
            return fail(Errc::invalid, "expected more than nothing, found '" + std::string{text} +
                                           "'; to switch it off write 0%");
        }
        return std::move(amount).map(
            [](const Quantity& value) { return std::optional{ThresholdValue{.amount = value}}; });
    }
    const auto percent = percentage_in(text, "from 0% to 100%", [](double) { return true; });
    if (!percent) {
        return fail(percent.error());
    }
    if (*percent == 0 || *percent == 100) {
        return std::nullopt;
    }
    return ThresholdValue{.amount = {}, .share = *percent / 100};
}

Result<std::optional<EvictionThreshold>> threshold(const std::string& signal,
                                                   const std::string& text) {
    const auto known = signal_named(signal);
    if (!known) {
        return fail(Errc::invalid, "'" + signal.substr(0, 60) + "': no signal of kubelet");
    }
    auto value = threshold_value(text);
    if (!value) {
        return fail(std::move(value.error()).within("'" + signal + "'"));
    }
    const auto& given = *value;
    if (!given) {
        return std::nullopt;
    }
    return EvictionThreshold{
        .signal = *known, .value = *given, .soft_grace = {}, .minimum_reclaim = {}};
}

/// Of two the kubelet acts on what is passed first.
ThresholdValue greater_of(const ThresholdValue& a, const ThresholdValue& b) {
    const auto amount_of = [](const ThresholdValue& value) {
        return value.amount ? value.amount->rounded_up() : 0;
    };
    return {.amount = amount_of(a) < amount_of(b) ? b.amount : a.amount,
            .share = std::max(a.share, b.share)};
}

void add_threshold(const EvictionThreshold& added, KubeletEviction& made) {
    for (auto& known : made.thresholds) {
        if (known.signal == added.signal && known.soft_grace == added.soft_grace) {
            known.value = greater_of(known.value, added.value);
            return;
        }
    }
    made.thresholds.push_back(added);
}

Status add_hard(const KubeletEvictionFields& fields, KubeletEviction& made) {
    auto texts = fields.hard.value_or(default_hard_thresholds());
    if (fields.merge_defaults) {
        texts.insert(default_hard_thresholds().begin(), default_hard_thresholds().end());
    }
    for (const auto& [signal, text] : texts) {
        auto one = threshold(signal, text);
        if (!one) {
            return fail(std::move(one.error()).within("evictionHard"));
        }
        if (const auto& hard = *one) {
            add_threshold(*hard, made);
        }
    }
    return {};
}

Status add_soft(const KubeletEvictionFields& fields, KubeletEviction& made) {
    for (const auto& [signal, text] : fields.soft) {
        auto one = threshold(signal, text);
        if (!one) {
            return fail(std::move(one.error()).within("evictionSoft"));
        }
        const auto grace = fields.soft_grace.find(signal);
        if (grace == fields.soft_grace.end()) {
            return fail(Errc::invalid, "evictionSoftGracePeriod: '" + signal +
                                           "': expected one for each soft threshold, found none");
        }
        const auto time = parse_go_duration(grace->second);
        if (!time) {
            return fail(Error{time.error()}.within("evictionSoftGracePeriod: '" + signal + "'"));
        }
        if (auto& soft = *one) {
            if (*time > milliseconds{0}) {
                soft->soft_grace = *time;
            }
            add_threshold(*soft, made);
        }
    }
    return {};
}

Result<ThresholdValue> reclaim_value(std::string_view text) {
    if (text.ends_with('%')) {
        return percentage_in(text, "over 0% and up to 100%", [](double value) { return value > 0; })
            .map([](double percent) {
                return ThresholdValue{.amount = {}, .share = percent / 100};
            });
    }
    return Quantity::parse(text).map(
        [](const Quantity& value) { return ThresholdValue{.amount = value}; });
}

Status add_reclaim(const KubeletEvictionFields& fields, KubeletEviction& made) {
    for (const auto& [name, text] : fields.minimum_reclaim) {
        const auto signal = signal_named(name);
        if (!signal) {
            return fail(Errc::invalid, "evictionMinimumReclaim: '" + name.substr(0, 60) +
                                           "': no signal of kubelet");
        }
        const auto value = reclaim_value(text);
        if (!value) {
            return fail(Error{value.error()}.within("evictionMinimumReclaim: '" + name + "'"));
        }
        for (auto& one : made.thresholds) {
            if (one.signal == *signal) {
                one.minimum_reclaim = *value;
            }
        }
    }
    return {};
}

/// With its minimum reclaim: to be called last.
void add_allocatable(const KubeletEvictionFields& fields, KubeletEviction& made) {
    const auto& enforced = fields.enforced;
    if (enforced && std::find(enforced->begin(), enforced->end(), "pods") == enforced->end()) {
        return;
    }
    const auto memory =
        std::find_if(made.thresholds.begin(), made.thresholds.end(), [](const auto& one) {
            return one.signal == PressureSignal::memory_available && !one.soft_grace;
        });
    if (memory != made.thresholds.end()) {
        auto copy = *memory;
        copy.signal = PressureSignal::allocatable_memory_available;
        add_threshold(copy, made);
    }
}

}  // namespace

const KubeletEvictionFields::Texts& default_hard_thresholds() {
    static const KubeletEvictionFields::Texts texts{{"memory.available", "100Mi"},
                                                    {"nodefs.available", "10%"},
                                                    {"nodefs.inodesFree", "5%"},
                                                    {"imagefs.available", "15%"},
                                                    {"imagefs.inodesFree", "5%"}};
    return texts;
}

std::string_view to_string(PressureSignal signal) noexcept {
    return words.at(static_cast<std::size_t>(signal)).second;
}

std::optional<PressureSignal> signal_named(std::string_view word) noexcept {
    const auto* const found = std::find_if(words.begin(), words.end(),
                                           [word](const auto& one) { return one.second == word; });
    return found != words.end() ? std::optional{found->first} : std::nullopt;
}

bool is_of_filesystem(PressureSignal signal) noexcept {
    return signal != PressureSignal::memory_available &&
           signal != PressureSignal::allocatable_memory_available &&
           signal != PressureSignal::pid_available;
}

std::uint64_t ThresholdValue::of(std::uint64_t capacity) const noexcept {
    const auto part = std::floor(static_cast<double>(capacity) * share);
    return std::max(amount ? amount->rounded_up() : 0, static_cast<std::uint64_t>(part));
}

Result<KubeletEviction> kubelet_eviction(const KubeletEvictionFields& fields) {
    KubeletEviction made;
    if (auto added = add_hard(fields, made); !added) {
        return fail(std::move(added.error()));
    }
    if (auto added = add_soft(fields, made); !added) {
        return fail(std::move(added.error()));
    }
    if (auto added = add_reclaim(fields, made); !added) {
        return fail(std::move(added.error()));
    }
    add_allocatable(fields, made);
    std::sort(made.thresholds.begin(), made.thresholds.end(), [](const auto& a, const auto& b) {
        return std::pair{a.signal, a.soft_grace} < std::pair{b.signal, b.soft_grace};
    });
    made.max_pod_grace = seconds{fields.max_pod_grace.value_or(0)};
    return made;
}

seconds eviction_grace(const EvictionThreshold& passed, const KubeletEviction& kubelet,
                       seconds pod_grace) noexcept {
    if (!passed.soft_grace) {
        return seconds{1};
    }
    return std::clamp(kubelet.max_pod_grace, seconds{0}, std::max(seconds{0}, pod_grace));
}

}  // namespace scout::migration
