// SPDX-License-Identifier: Apache-2.0
#include "migration/named_target.h"

#include <algorithm>
#include <utility>

#include "migration/feature_set.h"
#include "migration/label_syntax.h"
#include "migration/target_pod.h"

namespace scout::migration {
namespace {

constexpr std::string_view name_field = "metadata.name";
constexpr std::size_t most_told = 20;
constexpr std::size_t shown_bytes = 100;
constexpr std::string_view empty_term =
    ": an empty term matches no node at all, it does not stand for any node: say what is asked "
    "for, or leave it out";

std::string in_quotes(std::string_view text) {
    return "'" + std::string{text.substr(0, shown_bytes)} +
           (text.size() > shown_bytes ? "…'" : "'");
}

std::size_t bytes_of(const NodeSelectorTerm& term) {
    std::size_t bytes = 0;
    for (const auto* list : {&term.expressions, &term.fields}) {
        for (const auto& asked : *list) {
            bytes += asked.key.size() + asked.op.size();
            for (const auto& value : asked.values) {
                bytes += value.size();
            }
        }
    }
    return bytes;
}

void check_term(const NodeSelectorTerm& term, std::string_view path, MoveReasons& out) {
    const auto bytes = bytes_of(term);
    const auto items = items_of(term);
    if (bytes > most_term_bytes || items > most_term_items) {
        out.add("too-large",
                std::string{path} + ": expected at most " + std::to_string(most_term_items) +
                    " requirements and values in all, and " + std::to_string(most_term_bytes) +
                    " bytes, found " + std::to_string(items) + " and " + std::to_string(bytes));
        return;
    }
    if (term.empty()) {
        out.add("term-empty", std::string{path} + std::string{empty_term});
    }
    for (auto& fault : term_faults(term, path)) {
        out.add("term", std::move(fault));
    }
}

/// KubeVirt takes these as they are; the target pod can then not be made (dossier §16).
void check_added(const MoveWish& wish, MoveReasons& out) {
    for (const auto& [key, value] : wish.added) {
        const bool bad_key = !is_label_key(key);
        if (bad_key || !is_label_value(value)) {
            out.add("label", "spec.addedNodeSelector: " + std::string{bad_key ? "key " : "value "} +
                                 in_quotes(bad_key ? key : value) + ": expected " +
                                 std::string{bad_key ? label_key_rule : label_value_rule} +
                                 "; KubeVirt takes it, cannot make the target pod, and the "
                                 "migration hangs without an event or a time-out");
        }
    }
    if (!wish.term && wish.added.contains(sentinel_key)) {
        out.add("sentinel", "spec.addedNodeSelector: " + std::string{sentinel_key} +
                                " stands for a term, and the migration has none: take it out");
    }
}

void check_peers(const MoveRequest& request, MoveReasons& out) {
    const auto& to = request.send_to;
    if (to && request.receive && to->id != request.receive->id) {
        out.add("decentralized", "spec.sendTo and spec.receive: expected one migrationID, found " +
                                     in_quotes(to->id) + " and " + in_quotes(request.receive->id));
    }
    if (to && request.crosses() && to->url.find("://") != std::string::npos) {
        out.add("decentralized", "spec.sendTo.connectURL: expected HOST:PORT, found " +
                                     in_quotes(to->url) + ": KubeVirt takes it and cannot dial it");
    }
}

const std::string* value_of(const Labels& labels, std::string_view key) {
    const auto found = labels.find(key);
    return found == labels.end() ? nullptr : &found->second;
}

/// Other migrations of the VMI.
void check_others(const MoveRequest& request, const AskedVm& subject,
                  std::vector<MoveReason>& out) {
    if (subject.name_taken) {
        out.push_back({.code = "name-taken",
                       .text = "a migration " + request.name +
                               " is there already, and none is done twice: give it another name"});
    }
    if (!subject.under_way.empty() && !(subject.name_taken && subject.under_way == request.name)) {
        out.push_back({.code = "under-way",
                       .text = "migration " + subject.under_way +
                               " of the VMI has not ended: KubeVirt takes no other until then"});
    }
}

/// Case 24.
std::optional<MoveReason> asks_for_source(const MoveWish& wish, const AskedVm& subject) {
    const auto* host = value_of(wish.added, hostname_label);
    const auto& own = subject.hostname.empty() ? subject.node : subject.hostname;
    if (host == nullptr || own.empty() || *host != own || subject.own.contains(hostname_label)) {
        return std::nullopt;
    }
    return MoveReason{.code = "already-there",
                      .text = "spec.addedNodeSelector: " + pair_text(hostname_label, *host) +
                              " is the node that the VM runs on, and no migration goes to its own "
                              "node"};
}

std::string to_text(const NodeRequirement& asked) {
    constexpr std::size_t most = 5;
    std::vector<std::string> values(
        asked.values.begin(),
        asked.values.begin() + static_cast<std::ptrdiff_t>(std::min(most, asked.values.size())));
    if (asked.values.size() > most) {
        values.push_back("… " + std::to_string(asked.values.size() - most) + " more");
    }
    return asked.key + " " + asked.op + (values.empty() ? "" : " (" + join(values) + ")");
}

/// The first of those that the node does not meet.
NodeSelectorTerm unmet(const NodeSelectorTerm& term, const Labels& node, std::string_view name) {
    constexpr std::size_t most = 3;
    NodeSelectorTerm out;
    const auto is_full = [&out] { return out.expressions.size() + out.fields.size() == most; };
    for (const auto& each : term.expressions) {
        if (!is_full() &&
            !matches(NodeSelectorTerm{.expressions = {each}, .fields = {}}, node, name)) {
            out.expressions.push_back(each);
        }
    }
    for (const auto& each : term.fields) {
        if (!is_full() &&
            !matches(NodeSelectorTerm{.expressions = {}, .fields = {each}}, node, name)) {
            out.fields.push_back(each);
        }
    }
    return out;
}

}  // namespace

std::size_t items_of(const NodeSelectorTerm& term) noexcept {
    std::size_t items = 0;
    for (const auto* list : {&term.expressions, &term.fields}) {
        for (const auto& asked : *list) {
            items += 1 + asked.values.size();
        }
    }
    return items;
}

void MoveReasons::add(std::string_view code, std::string text) {
    if (reasons_.size() < most_told) {
        reasons_.push_back({.code = code, .text = std::move(text)});
    } else {
        ++more_;
    }
}

std::vector<MoveReason> MoveReasons::take() && {
    if (more_ > 0) {
        reasons_.back().text += "; and " + std::to_string(more_) + " more";
    }
    return std::move(reasons_);
}

std::vector<MoveReason> request_faults(const MoveRequest& request) {
    MoveReasons out;
    for (const auto& fault : request.faults) {
        out.add(fault.code, fault.text);
    }
    if (!request.priority.empty()) {
        out.add("priority", "spec.priority: virt-controller alone may set it, found " +
                                in_quotes(request.priority) + ": leave it out");
    }
    check_peers(request, out);
    check_added(request.wish, out);
    if (request.wish.term) {
        check_term(*request.wish.term, request.term_path, out);
    }
    return std::move(out).take();
}

std::vector<std::string> ignored_keys(const Labels& added, const Labels& own) {
    std::vector<std::string> out;
    for (const auto& [key, value] : added) {
        const auto* stays = value_of(own, key);
        if (stays != nullptr && *stays != value) {
            out.push_back(key);
        }
    }
    return out;
}

Labels effective(const Labels& added, const Labels& own) {
    auto out = added;
    std::erase_if(out, [&own](const auto& entry) { return own.contains(entry.first); });
    return out;
}

std::vector<MoveReason> admission_faults(const MoveRequest& request, const AskedVm& subject) {
    std::vector<MoveReason> out;
    const bool crosses = request.send_to || request.receive;
    if (crosses && !subject.crossing_gate.value_or(true)) {
        out.push_back({.code = "decentralized",
                       .text = "spec.sendTo and spec.receive: the KubeVirt object does not list "
                               "the feature gate DecentralizedLiveMigration"});
    }
    if (subject.phase == "Succeeded" || subject.phase == "Failed") {
        out.push_back(
            {.code = "not-running", .text = "the VMI has ended: its phase is " + subject.phase});
    }
    if (!subject.not_movable.empty() &&
        !(crosses && subject.not_movable == "DisksNotLiveMigratable")) {
        out.push_back(
            {.code = "not-migratable",
             .text = "KubeVirt says that the VMI is not migratable: " + subject.not_movable +
                     (subject.why.empty() ? "" : " (" + subject.why + ")")});
    }
    check_others(request, subject, out);
    if (auto there = asks_for_source(request.wish, subject)) {
        out.push_back(std::move(*there));
    }
    return out;
}

std::vector<MoveReason> wish_remarks(const MoveWish& wish, const Labels& own, bool host_model) {
    MoveReasons out;
    for (const auto& key : ignored_keys(wish.added, own)) {
        out.add("ignored-key", pair_text(key, *value_of(wish.added, key)) +
                                   " has no effect: the VM itself asks for " +
                                   pair_text(key, *value_of(own, key)) + ", and that stays");
    }
    for (const auto& [key, value] : effective(wish.added, own)) {
        if (host_model && is_cpu_selector(key)) {
            out.add("sticks", pair_text(key, value) +
                                  " stays with the VM after this move: KubeVirt copies CPU labels "
                                  "from each launcher pod to the next, until the VM is started "
                                  "anew");
        }
    }
    return std::move(out).take();
}

bool meets(const MoveWish& wish, const Labels& node, std::string_view name) {
    const bool has_added =
        std::all_of(wish.added.begin(), wish.added.end(), [&node](const auto& entry) {
            const auto* value = value_of(node, entry.first);
            return value != nullptr && *value == entry.second;
        });
    return has_added && (!wish.term || matches(*wish.term, node, name));
}

std::string lacking(const MoveWish& wish, const Labels& node, std::string_view name) {
    constexpr std::size_t most = 3;
    std::vector<std::string> out;
    for (const auto& [key, value] : wish.added) {
        const auto* has = value_of(node, key);
        if (out.size() < most && (has == nullptr || *has != value)) {
            out.push_back(pair_text(key, value) + (has == nullptr
                                                       ? " (it has no such label)"
                                                       : " (it has " + pair_text(key, *has) + ")"));
        }
    }
    if (wish.term && !matches(*wish.term, node, name)) {
        const auto missing = unmet(*wish.term, node, name);
        out.push_back(missing.empty() ? "an empty term, which no node meets" : to_text(missing));
    }
    return join(out);
}

NamedNodes named_nodes(const MoveWish& wish) {
    NamedNodes out;
    const auto append = [](const std::vector<NodeRequirement>& list, std::string_view key,
                           auto& lists) {
        for (const auto& asked : list) {
            if (asked.key == key && asked.op == "In") {
                lists.push_back(asked.values);
            }
        }
    };
    if (const auto* host = value_of(wish.added, hostname_label)) {
        out.hostnames.push_back({*host});
    }
    if (wish.term) {
        append(wish.term->fields, name_field, out.names);
        append(wish.term->expressions, hostname_label, out.hostnames);
    }
    return out;
}

void apply(const NodeSelectorTerm& term, const Labels& node, std::string_view name,
           Comparison& comparison) {
    if (matches(term, node, name)) {
        return;
    }
    const auto lacking = unmet(term, node, name);
    std::vector<std::string> keys;
    for (const auto* list : {&lacking.expressions, &lacking.fields}) {
        for (const auto& asked : *list) {
            keys.push_back(asked.key);
        }
    }
    refuse(comparison, {.code = ReasonCode::selector,
                        .layer = Layer::stock,
                        .text = "the migration asks for another node: " + to_text(lacking),
                        .keys = std::move(keys)});
}

std::string to_text(const NodeSelectorTerm& term) {
    std::vector<std::string> out;
    for (const auto* list : {&term.expressions, &term.fields}) {
        for (const auto& asked : *list) {
            out.push_back(to_text(asked));
        }
    }
    return join(out);
}

std::string to_text(const MoveWish& wish) {
    std::vector<std::string> out;
    for (const auto& [key, value] : wish.added) {
        out.push_back(pair_text(key, value));
    }
    if (wish.term && !wish.term->empty()) {
        out.push_back(to_text(*wish.term));
    }
    return join(out);
}

}  // namespace scout::migration
