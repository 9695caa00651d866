// SPDX-License-Identifier: Apache-2.0
#include "agent/hook_payload.h"

#include <utility>

#include "base/files.h"
#include "cluster/evacuation_facts.h"
#include "kube/decode_text.h"
#include "kube/objects/vmi.h"
#include "wire/checks.h"

namespace scout::agent {
namespace {

/// A launcher has a VMI; a VMI has two launchers while it moves.
constexpr std::size_t pods_limit = 64;

Result<kube::Vmi> decode(std::string_view json) {
    if (json.size() > document_limit) {
        return fail(Errc::invalid, "expected at most " + std::to_string(document_limit) +
                                       " bytes, found " + std::to_string(json.size()));
    }
    std::string text{json};
    return kube::decode_text(text, &kube::decode_vmi);
}

}  // namespace

Result<StopQuestion> read_stop_question(std::string_view json) {
    auto vmi = decode(json);
    if (!vmi) {
        return fail(std::move(vmi.error()).within("vmi"));
    }
    if (vmi->meta.uid.empty()) {
        return fail(Errc::invalid, "vmi: metadata.uid: expected a UID, found none");
    }
    StopQuestion question{.vmi = cluster::vmi_facts(*vmi, {}),
                          .strategy_set = !vmi->eviction_strategy.empty()};
    auto& facts = question.vmi;
    for (auto* text :
         {&facts.uid, &facts.phase, &facts.node, &facts.marked_node, &facts.not_migratable}) {
        *text = wire::cut(*text);
    }
    for (const auto& pod : vmi->active_pods) {
        if (question.pods.size() < pods_limit && pod.uid.size() <= wire::name_limit) {
            question.pods.push_back(pod.uid);
        }
    }
    return question;
}

std::string why_allowed(const StopQuestion& question) {
    if (question.vmi.deleting) {
        return "the VMI is being deleted";
    }
    if (question.vmi.phase != "Running") {
        return "the VMI is in phase " + question.vmi.phase;
    }
    return {};
}

}  // namespace scout::agent
