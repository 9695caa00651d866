// SPDX-License-Identifier: Apache-2.0
#include "aggregator/metrics.h"

#include <chrono>
#include <string>

#include <prometheus/metric_family.h>

namespace scout::aggregator {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct Sample {
    std::string label;
    std::string value;
    std::uint64_t number;
};

MetricFamily family(const char* name, const char* help, MetricType type,
                    const std::vector<Sample>& samples) {
    MetricFamily out;
    out.name = name;
    out.help = help;
    out.type = type;
    for (const auto& sample : samples) {
        ClientMetric metric;
        if (!sample.label.empty()) {
            metric.label.push_back({sample.label, sample.value});
        }
        const auto number = static_cast<double>(sample.number);
        (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = number;
        out.metric.push_back(std::move(metric));
    }
    return out;
}

MetricFamily gauge(const char* name, const char* help, std::uint64_t number) {
    return family(name, help, MetricType::Gauge, {{"", "", number}});
}

MetricFamily counter(const char* name, const char* help, std::uint64_t number) {
    return family(name, help, MetricType::Counter, {{"", "", number}});
}

void add_admissions(const char* name, const char* help, const AdmissionCounters& counters,
                    std::vector<MetricFamily>& out) {
    out.push_back(
        family(name, help, MetricType::Counter,
               {{"result", "patched", counters.patched},
                {"result", "unchanged", counters.admitted - counters.patched - counters.denied},
                {"result", "denied", counters.denied},
                {"result", "refused", counters.refused}}));
}

void add_https(const ClusterFacts& facts, std::vector<MetricFamily>& out) {
    add_admissions("virt_scout_admissions_total",
                   "Questions of the API server about new pods, by what came of them.",
                   facts.placement, out);
    add_admissions("virt_scout_grace_admissions_total",
                   "Questions of the API server about launchers that shall have more time.",
                   facts.grace, out);
    add_admissions("virt_scout_target_admissions_total",
                   "Questions of the API server about migrations that carry a term.",
                   facts.target_moves, out);
    add_admissions("virt_scout_target_pod_admissions_total",
                   "Questions of the API server about target pods of such migrations.",
                   facts.target_pods, out);
    add_admissions("virt_scout_policy_admissions_total",
                   "Questions of the API server about migration policies.", facts.policy_lint, out);
    out.push_back(counter("virt_scout_admission_warnings_total",
                          "Answers to all of these that had a warning.",
                          facts.placement.warned + facts.grace.warned + facts.target_moves.warned +
                              facts.target_pods.warned + facts.policy_lint.warned));
    out.push_back(family("virt_scout_queries_total",
                         "Questions of users by way of the API server, by what came of them.",
                         MetricType::Counter,
                         {{"result", "answered", facts.queries.answered},
                          {"result", "forbidden", facts.queries.forbidden},
                          {"result", "unknown_user", facts.queries.unknown},
                          {"result", "busy", facts.queries.busy},
                          {"result", "failed", facts.queries.failed}}));
    out.push_back(counter("virt_scout_https_crowded_out_total",
                          "Requests for whose bodies there was no room.", facts.crowded_out));
}

MetricFamily orders(const OrderCounters& counters) {
    MetricFamily out;
    out.name = "virt_scout_evacuation_orders_total";
    out.help = "Steps that agents ordered for VMs on their nodes, by how they ended.";
    out.type = MetricType::Counter;
    for (std::size_t step = 0; step < counters.size(); ++step) {
        for (std::size_t outcome = 0; outcome < counters[step].size(); ++outcome) {
            if (counters[step][outcome] == 0) {
                continue;
            }
            ClientMetric metric;
            metric.label = {
                {"step",
                 std::string{migration::to_string(static_cast<migration::EvacuationStep>(step))}},
                {"outcome",
                 std::string{outcome_word(static_cast<migration::StepOutcome>(outcome))}}};
            metric.counter.value = static_cast<double>(counters[step][outcome]);
            out.metric.push_back(std::move(metric));
        }
    }
    return out;
}

void add_evacuations(const ClusterFacts& facts, std::vector<MetricFamily>& out) {
    const auto& evacuations = facts.evacuations;
    std::vector<Sample> states;
    states.reserve(evacuations.states.size());
    for (std::size_t state = 0; state < evacuations.states.size(); ++state) {
        states.push_back(
            {"state",
             std::string{migration::to_string(static_cast<migration::EvacuationState>(state))},
             evacuations.states[state]});
    }
    out.push_back(family("virt_scout_evacuations",
                         "VMs whose launchers were told to stop, by what becomes of them.",
                         MetricType::Gauge, states));
    out.push_back(orders(evacuations.orders));
    out.push_back(counter("virt_scout_evacuation_orders_foreign_total",
                          "Orders of agents that were refused: they were not about theirs.",
                          evacuations.foreign));
    out.push_back(counter("virt_scout_evacuation_facts_total",
                          "Messages to agents about VMs that are to be moved.", evacuations.facts));
    out.push_back(
        gauge("virt_scout_evacuation_agents", "Agents that follow launchers.", evacuations.agents));
    out.push_back(gauge("virt_scout_node_hook",
                        "1 while virt-handler is told to ask agents before it stops a VM.",
                        facts.hook.in_place ? 1 : 0));
    out.push_back(gauge("virt_scout_node_hook_left_out",
                        "Nodes on which it asks nobody, for their agents are silent.",
                        facts.hook.left_out));
    out.push_back(family(
        "virt_scout_node_hook_writes_total",
        "Writes of the node hook's object, by what came of them.", MetricType::Counter,
        {{"result", "accepted", facts.hook.written}, {"result", "failed", facts.hook.failed}}));
    out.push_back(counter("virt_scout_node_hook_released_total",
                          "VMs whose stop went on because their agent was silent.",
                          facts.hook.released));
}

MetricFamily launcher_ends(const EndCounters& counters) {
    std::vector<Sample> samples;
    samples.reserve(counters.size());
    for (std::size_t cause = 0; cause < counters.size(); ++cause) {
        samples.push_back({"cause", std::string{end_word(cause)}, counters.at(cause)});
    }
    return family("virt_scout_launcher_ends_total",
                  "Launchers that ended while this process led, by what ended them.",
                  MetricType::Counter, samples);
}

MetricFamily migrations(const MoveCounters& counters) {
    MetricFamily out;
    out.name = "virt_scout_migrations_total";
    out.help = "Migrations that ended while this process led, by who wanted them.";
    out.type = MetricType::Counter;
    for (std::size_t cause = 0; cause < counters.size(); ++cause) {
        for (std::size_t mode = 0; mode < counters[cause].size(); ++mode) {
            for (std::size_t failed = 0; failed < 2; ++failed) {
                const auto number = counters[cause][mode][failed];
                if (number == 0) {
                    continue;
                }
                ClientMetric metric;
                metric.label = {
                    {"cause",
                     std::string{migration::to_string(static_cast<migration::Requester>(cause))}},
                    {"mode", std::string{mode_word(mode)}},
                    {"result", failed == 0 ? "succeeded" : "failed"}};
                metric.counter.value = static_cast<double>(number);
                out.metric.push_back(std::move(metric));
            }
        }
    }
    return out;
}

void add_causes(const ClusterFacts& facts, std::vector<MetricFamily>& out) {
    out.push_back(launcher_ends(facts.launcher_ends));
    out.push_back(migrations(facts.migrations));
    out.push_back(family("virt_scout_policy_choices_total",
                         "Migrations handed off while this process led, by whether KubeVirt chose "
                         "the policy that the rule known here gives.",
                         MetricType::Counter,
                         {{"result", "same", facts.policies.same},
                          {"result", "differs", facts.policies.differs},
                          {"result", "unclear", facts.policies.unclear}}));
    out.push_back(
        family("virt_scout_move_landings_total",
               "Migrations that asked for certain nodes and ended while this process led, "
               "by whether they led to one.",
               MetricType::Counter,
               {{"result", "as-asked", facts.landings.as_asked},
                {"result", "elsewhere", facts.landings.elsewhere},
                {"result", "unclear", facts.landings.unclear}}));
    out.push_back(counter("virt_scout_migration_causes_unwritten_total",
                          "Migrations on which who wanted them could not be written.",
                          facts.causes_unwritten));
    out.push_back(gauge("virt_scout_history_entries",
                        "Launchers and migrations of which it is kept what became of them.",
                        facts.history_entries));
    out.push_back(gauge("virt_scout_history_bytes", "What that takes.", facts.history_bytes));
}

void add_relief(const ReliefCounters& relief, std::vector<MetricFamily>& out) {
    std::vector<Sample> results;
    results.reserve(relief.results.size());
    for (std::size_t i = 0; i < relief.results.size(); ++i) {
        results.push_back(
            {"result", std::string{to_string(static_cast<ReliefResult>(i))}, relief.results.at(i)});
    }
    out.push_back(family("virt_scout_relief_moves_total",
                         "Moves of VMs away from nodes that were expected to run short, by what "
                         "came of making them.",
                         MetricType::Counter, results));
    std::vector<Sample> held;
    held.reserve(relief.held.size());
    for (std::size_t i = 0; i < relief.held.size(); ++i) {
        held.push_back({"reason", std::string{to_string(static_cast<migration::ReliefHold>(i))},
                        relief.held.at(i)});
    }
    out.push_back(family("virt_scout_relief_held",
                         "Nodes that need relief, and VMs of them, that nothing is done for now.",
                         MetricType::Gauge, held));
    out.push_back(gauge("virt_scout_relief_pressed_nodes",
                        "Nodes to which nothing is moved, while one is expected to run short.",
                        relief.pressed));
}

void add_protection(const std::optional<ProtectionCount::Counts>& counts,
                    std::vector<MetricFamily>& out) {
    using migration::ProtectionVerdict;
    if (!counts) {
        return;
    }
    std::vector<Sample> reasons;
    for (std::size_t i = 0; i < counts->size(); ++i) {
        const auto verdict = static_cast<ProtectionVerdict>(i);
        if (verdict != ProtectionVerdict::guarded) {
            reasons.push_back({"reason", std::string{to_string(verdict)}, counts->at(i)});
        }
    }
    out.push_back(family("virt_scout_unprotected_vms",
                         "VMs that would not be moved if their node told their launchers to stop.",
                         MetricType::Gauge, reasons));
    out.push_back(gauge("virt_scout_protected_vms", "VMs that would be moved then.",
                        counts->at(static_cast<std::size_t>(ProtectionVerdict::guarded))));
}

void add_events(const kube::EventRecorderCounters& events, std::vector<MetricFamily>& out) {
    out.push_back(family("virt_scout_events_total", "Events about objects, by what came of them.",
                         MetricType::Counter,
                         {{"result", "written", events.written},
                          {"result", "failed", events.failed},
                          {"result", "dropped", events.dropped}}));
}

MetricFamily followed(const ClusterFacts& facts) {
    std::vector<Sample> samples;
    samples.reserve(facts.kinds.size());
    for (const auto& [plural, trouble] : facts.kinds) {
        samples.push_back({"kind", plural, trouble.empty() ? 1U : 0U});
    }
    return family("virt_scout_cluster_kind_followed",
                  "1 while nothing keeps us from following the objects of a kind.",
                  MetricType::Gauge, samples);
}

void add_nodes(const ClusterFacts& facts, std::vector<MetricFamily>& out) {
    out.push_back(gauge("virt_scout_cluster_nodes", "Nodes of the cluster.", facts.nodes));
    out.push_back(gauge("virt_scout_cluster_nodes_by_profile",
                        "Nodes that are known by the CPUProfile that they name.",
                        facts.nodes_by_profile));
    out.push_back(gauge("virt_scout_cluster_nodes_profile_unused",
                        "Nodes that name a CPUProfile which is not there, or not as their labels.",
                        facts.nodes_profile_unused));
    out.push_back(family("virt_scout_cpu_profile_writes_total",
                         "Writes of CPUProfile objects, by what came of them.", MetricType::Counter,
                         {{"result", "made", facts.profiles.made},
                          {"result", "removed", facts.profiles.removed},
                          {"result", "failed", facts.profiles.failed}}));
    out.push_back(gauge("virt_scout_level_labels_out_of_step",
                        "Nodes whose level label, or profile annotation, is not what it should be.",
                        facts.labels_out_of_step));
    out.push_back(family(
        "virt_scout_level_label_writes_total", "Level labels written.", MetricType::Counter,
        {{"result", "accepted", facts.labels_written}, {"result", "failed", facts.labels_failed}}));
}

void add_certificates(const ClusterFacts& facts, std::vector<MetricFamily>& out) {
    out.push_back(counter("virt_scout_agent_certificates_total",
                          "Certificates that were signed for agents.", facts.agents_certified));
    const auto seconds = [](WallTime time) {
        return static_cast<std::uint64_t>(
            std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
    };
    if (facts.serving.serving_until) {
        out.push_back(gauge("virt_scout_serving_certificate_expires_seconds",
                            "When the certificate that is served ends, in Unix time.",
                            seconds(*facts.serving.serving_until)));
    }
    if (facts.serving.authority_until) {
        out.push_back(gauge("virt_scout_authority_expires_seconds",
                            "When our certificate authority ends, in Unix time.",
                            seconds(*facts.serving.authority_until)));
    }
}

void add_cluster(const ClusterFacts& facts, std::vector<MetricFamily>& out) {
    out.push_back(gauge("virt_scout_leader", "1 while this process leads.", facts.leads ? 1 : 0));
    out.push_back(gauge("virt_scout_cluster_synced",
                        "1 once the cluster's objects have been listed.", facts.synced ? 1 : 0));
    out.push_back(followed(facts));
    add_nodes(facts, out);
    add_events(facts.events, out);
    add_https(facts, out);
    add_evacuations(facts, out);
    add_relief(facts.relief, out);
    add_causes(facts, out);
    add_protection(facts.protection, out);
    add_certificates(facts, out);
}

}  // namespace

MetricFacts facts_of(const Fleet& fleet) {
    MetricFacts facts;
    for (const auto& [name, node] : fleet.registry().nodes()) {
        switch (node.freshness) {
            case Freshness::fresh:
                ++facts.fresh;
                break;
            case Freshness::stale:
                ++facts.stale;
                break;
            case Freshness::gone:
                ++facts.gone;
                break;
        }
    }
    facts.guests = fleet.registry().guests();
    facts.profiles = fleet.registry().profiles();
    facts.classes = fleet.matrix().matrix().classes();
    return facts;
}

std::vector<MetricFamily> FleetMetrics::Collect() const {
    const auto facts = ask_();
    std::vector<MetricFamily> families{
        family("virt_scout_nodes", "Nodes by how long ago they were heard of.", MetricType::Gauge,
               {{"freshness", "fresh", facts.fresh},
                {"freshness", "stale", facts.stale},
                {"freshness", "gone", facts.gone}}),
        gauge("virt_scout_guests", "Guests on all nodes.", facts.guests),
        gauge("virt_scout_profiles", "Different CPU profiles.", facts.profiles),
        gauge("virt_scout_matrix_classes", "Classes of equal nodes in the matrix.", facts.classes),
        gauge("virt_scout_agent_streams", "Agents that are connected.", facts.agent_streams),
        gauge("virt_scout_watchers", "Watch streams that are open.", facts.watchers),
        counter("virt_scout_watchers_too_slow_total", "Watchers ended for not keeping up.",
                facts.watchers_too_slow),
        family("virt_scout_reports_total", "Messages of agents.", MetricType::Counter,
               {{"kind", "full", facts.reports.full},
                {"kind", "delta", facts.reports.deltas},
                {"kind", "heartbeat", facts.reports.heartbeats},
                {"kind", "profile", facts.reports.profiles},
                {"kind", "pressure", facts.reports.pressures}}),
        counter("virt_scout_report_gaps_total", "Gaps in the sequence of an agent's messages.",
                facts.reports.gaps),
        counter("virt_scout_reports_refused_total", "Agent streams that were refused.",
                facts.reports.refused),
        counter("virt_scout_snapshots_written_total", "Snapshots written.",
                facts.snapshots.written),
        counter("virt_scout_snapshots_failed_total", "Snapshots that could not be written.",
                facts.snapshots.failed),
        gauge("virt_scout_snapshot_bytes", "Size of the last snapshot.", facts.snapshots.bytes),
    };
    if (facts.cluster) {
        add_cluster(*facts.cluster, families);
    }
    return families;
}

}  // namespace scout::aggregator
