// SPDX-License-Identifier: Apache-2.0
#include "cluster/move_forecast.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "cluster/evacuation_rules.h"
#include "cluster/name_list.h"
#include "cluster/node_state.h"
#include "cluster/vm_placement.h"
#include "migration/label_syntax.h"

namespace scout::cluster {
namespace {

using migration::AskedVm;
using migration::MoveReason;
using migration::MoveRequest;
using migration::MoveWish;
using migration::Verdict;

/// Null, with the reason, if there is none.
Result<const kube::Vmi*> vmi_of(const Objects& objects, const MoveRequest& request,
                                std::vector<MoveReason>& refusals) {
    if (request.vmi.empty()) {
        return nullptr;
    }
    const auto name = (request.space.empty() ? "" : request.space + "/") + request.vmi;
    auto found = migration::is_dns_subdomain(request.vmi)
                     ? find_vmi(objects, name)
                     : fail(Errc::not_found, "no VMI has such a name as spec.vmiName says");
    if (found || found.error().code != Errc::not_found) {
        return found;
    }
    refusals.push_back({.code = "vmi-missing", .text = std::move(found.error().message)});
    return nullptr;
}

AskedVm subject_of(const Objects& objects, const kube::Vmi& vmi, const kube::Node* node,
                   const MoveRequest& request) {
    AskedVm subject;
    subject.phase = vmi.phase.str();
    subject.node = vmi.node.str();
    if (node != nullptr) {
        const auto labels = plain_labels(node->labels);
        const auto host = labels.find(migration::hostname_label);
        subject.hostname = host == labels.end() ? std::string{} : host->second;
    }
    const auto* movable = kube::find_condition(vmi.conditions, "LiveMigratable");
    if (movable != nullptr && movable->status == "False") {
        subject.not_movable = movable->reason.empty() ? "no reason told" : movable->reason.str();
        subject.why = movable->message.str();
    }
    for (const auto& other : objects.migrations) {
        if (other.meta.space != vmi.meta.space) {
            continue;
        }
        if (other.vmi_name == vmi.meta.name && !other.is_final() && subject.under_way.empty()) {
            subject.under_way = other.meta.name;
        }
        subject.name_taken =
            subject.name_taken || (!request.name.empty() && other.meta.name == request.name);
    }
    if (const auto* kubevirt = kubevirt_in_force(objects.kubevirts)) {
        subject.crossing_gate = lists_gate(kubevirt, "DecentralizedLiveMigration");
    }
    subject.own = own_selectors(objects, vmi);
    return subject;
}

/// Nodes of which the same is to be said, as reasons.
class NodeGroups {
public:
    void add(const std::string& node, std::string_view code, std::string text) {
        const auto same = std::find_if(
            groups_.begin(), groups_.end(),
            [code, &text](const Group& group) { return group.code == code && group.text == text; });
        if (same != groups_.end()) {
            same->nodes.push_back(node);
        } else if (groups_.size() < most) {
            groups_.push_back({.code = code, .text = std::move(text), .nodes = {node}});
        } else {
            more_.push_back(node);
        }
    }
    [[nodiscard]] bool empty() const noexcept { return groups_.empty(); }
    void tell(MoveForecast& out) const {
        for (const auto& group : groups_) {
            out.reasons.push_back(
                {.code = group.code, .text = first_names(group.nodes) + ": " + group.text});
        }
        if (!more_.empty()) {
            out.notes.push_back("scoutctl where tells what stands against " + first_names(more_));
        }
    }

private:
    struct Group {
        std::string_view code;
        std::string text;
        std::vector<std::string> nodes;
    };
    static constexpr std::size_t most = 10;

    std::vector<Group> groups_;
    std::vector<std::string> more_;
};

/// The first things that stand against it, in one sentence.
std::string why_of(const migration::Comparison& answer) {
    constexpr std::size_t most = 3;
    std::string out;
    for (std::size_t i = 0; i < std::min(most, answer.reasons.size()); ++i) {
        out += (i == 0 ? "" : "; ") + answer.reasons[i].text;
    }
    return out + (answer.reasons.size() > most ? "; …" : "");
}

/// Of lists that the wish names nodes in, by name or host name, those of which none is there.
std::vector<std::string> absent_nodes(const Objects& objects, const MoveWish& wish) {
    using Names = std::set<std::string_view>;
    Names names;
    Names hostnames;
    for (const auto& node : objects.nodes) {
        names.insert(node.meta.name);
        hostnames.insert(node.labels.find(migration::hostname_label).value_or(std::string_view{}));
    }
    std::vector<std::string> out;
    const auto look = [&out](const auto& lists, const Names& there) {
        for (const auto& list : lists) {
            if (std::none_of(list.begin(), list.end(),
                             [&there](const auto& name) { return there.contains(name); })) {
                out.insert(out.end(), list.begin(), list.end());
            }
        }
    };
    const auto named = migration::named_nodes(wish);
    look(named.names, names);
    look(named.hostnames, hostnames);
    return out;
}

/// Judges one request for one VMI.
class Forecaster {
public:
    Forecaster(const Objects& objects, const kube::Vmi& vmi, const MoveRequest& request,
               MoveForecast& out)
        : objects_(objects), vmi_(vmi), request_(request), out_(out), source_(nullptr) {
        if (const auto node = find_node(objects, vmi.node.view())) {
            source_ = *node;
        }
        subject_ = subject_of(objects, vmi, source_, request);
        wish_.term = request.wish.term;
        wish_.added = migration::effective(request.wish.added, subject_.own);
        if (wish_.term) {
            wish_.added.erase(std::string{migration::sentinel_key});
        }
    }

    void judge(WallTime now, const migration::CpuMap* map) {
        out_.vmi = full_name(vmi_.meta);
        out_.source = vmi_.node.str();
        out_.ignored_keys = migration::ignored_keys(request_.wish.added, subject_.own);
        auto refused = migration::admission_faults(request_, subject_);
        std::move(refused.begin(), refused.end(), std::back_inserter(out_.reasons));
        if (out_.reasons.empty()) {
            out_.verdict = MoveVerdict::pending;
            if (!waits_for_ever()) {
                place(now, map);
            }
            if (out_.verdict != MoveVerdict::refused) {
                note_unseen();
            }
        }
        const bool host_model = vmi_.cpu_model.empty() || vmi_.cpu_model == "host-model";
        auto remarks = migration::wish_remarks(request_.wish, subject_.own, host_model);
        std::move(remarks.begin(), remarks.end(), std::back_inserter(out_.reasons));
    }

private:
    void tell(std::string_view code, std::string text) {
        out_.reasons.push_back({.code = code, .text = std::move(text)});
    }

    /// What no time-out of KubeVirt ends (dossier §16).
    bool waits_for_ever() {
        if (vmi_.deletion) {
            tell("being-deleted",
                 "the VMI is being deleted: KubeVirt takes the migration and does "
                 "not begin it");
        } else if (request_.crosses()) {
            tell("other-cluster",
                 std::string{"the target pod is made in the cluster that receives the VM"} +
                     (request_.receive ? ", as far as this one is it: when, its peer decides"
                                       : ": which nodes fit is not known here"));
        } else if (subject_.phase != "Running") {
            tell("not-running",
                 "the VMI does not run yet, its phase is " +
                     (subject_.phase.empty() ? std::string{"not set"} : subject_.phase) +
                     ": KubeVirt takes the migration, and begins it when the VMI runs");
        } else if (source_ == nullptr) {
            tell("source-absent", "node " + vmi_.node.str() +
                                      ", on which the VMI runs, is not among the objects: if it "
                                      "is gone, the migration waits without an end");
        }
        return !out_.reasons.empty();
    }

    /// What else may keep a migration that is made from its end (dossier §6.5).
    void note_unseen() {
        out_.notes.push_back(
            "ResourceQuotas of namespace " + vmi_.meta.space.str() +
            " are not looked at: source and target count together, and where they are exceeded "
            "KubeVirt makes no target pod, and the migration waits without a time-out "
            "(migrationRejectedByResourceQuota)");
        out_.notes.emplace_back(
            "not looked at: a backup of the VM that runs, for whose end the migration waits, and "
            "utility volumes of the VM, which let it fail after 150 s unless the KubeVirt object "
            "says otherwise");
    }

    void place(WallTime now, const migration::CpuMap* map) {
        auto placement = place_vmi(objects_, vmi_, now, map, wish_);
        std::move(placement.notes.begin(), placement.notes.end(), std::back_inserter(out_.notes));
        std::size_t met = 0;
        auto node = objects_.nodes.begin();  // the answers are in the same order
        for (const auto& answer : placement.nodes) {
            node = std::find_if(node, objects_.nodes.end(), [&answer](const auto& each) {
                return each.meta.name == answer.node;
            });
            if (migration::meets(wish_, plain_labels(node->labels), answer.node)) {
                ++met;
                sort_in(answer);
            }
        }
        if (!out_.candidates.empty()) {
            out_.verdict = MoveVerdict::ok;
            gaps_.tell(out_);
            unknown_.tell(out_);
            return;
        }
        if (!gaps_.empty() && unknown_nodes_ == 0) {
            out_.verdict = MoveVerdict::refused;  // it would not wait, it would fail
        } else {
            out_.give_up_seconds = request_.give_up_seconds;
        }
        if (met == 0) {
            tell_unmet();
            return;
        }
        out_.uncertain = unknown_nodes_ > 0;
        tell("no-candidate", nobody(met));
        gaps_.tell(out_);
        cannot_.tell(out_);
        unknown_.tell(out_);
    }

    /// Of so many nodes that have all that is asked for none can take it.
    [[nodiscard]] std::string nobody(std::size_t met) const {
        const std::string which = wish_.empty() ? "" : " with all that is asked for";
        return (met == 1 ? "the only node" + which + " cannot"
                         : "none of " + std::to_string(met) + " nodes" + which + " can") +
               (unknown_nodes_ == 0 ? " take the VM now" : " certainly take the VM now");
    }

    void sort_in(const migration::NodeAnswer& answer) {
        const auto& found = answer.comparison;
        if (found.verdict == Verdict::can) {
            out_.candidates.push_back(answer.node);
        } else if (found.verdict == Verdict::unknown) {
            ++unknown_nodes_;
            unknown_.add(answer.node, "not-certain", "it cannot be told: " + why_of(found));
        } else if (found.gap()) {
            gaps_.add(answer.node, "gap",
                      "KubeVirt would send it there, and it would fail: " + why_of(found));
        } else {
            cannot_.add(
                answer.node,
                found.reasons.empty() ? "no-candidate" : to_string(found.reasons.front().code),
                why_of(found));
        }
    }

    /// Why no other node has all that is asked for.
    void tell_unmet() {
        if (migration::meets(wish_, plain_labels(source_->labels), source_->meta.name)) {
            tell("already-there",
                 "the VM runs on " + source_->meta.name +
                     ", the only node that has all that is asked for, and no migration goes to "
                     "its own node");
            return;
        }
        if (const auto absent = absent_nodes(objects_, wish_); !absent.empty()) {
            tell("node-absent", "there is no node " + first_names(absent));
            return;
        }
        tell("no-node-matches", "no node has all that is asked for: " + to_text(wish_));
    }

    const Objects& objects_;
    const kube::Vmi& vmi_;
    const MoveRequest& request_;
    MoveForecast& out_;
    const kube::Node* source_;
    AskedVm subject_;
    MoveWish wish_;  ///< what of it has an effect
    NodeGroups cannot_;
    NodeGroups gaps_;
    NodeGroups unknown_;
    std::size_t unknown_nodes_ = 0;
};

}  // namespace

std::string_view to_string(MoveVerdict verdict) noexcept {
    switch (verdict) {
        case MoveVerdict::ok:
            return "ok";
        case MoveVerdict::refused:
            return "refused";
        case MoveVerdict::pending:
            break;
    }
    return "pending";
}

Result<MoveForecast> forecast_move(const Objects& objects, const MoveRequest& request, WallTime now,
                                   const migration::CpuMap* map) {
    MoveForecast out;
    if (migration::is_dns_subdomain(request.vmi)) {
        out.vmi = (request.space.empty() ? "" : request.space + "/") + request.vmi;
    }
    out.wish = to_text(request.wish);
    out.notes = request.notes;
    out.reasons = migration::request_faults(request);
    const auto vmi = vmi_of(objects, request, out.reasons);
    if (!vmi) {
        return fail(vmi.error());
    }
    if (*vmi != nullptr) {
        Forecaster(objects, **vmi, request, out).judge(now, map);
    }
    return out;
}

}  // namespace scout::cluster
