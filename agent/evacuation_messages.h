// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/messages.h"
#include "virt_scout/v1/evacuation.pb.h"

/// The part of report_messages.h that is about evacuations. What comes in is never refused: numbers
/// are brought into their range, texts are cut, and a word that this version does not know counts
/// as the one by which nothing is held or asked for.
namespace scout::agent {

/// As many launchers as an aggregator takes of one node, and as many migrations of one VM.
inline constexpr std::size_t evacuations_limit = 1'000;
inline constexpr std::size_t moves_limit = 100;

[[nodiscard]] virt_scout::v1::Evacuations to_wire(const EvacuationsMessage& message);
[[nodiscard]] virt_scout::v1::EvacuationOrder to_wire(const EvacuationOrderMessage& message);

[[nodiscard]] EvacuationRules from_wire(const virt_scout::v1::EvacuationRules& rules);
/// More migrations than the limit are as good as not known.
[[nodiscard]] EvacuationFacts from_wire(const virt_scout::v1::EvacuationFacts& facts);
[[nodiscard]] EvacuationResult from_wire(const virt_scout::v1::EvacuationResult& result);

}  // namespace scout::agent
