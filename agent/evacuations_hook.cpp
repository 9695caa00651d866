// SPDX-License-Identifier: Apache-2.0
// What evacuations answer virt-handler.
#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "agent/evacuations.h"
#include "base/logging.h"

namespace scout::agent {
namespace {

/// Of launchers that were asked about in vain.
constexpr std::chrono::minutes silent_kept{1};

}  // namespace

std::vector<std::string> Evacuations::launchers_of(const StopQuestion& question,
                                                   const launcher::LauncherTable& launchers) {
    std::vector<std::string> named;
    std::vector<std::string> calling_themselves;
    for (const auto& [pod, launcher] : launchers.launchers()) {
        if (std::find(question.pods.begin(), question.pods.end(), pod) != question.pods.end()) {
            named.push_back(pod);
        } else if (launcher.domain && launcher.domain->vmi_uid == question.vmi.uid) {
            calling_themselves.push_back(pod);
        }
    }
    return named.empty() ? calling_themselves : named;
}

/// Launchers say themselves of which VMI they are, and nobody has to believe them: where
/// virt-handler names some that are here, these are meant, and what others hold of that VMI is
/// dropped. An evacuation that is over answers for its own launcher alone. Null: launchers have to
/// be asked.
FollowedLauncher* Evacuations::asked_about(const StopQuestion& question,
                                           const launcher::LauncherTable& launchers,
                                           SteadyTime now) {
    const auto pods = launchers_of(question, launchers);
    const auto is_meant = [&pods](const std::string& pod) {
        return std::find(pods.begin(), pods.end(), pod) != pods.end();
    };
    for (auto each = followed_.begin(); each != followed_.end();) {
        if (each->second.vmi_uid() != question.vmi.uid || each->second.is_gone() ||
            is_meant(each->first)) {
            ++each;
            continue;
        }
        spdlog::warn("a launcher is passed over, virt-handler names others here pod={} vmi_uid={}",
                     log_value(each->first), log_value(question.vmi.uid));
        disowned_.insert(each->first);
        each = followed_.erase(each);
        members_changed_ = true;
    }
    auto* followed = find(question.vmi.uid);
    for (const auto& pod : pods) {
        if (followed != nullptr && !followed->is_over()) {
            break;
        }
        const auto& launcher = launchers.launchers().find(pod)->second;
        const bool says_so = launcher.domain && launcher.domain->vmi_uid == question.vmi.uid;
        auto* const adopted =
            says_so && !followed_.contains(pod) ? adopt(pod, launcher, now) : nullptr;
        followed = adopted != nullptr ? adopted : followed;
    }
    const bool others = std::any_of(pods.begin(), pods.end(),
                                    [this](const auto& pod) { return !followed_.contains(pod); });
    return followed != nullptr && followed->is_over() && others ? nullptr : followed;
}

std::optional<migration::HookAnswer> Evacuations::answer(const StopQuestion& question,
                                                         const launcher::LauncherTable& launchers) {
    if (!is_mode(EvacuationMode::act)) {
        return migration::HookAnswer{};
    }
    const auto now = clock_.steady();
    auto* const followed = asked_about(question, launchers, now);
    if (followed == nullptr) {
        return std::nullopt;
    }
    if (!followed->is_told()) {
        auto facts = question.vmi;
        if (rules_ && !question.strategy_set) {
            facts.strategy = migration::effective_strategy({}, rules_->eviction_strategy);
        }
        followed->saw_vmi(std::move(facts), now);
    }
    auto answer = followed->answer(now);
    changed_();
    return answer;
}

migration::HookAnswer Evacuations::answer_unheard(const StopQuestion& question,
                                                  const launcher::LauncherTable& launchers,
                                                  SteadyTime asked) {
    const auto now = clock_.steady();
    std::erase_if(silent_, [now](const auto& each) { return now - each.second > silent_kept; });
    const auto pods = launchers_of(question, launchers);
    const bool silent = std::any_of(pods.begin(), pods.end(), [&launchers, asked](const auto& pod) {
        return !launchers.asked_since(pod, asked);
    });
    if (!silent || question.vmi.deleting || question.vmi.phase != "Running") {
        return {};
    }
    const auto [since, first] = silent_.try_emplace(question.vmi.uid, now);
    if (now - since->second >= silent_limit) {
        return {};
    }
    return {.allow = false,
            .why =
                "deciding: its launcher has not said whether it was told to stop, which is "
                "waited for for " +
                std::to_string(silent_limit.count()) + " s at most"};
}

}  // namespace scout::agent
