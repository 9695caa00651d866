// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/open_fleet.h"

namespace scout::cli::test {

/// Answers what the test has put there, and remembers the last question.
class FakeFleet : public Fleet {
public:
    Result<NodesAnswer> nodes() override { return answer(nodes_answer); }
    Result<NodeDetail> node(const std::string& name) override {
        asked = name;
        return answer(node_answer);
    }
    Result<GuestsAnswer> guests(const std::string& node) override {
        asked = node;
        return answer(guests_answer);
    }
    Status watch_guests(const std::string& node, const GuestSink& sink) override {
        asked = node;
        for (const auto& event : events) {
            if (!sink(event)) {
                return {};
            }
        }
        return fail(Errc::unavailable, "the watching ended");
    }
    Result<migration::Placement> where(const FleetSubject& subject,
                                       const std::string& target) override {
        asked = target;
        asked_subject = subject;
        return answer(placement);
    }
    Result<AnyMatrix> matrix() override { return answer(matrix_answer); }
    Result<migration::Baseline> baseline(const std::vector<std::string>& names) override {
        asked_nodes = names;
        return answer(baseline_answer);
    }
    Result<migration::UpgradeImpact> upgrade_impact(const std::string& node) override {
        asked = node;
        return answer(impact);
    }

    Result<ProtectionListing> protection(const fleet::ProtectionQuestion& question) override {
        asked = question.node;
        asked_vms = question.vms;
        return answer(protection_answer);
    }

    Result<PressureListing> pressure(const std::vector<std::string>& nodes) override {
        asked_nodes = nodes;
        return answer(pressure_answer);
    }

    Result<cluster::CauseStory> why(const std::string& name) override {
        asked = name;
        return answer(story);
    }

    cluster::CauseStory story;
    NodesAnswer nodes_answer;
    NodeDetail node_answer;
    GuestsAnswer guests_answer;
    MatrixAnswer matrix_answer;
    migration::Placement placement;
    migration::Baseline baseline_answer;
    migration::UpgradeImpact impact;
    ProtectionListing protection_answer;
    PressureListing pressure_answer;
    std::vector<GuestEvent> events;
    std::optional<Error> down;

    std::string asked;
    std::vector<std::string> asked_nodes;
    std::vector<std::string> asked_vms;
    FleetSubject asked_subject;

private:
    template <class Answer>
    Result<Answer> answer(const Answer& value) const {
        if (down) {
            return fail(*down);
        }
        return value;
    }
};

/// Hands its calls to a fake that the test keeps.
class BorrowedFleet final : public Fleet {
public:
    explicit BorrowedFleet(FakeFleet& fleet) : fleet_(fleet) {}
    Result<NodesAnswer> nodes() override { return fleet_.nodes(); }
    Result<NodeDetail> node(const std::string& name) override { return fleet_.node(name); }
    Result<GuestsAnswer> guests(const std::string& node) override { return fleet_.guests(node); }
    Status watch_guests(const std::string& node, const GuestSink& sink) override {
        return fleet_.watch_guests(node, sink);
    }
    Result<migration::Placement> where(const FleetSubject& subject,
                                       const std::string& target) override {
        return fleet_.where(subject, target);
    }
    Result<AnyMatrix> matrix() override { return fleet_.matrix(); }
    Result<migration::Baseline> baseline(const std::vector<std::string>& names) override {
        return fleet_.baseline(names);
    }
    Result<migration::UpgradeImpact> upgrade_impact(const std::string& node) override {
        return fleet_.upgrade_impact(node);
    }
    Result<cluster::CauseStory> why(const std::string& name) override { return fleet_.why(name); }

    Result<ProtectionListing> protection(const fleet::ProtectionQuestion& question) override {
        return fleet_.protection(question);
    }
    Result<PressureListing> pressure(const std::vector<std::string>& nodes) override {
        return fleet_.pressure(nodes);
    }

private:
    FakeFleet& fleet_;
};

}  // namespace scout::cli::test
