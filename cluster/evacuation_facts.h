// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kube/objects/migration.h"
#include "kube/objects/vmi.h"
#include "migration/evacuation.h"

namespace scout::cluster {

/// Why a VMI that KubeVirt can migrate cannot be once its launcher was told to stop: each of its
/// virtiofs shares is served by a container of that pod, which ends at SIGTERM, and QEMU migrates
/// such a device with its server's help alone. Empty: nothing like that.
[[nodiscard]] std::string lost_at_stop(const kube::Vmi& vmi);

/// What a VMI says to an evacuation; one that has lost_at_stop() is not migratable. `strategy`:
/// that of the KubeVirt object, for a VMI without.
[[nodiscard]] migration::VmiFacts vmi_facts(const kube::Vmi& vmi, std::string_view strategy);

/// Its spec.terminationGracePeriodSeconds, or KubeVirt's default (dossier §3.2).
[[nodiscard]] std::chrono::seconds grace_of(const kube::Vmi& vmi) noexcept;

/// The target pod of a migration that was handed off and has not started: deleting it is what ends
/// one then (dossier §16). Empty: there is no such migration. Once it has started the pod may be
/// the VM's own.
[[nodiscard]] std::string waiting_target(const kube::Vmi& vmi);

/// What a migration says. The VMI tells its target pod once it is handed off.
[[nodiscard]] migration::MoveFacts move_facts(const kube::Migration& migration,
                                              const kube::Vmi* vmi);

/// Before then KubeVirt begins no evacuation of the VMI that has these migrations, for the last
/// ones failed (migration::back_off()); none: it does not wait.
[[nodiscard]] std::optional<WallTime> next_evacuation(
    const std::vector<std::shared_ptr<const kube::Migration>>& moves);

/// KubeVirt's phases (dossier §6.2); one that nobody knows counts as pending.
[[nodiscard]] migration::MovePhase move_phase(std::string_view phase) noexcept;

/// One of KubeVirt's words that is read as this phase.
[[nodiscard]] std::string_view phase_word(migration::MovePhase phase) noexcept;

}  // namespace scout::cluster
