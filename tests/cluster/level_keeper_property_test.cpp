// SPDX-License-Identifier: Apache-2.0
// LevelKeeper after any sequence of changes: against a table of who can go where and a count of its
// own, and against judge_levels() of all nodes at once.
#include <algorithm>
#include <array>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "cluster/level_keeper.h"
#include "cluster/node_profile.h"
#include "migration/label_profile.h"
#include "migration/matrix.h"
#include "tests/cluster/node_objects.h"
#include "tests/support/profiles.h"

namespace scout::cluster {
namespace {

using migration::Labels;
using migration::Layer;
using migration::Verdict;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int operations = 100'000;
constexpr std::size_t most_nodes = 30;

Labels with(Labels labels, const char* key, const char* value = "true") {
    labels[key] = value;
    return labels;
}

Labels without(Labels labels, const char* key) {
    labels.erase(key);
    return labels;
}

/// Labels of every sort of node that the rules tell apart.
std::vector<Labels> all_kinds() {
    const auto large = test::plain_labels("Large");
    const auto small = test::plain_labels("Small");
    const auto asking = with(large, "host-model-required-features.node.kubevirt.io/avx");
    return {
        large,
        small,
        asking,
        with(small, "host-model-required-features.node.kubevirt.io/vmx-ept"),
        with(asking, "cpu-timer.node.kubevirt.io/tsc-frequency", "2000000000"),
        without(small, "cpu-model-migration.node.kubevirt.io/Large"),
        without(large, "machine-type.node.kubevirt.io/q35"),
        with(without(large, "cpu-vendor.node.kubevirt.io/Intel"),
             "cpu-vendor.node.kubevirt.io/AMD"),
        with(large, "cpu-vendor.node.kubevirt.io/Stale"),
        with(small, "kubevirt.io/schedulable", "false"),
        with(large, "node-labeller.kubevirt.io/obsolete-host-model"),
        with(large, "host-model-cpu.node.kubevirt.io/Small"),
        without(small, "host-model-cpu.node.kubevirt.io/Small"),
        with(with(small, "kubernetes.io/arch", "s390x"),
             "machine-type.node.kubevirt.io/s390-ccw-virtio"),
        with(with(small, "kubernetes.io/arch", "s390x"), "cpu-model.node.kubevirt.io/Small"),
        without(small, "kubernetes.io/arch"),
        {{"kubernetes.io/arch", "amd64"}},
    };
}

/// Profiles that nodes may name. The labels of some kinds fit them; those of others do not.
std::vector<migration::Profile> all_profiles() {
    return {scout::test::host({.model = "Large"}),
            scout::test::host({.model = "Large", .disable = {"avx"}}),
            scout::test::host({.model = "Small"}),
            scout::test::host({.model = "Small", .vendor = "AMD"})};
}

/// A kind of labels and the profile that is used beside them; none: the labels alone.
struct Sort {
    std::size_t kind = 0;
    std::optional<std::size_t> profile;

    auto operator<=>(const Sort&) const = default;
};

/// Who can go where, asked of compare() once.
class Table {
public:
    Table(const migration::CpuMap& map, Layer layer)
        : kinds(all_kinds()), profiles(all_profiles()) {
        const migration::HostFacts facts;
        std::map<Sort, migration::Profile> sorts;
        for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
            const auto stock = migration::stock_node(kinds[kind]);
            sorts[{kind, std::nullopt}] = migration::label_profile(stock, &map);
            for (std::size_t profile = 0; profile < profiles.size(); ++profile) {
                sorts[{kind, profile}] = profiles[profile];
            }
            counts_.push_back(stock.schedulable && !stock.obsolete_host_model &&
                              stock.host_models.size() == 1);
        }
        for (const auto& [from, own] : sorts) {
            const auto stock = migration::stock_node(kinds[from.kind]);
            const auto guest =
                migration::stock_host_model_guest(stock, default_machine({}, stock.arch));
            const auto cpu = migration::host_model_guest(own);
            for (const auto& [to, profile] : sorts) {
                const auto answer = migration::compare(cpu, guest,
                                                       {.profile = profile,
                                                        .facts = facts,
                                                        .labels = kinds[to.kind],
                                                        .labels_derived = false},
                                                       &map);
                const auto verdict = layer == Layer::stock ? answer.gate : answer.verdict;
                can_[{from, to}] = same_arch(from.kind, to.kind) && verdict == Verdict::can;
            }
        }
    }
    [[nodiscard]] bool can(Sort from, Sort to) const { return can_.at({from, to}); }
    /// Whether the profile is one of a node with these labels.
    [[nodiscard]] bool fit(std::size_t kind, std::size_t profile) const {
        const auto& labels = kinds[kind];
        const auto& [model, vendor] =
            std::pair{profiles[profile].host_model->name, profiles[profile].vendor};
        const auto models = std::count_if(labels.begin(), labels.end(), [](const auto& entry) {
            return entry.first.starts_with("host-model-cpu.node.kubevirt.io/");
        });
        const auto arch = labels.find("kubernetes.io/arch");
        return models == 1 && labels.contains("host-model-cpu.node.kubevirt.io/" + model) &&
               labels.contains("cpu-vendor.node.kubevirt.io/" + vendor) && arch != labels.end() &&
               arch->second == "amd64";
    }
    [[nodiscard]] bool counts(std::size_t kind) const { return counts_[kind]; }
    [[nodiscard]] bool same_arch(std::size_t a, std::size_t b) const {
        const auto arch = [this](std::size_t kind) {
            const auto found = kinds[kind].find("kubernetes.io/arch");
            return found == kinds[kind].end() ? std::string{} : found->second;
        };
        return arch(a) == arch(b);
    }

    std::vector<Labels> kinds;
    std::vector<migration::Profile> profiles;

private:
    std::map<std::pair<Sort, Sort>, bool> can_;
    std::vector<bool> counts_;
};

/// A node as the test knows it.
struct Known {
    std::size_t kind = 0;
    std::optional<std::size_t> profile;  ///< that it names
    std::optional<std::string> carried;
    std::optional<WallTime> cordoned;
    bool tainted = false;  ///< the control plane has said since when it is cordoned
    std::optional<WallTime> not_ready;

    [[nodiscard]] kube::Node object(const std::string& name, const Table& table,
                                    bool taint_all = false) const {
        auto labels = table.kinds[kind];
        if (carried) {
            labels[std::string{level_label}] = *carried;
        }
        auto node = test::node_object(name, labels);
        if (profile) {
            node.annotations =
                kube::Labels{{profile_annotation, profile_name(table.profiles[*profile])}};
        }
        if (cordoned) {
            test::cordon(node, tainted || taint_all ? cordoned : std::nullopt);
        }
        if (not_ready) {
            test::set_ready(node, "Unknown", *not_ready);
        }
        return node;
    }
    [[nodiscard]] bool counted(const Table& table, WallTime now) const {
        return table.counts(kind) && (!cordoned || now - *cordoned < minutes{10}) &&
               (!not_ready || now - *not_ready < minutes{5});
    }
};

class Fleet {
public:
    Fleet(const Table& table, const migration::CpuMap& map, Layer layer)
        : table_(table), options_{.layer = layer, .map = &map}, keeper_(options_, {}) {}

    void step() {
        const auto what = pick(20);
        if (pick(15) == 0) {
            make_or_remove_profile();
        } else if (nodes_.empty() || (what < 3 && nodes_.size() < most_nodes)) {
            add();
        } else if (what == 3) {
            const auto name = some()->first;
            nodes_.erase(name);
            told_.erase(name);
            keeper_.remove(name);
        } else if (what < 7) {
            pass();
        } else {
            const auto node = some();
            change(node->second, what);
            put(*node);
        }
    }

    void check() {
        for (const auto& change : keeper_.take_changes()) {
            told_[change.name] = change.label;
        }
        for (const auto& [name, node] : nodes_) {
            const LevelLabel expected{expected_level(node), node.carried};
            const auto found = keeper_.find(name);
            ASSERT_TRUE(found && *found == expected) << name << " of kind " << node.kind;
            const auto told = told_.find(name);
            if (told != told_.end()) {
                ASSERT_EQ(told->second.in_step(), expected.in_step()) << name;
                ASSERT_TRUE(expected.in_step() || told->second == expected) << name;
            } else {
                ASSERT_TRUE(expected.in_step()) << name << " was never told";
            }
        }
    }

    void check_against_all_at_once() const {
        Objects objects;
        for (const auto& [name, node] : nodes_) {
            objects.nodes.push_back(node.object(name, table_, true));
        }
        for (const auto& [name, profile] : profiles_) {
            objects.profiles.push_back(profile);
        }
        for (const auto& node : judge_levels(objects, now_, options_).nodes) {
            const auto found = keeper_.find(node.name);
            ASSERT_TRUE(found);
            ASSERT_EQ(found->level, node.level) << node.name;
        }
    }

private:
    using Nodes = std::map<std::string, Known>;

    std::size_t pick(std::size_t below) { return random_() % below; }
    Nodes::iterator some() {
        return std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(pick(nodes_.size())));
    }
    void put(const Nodes::value_type& node) {
        const auto object = node.second.object(node.first, table_);
        const auto named = profiles_.find(named_profile(object));
        keeper_.put(object, now_, named == profiles_.end() ? nullptr : &named->second);
    }
    /// The object comes or goes, and nodes that name it are looked at again.
    void make_or_remove_profile() {
        const auto which = pick(table_.profiles.size());
        CpuProfile profile;
        profile.profile = table_.profiles[which];
        profile.meta.name = profile_name(profile.profile);
        const auto [place, fresh] = profiles_.try_emplace(profile.meta.name, profile);
        if (!fresh) {
            profiles_.erase(place);
        }
        for (const auto& node : nodes_) {
            if (node.second.profile == which) {
                put(node);
            }
        }
    }
    [[nodiscard]] Sort sort_of(const Known& node) const {
        const bool used = node.profile && table_.fit(node.kind, *node.profile) &&
                          profiles_.contains(profile_name(table_.profiles[*node.profile]));
        return {node.kind, used ? node.profile : std::nullopt};
    }
    void add() {
        const auto [place, fresh] = nodes_.try_emplace("n" + std::to_string(pick(1000)));
        if (!fresh) {
            return;
        }
        place->second.kind = pick(table_.kinds.size());
        if (pick(4) == 0) {
            place->second.cordoned = now_ - minutes{pick(15)};
            place->second.tainted = true;
        }
        put(*place);
    }
    void pass() {
        now_ += seconds{pick(240)};
        if (const auto next = keeper_.next(); next && *next <= now_) {
            keeper_.pass(now_);
        }
    }
    void change(Known& node, std::size_t what) {
        if (what < 9) {
            node.kind = pick(table_.kinds.size());
        } else if (what == 9) {
            node.profile =
                pick(5) == 0 ? std::nullopt : std::optional{pick(table_.profiles.size())};
        } else if (what < 13) {
            cordon_or_not(node);
        } else if (what < 15) {
            node.not_ready = node.not_ready ? std::nullopt : std::optional{now_};
        } else if (what < 18) {
            const auto level = expected_level(node);  // as the writer of labels does
            node.carried = level ? std::optional{std::to_string(*level)} : std::nullopt;
        } else if (what == 18) {
            node.carried = pick(2) == 0 ? std::optional<std::string>{"50"} : std::nullopt;
        }  // else a heartbeat
    }
    void cordon_or_not(Known& node) {
        if (node.cordoned && !node.tainted) {
            node.tainted = true;
        } else if (node.cordoned) {
            node.cordoned.reset();
            node.tainted = false;
        } else {
            node.cordoned = now_;
            node.tainted = pick(4) != 0;
        }
    }
    [[nodiscard]] std::optional<unsigned> expected_level(const Known& from) const {
        if (!from.counted(table_, now_)) {
            return std::nullopt;
        }
        unsigned counted = 0;
        unsigned destinations = 0;
        for (const auto& [name, to] : nodes_) {
            if (!to.counted(table_, now_) || !table_.same_arch(from.kind, to.kind)) {
                continue;
            }
            ++counted;
            destinations += &to != &from && table_.can(sort_of(from), sort_of(to)) ? 1U : 0U;
        }
        return counted < 2 ? 0 : 100 * destinations / (counted - 1);
    }

    const Table& table_;
    LevelOptions options_;
    LevelKeeper keeper_;
    Nodes nodes_;
    std::map<std::string, CpuProfile, std::less<>> profiles_;  ///< objects that are there
    std::map<std::string, LevelLabel> told_;
    WallTime now_{std::chrono::hours{500'000}};
    std::mt19937 random_{42};
};

class LevelKeeperPropertyTest : public ::testing::TestWithParam<Layer> {};

TEST_P(LevelKeeperPropertyTest, EqualsAFullRecomputationAfterAnySequence) {
    const auto map = scout::test::small_map();
    const Table table(map, GetParam());
    Fleet fleet(table, map, GetParam());
    for (int i = 0; i < operations / 2; ++i) {
        fleet.step();
        if (i % 25 == 0) {
            ASSERT_NO_FATAL_FAILURE(fleet.check()) << "operation " << i;
        }
        if (i % 1000 == 0) {
            ASSERT_NO_FATAL_FAILURE(fleet.check_against_all_at_once()) << "operation " << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Layers, LevelKeeperPropertyTest,
                         testing::Values(Layer::stock, Layer::truth), [](const auto& param_info) {
                             return std::string{migration::to_string(param_info.param)};
                         });

}  // namespace
}  // namespace scout::cluster
