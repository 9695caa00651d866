// SPDX-License-Identifier: Apache-2.0
#include "migration/cause_order.h"

#include <chrono>

namespace scout::migration {
namespace {

constexpr std::chrono::seconds clocks_differ{5};

/// The epoch: not known.
WallTime end_of_guest(const CauseFacts& facts) noexcept {
    if (facts.vmi_ended_at != WallTime{}) {
        return facts.vmi_ended_at;
    }
    for (const auto& end : facts.ends) {
        if (end.is_launcher()) {
            return end.at;
        }
    }
    return {};
}

}  // namespace

Deletion deletion_of(const CauseFacts& facts) noexcept {
    const auto ended = end_of_guest(facts);
    const auto deleted = facts.vmi_deleted_at;
    if (deleted == WallTime{} || ended == WallTime{} || ended > deleted + clocks_differ) {
        return Deletion::owners;
    }
    if (ended + clocks_differ < deleted) {
        return Deletion::after_the_end;
    }
    if (ended < deleted) {
        return Deletion::perhaps_after;
    }
    if (!facts.vmi_controlled) {
        return Deletion::owners;
    }
    return ended == deleted ? Deletion::perhaps_after : Deletion::perhaps_owners;
}

bool is_pod_deleted_first(const CauseFacts& facts) noexcept {
    const auto deleted = facts.pod_deleted_at;
    const bool timed = deleted != WallTime{} && facts.vmi_ended_at != WallTime{};
    const bool with_vmi = deleted != WallTime{} && facts.vmi_deleted_at != WallTime{} &&
                          deleted >= facts.vmi_deleted_at;
    return facts.pod_deleting && !with_vmi && (!timed || deleted < facts.vmi_ended_at);
}

}  // namespace scout::migration
