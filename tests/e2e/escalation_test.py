#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Moves that would not end in time by their policies, and are let use more: real control plane, and KubeVirt as the
stand-in plays it, which chooses policies as KubeVirt does.

usage: escalation_test.py BIN LAUNCHERS BED [unittest options]
environment: SCOUT_BED, if given, is the bed; SCOUT_TEST_DATA has KubeVirt's definitions
"""

from stories import LONGER_THAN_ANY, RESERVE, TAKES, StoryTest, TwoReplicasTest, run_stories, seconds_between

POLICIES = "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies"
WRITES = "standin.virt-scout.io/dirty-mib-per-second"
SCOUT_CONFIG = "/apis/virt-scout.io/v1alpha1/scoutconfigs/default"


class FastGuests:
    """Guests that write faster than any link copies, and policies."""

    def fast_vm(self, **more):
        return self.vm(**{WRITES: "100000", TAKES: LONGER_THAN_ANY, **more})

    def policy(self, name, **fields):
        made = self.api.make(POLICIES, {
            "apiVersion": "migrations.kubevirt.io/v1alpha1", "kind": "MigrationPolicy", "metadata": {"name": name},
            "spec": fields | {"selectors": {"namespaceSelector": {"kubernetes.io/metadata.name": self.space}}}})
        self.addCleanup(self.api.call, "DELETE", f"{POLICIES}/{name}")
        return made["spec"]

    def policies_of_moves(self):
        return [one for one in self.api.get(POLICIES)["items"] if one["metadata"]["name"].startswith("virt-scout-move-")]


class EscalationTest(FastGuests, StoryTest):
    config = {"evacuation": {"mode": "act", "reserveSeconds": RESERVE, "escalation": "pause"}}

    def test_01_its_move_has_a_policy_of_its_own_and_ends_in_time(self):
        self.policy("ordinary", bandwidthPerMigration="64Mi")
        self.fast_vm()
        self.tell("mark")
        end = self.end_of()
        self.assertEqual(end["event"], "moved", end)
        self.assertLess(seconds_between(self.told("vm", "mark")[0], end), 45 - RESERVE)
        state = self.read()["status"]["migrationState"]
        self.assertTrue(state["migrationPolicyName"].startswith("virt-scout-move-"), state)
        self.assertTrue(state["migrationConfiguration"]["allowWorkloadDisruption"])
        self.assertEqual(state["migrationConfiguration"]["bandwidthPerMigration"], "64Mi", "the rest is that in force")
        self.until(lambda: not self.policies_of_moves())
        self.assertNotIn("migrationPolicyName", self.read()["spec"])

    def test_02_a_policy_that_forbids_it_counts(self):
        self.policy("strict", allowWorkloadDisruption=False)
        self.fast_vm()
        self.tell("mark")
        end = self.end_of()
        self.assertEqual(end["event"], "guest-stopped", end)
        self.assertEqual(self.policies_of_moves(), [])

    def test_03_without_it_the_guest_has_its_time_to_shut_down(self):
        self.api.merge(SCOUT_CONFIG, {"spec": {"evacuation": {"escalation": "none"}}})
        generation = self.api.get(SCOUT_CONFIG)["metadata"]["generation"]
        self.until(lambda: self.api.get(SCOUT_CONFIG)["status"].get("observedGeneration") == generation)
        self.fast_vm()
        self.tell("mark")
        self.assertEqual(self.end_of()["event"], "guest-stopped")
        self.assertEqual(self.policies_of_moves(), [])
        self.assertEqual(self.moves(), [])


class PostCopyTest(FastGuests, TwoReplicasTest):
    config = {"evacuation": {"mode": "act", "reserveSeconds": RESERVE, "escalation": "post-copy"}}

    def labels_of(self, selectors):
        return {(kind, key, value) for kind, labels in selectors.items() for key, value in labels.items()}

    def begun(self):
        """The policy of its move, at a moment when that is not handed off yet."""
        self.until(self.policies_of_moves)
        policy = self.policies_of_moves()[0]
        self.assertNotIn("migrationUid", self.read()["status"].get("migrationState", {}))
        self.assertEqual(policy["metadata"]["name"], "virt-scout-move-" + self.read()["metadata"]["uid"])
        return policy

    def test_1_its_policy_is_a_copy_that_outranks_the_one_in_force(self):
        ordinary = self.policy("ordinary", allowAutoConverge=True, bandwidthPerMigration="64Mi", completionTimeoutPerGiB=900,
                               experimental={"compression": "zstd", "stallDetector": {"stallMargin": 7}})
        self.fast_vm()
        self.tell("mark")
        spec = self.begun()["spec"]
        self.assertEqual({**spec, **{key: ordinary[key] for key in ("selectors", "completionTimeoutPerGiB")}},
                         {**ordinary, "allowPostCopy": True, "allowWorkloadDisruption": True})
        self.assertLess(spec["completionTimeoutPerGiB"], 60)
        self.assertGreater(self.labels_of(spec["selectors"]), self.labels_of(ordinary["selectors"]), "all and more")
        end = self.end_of()
        self.assertEqual(end["event"], "moved", end)
        state = self.read()["status"]["migrationState"]
        self.assertTrue(state["migrationPolicyName"].startswith("virt-scout-move-"), state)
        self.assertTrue(state["migrationConfiguration"]["allowPostCopy"])
        self.assertEqual(self.told("vm", "acpi"), [])
        self.until(lambda: not self.policies_of_moves())

    def test_2_the_leader_that_made_it_is_killed_and_another_one_removes_it(self):
        self.policy("ordinary", bandwidthPerMigration="64Mi")
        self.fast_vm(grace=60)
        self.tell("mark")
        self.begun()
        before = self.leader()
        self.kill_leader()
        self.assertEqual(self.end_of()["event"], "moved")
        self.assertEqual(len(self.moves()), 1)
        self.until(lambda: self.leader() not in ("", before))
        self.until(lambda: not self.policies_of_moves())


if __name__ == "__main__":
    run_stories(__doc__)
