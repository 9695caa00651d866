// SPDX-License-Identifier: Apache-2.0
#include "aggregator/target_admission.h"

#include <chrono>
#include <cstddef>
#include <utility>

#include "cluster/object_references.h"
#include "kube/resource.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

/// Of the 5 s that the API server waits for an answer.
constexpr std::chrono::milliseconds read_limit = 3s;
/// Of an outlook, for all nodes: some 50 ms of the loop.
constexpr std::size_t most_looks = 300'000;
constexpr const char* left_alone = "the target pod is left as it is, and matches no node";

std::string all_of(const std::vector<migration::MoveReason>& faults) {
    std::string out;
    for (const auto& fault : faults) {
        out += (out.empty() ? "" : "; ") + fault.text;
    }
    return out;
}

}  // namespace

Task<daemon::HttpAnswer> TargetAdmission::serve_move(daemon::HttpRequest request) {
    co_return answer_about(
        std::move(request.body),
        [this](const auto& asked, auto& answer) { judge_move(asked, answer); }, moves_);
}

void TargetAdmission::judge_move(const kube::AdmissionRequest& request,
                                 kube::AdmissionAnswer& answer) const {
    if (auto wrong = wrong_question(request, "kubevirt.io", "VirtualMachineInstanceMigration");
        !wrong.empty()) {
        answer.warnings.push_back(std::move(wrong));
        return;
    }
    const auto move = cluster::read_carried_move(request.object);
    if (!move) {
        answer.refusal = move.error().message;
        return;
    }
    auto plan = cluster::plan_sentinel(*move);
    answer.refusal = all_of(plan.faults);
    if (!answer.refusal.empty()) {
        return;
    }
    answer.patch = std::move(plan.patch);
    if (auto trouble = outlook(*move); !trouble.empty()) {
        answer.warnings.push_back(std::move(trouble));
    }
}

/// What will keep it from going anywhere, as things are now; empty: nothing that is seen here. Not
/// refused: the migration is made, and fails as others do (proposal added-node-selector-term).
std::string TargetAdmission::outlook(const cluster::CarriedMove& move) const {
    const auto& term = move.request.wish.term;
    if (!sources_.nodes.synced() || !term) {
        return {};
    }
    const auto asked = cluster::asked_of_nodes(move);
    const auto items = migration::items_of(*term) + asked.added.size();
    if (items * sources_.nodes.size() > most_looks) {
        return {};  // the scheduler says it
    }
    const auto vmi = sources_.vmis.find(move.request.space, move.request.vmi);
    const auto source = vmi == nullptr ? std::string_view{} : vmi->node.view();
    bool is_other = false;
    bool is_source = false;
    sources_.nodes.each([&asked, source, &is_other, &is_source](const auto& node) {
        if (!is_other && cluster::is_asked_for(asked, *node)) {
            (node->meta.name == source ? is_source : is_other) = true;
        }
    });
    if (is_other) {
        return {};
    }
    const auto wish = migration::to_text(*term);
    return is_source ? "only the node on which the VM runs has " + wish +
                           ": the migration waits for another one, and is given up"
                     : "no node has " + wish + ": the migration waits for one, and is given up";
}

Task<daemon::HttpAnswer> TargetAdmission::serve_pod(daemon::HttpRequest request) {
    auto asked = kube::decode_admission_review(kube::PaddedText::of(request.body));
    if (!asked) {
        co_return no_review(asked.error(), pods_);
    }
    auto answer = co_await judge_pod(*std::move(asked));
    co_return admission_answer(std::move(answer), pods_);
}

Task<kube::AdmissionAnswer> TargetAdmission::judge_pod(kube::AdmissionRequest request) {
    kube::AdmissionAnswer answer;
    answer.uid = request.uid;
    if (auto wrong = wrong_question(request, "", "Pod"); !wrong.empty()) {
        answer.warnings.push_back(std::move(wrong));
        co_return answer;
    }
    const auto pod = kube::decode_new_pod(kube::PaddedText::of(request.object));
    if (!pod || pod->target_term.empty() || pod->migration.empty()) {
        answer.warnings.push_back(
            std::string{left_alone} + ": " +
            (pod ? "it is not of a migration that carries a term" : pod.error().message));
        co_return answer;
    }
    const auto move = co_await read_move(request.space, pod->migration);
    if (!move) {
        answer.warnings.push_back(std::string{left_alone} + ": " + move.error().message);
        co_return answer;
    }
    auto patch = cluster::aim_pod(*pod, *move);
    if (patch) {
        answer.patch = *std::move(patch);
        co_return answer;
    }
    answer.warnings.push_back(std::string{left_alone} + ": " + patch.error().message);
    if (!request.dry_run && move->uid == pod->migration_uid) {
        tell(request, *move, patch.error().message);
    }
    co_return answer;
}

Task<Result<cluster::CarriedMove>> TargetAdmission::read_move(std::string space, std::string name) {
    kube::Target target{.resource = kube::resources::migrations(),
                        .object = {.space = std::move(space), .name = std::move(name)}};
    kube::CallOptions options;
    options.limit = read_limit;
    auto text = co_await client_.get(std::move(target), options);
    if (!text) {
        co_return fail(std::move(text.error().error));
    }
    co_return cluster::read_carried_move(*text);
}

/// Nobody reads the warnings that virt-controller is answered with.
void TargetAdmission::tell(const kube::AdmissionRequest& request, const cluster::CarriedMove& move,
                           std::string note) {
    sources_.events.record(
        {.regarding = cluster::move_reference(request.space, move.request.name, move.uid),
         .related = {},
         .warning = true,
         .reason = "TargetNotAimed",
         .action = "AimTarget",
         .note = std::move(note)});
}

}  // namespace scout::aggregator
