#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""VMs are moved before their nodes kill them: real control plane, aggregators and agents, and KubeVirt as the
stand-in plays it, whose account of what happened is what is checked.

usage: evacuation_test.py BIN LAUNCHERS BED [unittest options]
environment: SCOUT_BED, if given, is the bed; SCOUT_TEST_DATA has KubeVirt's definitions
"""

import signal
import time

import cluster
from cluster import moves, vmis
from stories import FAILS, LONGER_THAN_ANY, RESERVE, TAKES, StoryTest, TwoReplicasTest, run_stories, seconds_between

MOST_CALLS, MOST_CALLS_IN_VAIN = 8, 12


class EvacuationTest(StoryTest):
    """One VM after another on the same three nodes."""

    def test_01_the_whole_chain(self):
        self.vm()
        self.tell("mark")
        self.assertEqual(self.end_of()["event"], "moved")
        story = self.told("vm", "mark", "hook", "evacuation-marked", "evacuation-created", "move-started", "moved", "acpi")
        names = [one["event"] for one in story]
        order = ["mark", "hook", "evacuation-marked", "evacuation-created", "move-started", "moved"]
        self.assertEqual(sorted(order, key=names.index), order)
        self.assertNotIn("acpi", names)
        self.assertEqual({one["answer"] for one in story if one["event"] == "hook"}, {"veto"})
        self.assertTrue(story[names.index("evacuation-marked")]["by"].startswith(cluster.OURS))
        self.until(lambda: self.moves()[0].get("status", {}).get("phase") == "Succeeded")
        self.assertEqual(len(self.moves()), 1)
        self.assertNotIn("evacuationNodeName", self.read()["status"])
        calls = self.our_calls()
        self.assertEqual(calls.count("create pods/eviction"), 2, "a dry run and the eviction")
        self.assertIn("get virtualmachineinstances", calls)
        self.assertLess(calls.index("get virtualmachineinstances"), calls.index("create pods/eviction"))
        time.sleep(2)
        print("calls of ours:", self.our_calls())
        self.assertLessEqual(len(self.our_calls()), MOST_CALLS)
        # The one patch is the stamp, tried once in a leader's life and undone here; a touch would lengthen the back-off.
        self.assertLessEqual(self.our_calls().count("patch virtualmachineinstances"), 1)
        self.assertNotIn("virt-scout.io/released", self.read()["metadata"].get("annotations", {}))

    def test_02_a_vm_that_cannot_be_moved_in_time_gets_all_of_it(self):
        self.vm(memory="4Ti")
        self.tell("mark")
        self.expect_stop_let_go()
        self.expect_no_request()
        self.assertLessEqual(len(self.our_calls()), MOST_CALLS_IN_VAIN)

    def test_03_an_owners_delete_is_never_held(self):
        self.vm()
        code, _ = self.api.call("DELETE", vmis(self.space, "vm"))
        self.assertEqual(code, 200)
        self.assertEqual(self.end_of()["event"], "guest-stopped")
        self.assertNotIn("veto", {one["answer"] for one in self.told("vm", "hook")})
        self.until(lambda: self.read() is None)
        self.expect_no_request()

    def test_04_external_is_marked_and_moved_by_nobody(self):
        self.vm(strategy="External", grace=3)
        self.tell("mark")
        self.event("vm", "evacuation-marked")
        self.assertEqual(self.moves(), [])
        self.assertEqual(self.end_of()["event"], "guest-stopped")
        self.assertGreater(seconds_between(self.told("vm", "mark")[0], self.told("vm", "acpi")[0]), 5)
        self.assertEqual(self.moves(), [])

    def test_05_strategy_none(self):
        self.vm(strategy="None")
        self.tell("mark")
        self.expect_stop_let_go()
        self.expect_no_request()

    def test_06_not_migratable(self):
        for strategy in ("LiveMigrate", "LiveMigrateIfPossible"):
            name = strategy.lower()
            self.vm(name, strategy, "False")
            self.tell("mark", name)
            self.expect_stop_let_go(name)
        self.expect_no_request()

    def test_07_a_move_that_does_not_end_is_cancelled_in_time(self):
        self.vm(grace=8, **{TAKES: LONGER_THAN_ANY})
        self.tell("mark")
        self.event("vm", "move-started")
        self.assertEqual(self.end_of()["event"], "guest-stopped")
        marked, pressed = self.told("vm", "mark")[0], self.told("vm", "acpi")[0]
        # The launcher kills at grace + 15 s; the reserve comes off that.
        self.assertLess(seconds_between(marked, pressed), 8 + 15 - RESERVE + 1)
        self.assertEqual(len(self.told("vm", "evacuation-cancelled")), 1)
        cancelled, failed = self.told("vm", "evacuation-cancelled")[0], self.told("vm", "move-failed")[0]
        self.assertLess(cancelled["time"], failed["time"])
        self.until(lambda: not self.moves())
        self.assertEqual(len(self.told("vm", "evacuation-created")), 1)
        print("calls of ours in vain:", self.our_calls())
        self.assertLessEqual(len(self.our_calls()), MOST_CALLS_IN_VAIN)

    def test_08_a_migration_that_somebody_else_began(self):
        self.vm(**{TAKES: "4"})
        self.api.make(moves(self.space), {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
            "metadata": {"generateName": "by-hand-"}, "spec": {"vmiName": "vm"}})
        self.event("vm", "move-started")
        self.tell("mark")
        self.assertEqual(self.end_of()["event"], "moved")
        self.assertEqual(len(self.moves()), 1)
        self.assertEqual(self.told("vm", "acpi", "evacuation-marked"), [])

    def test_09_a_launcher_that_dies_is_nobodys_to_hold(self):
        self.vm(**{TAKES: "5"})
        self.tell("mark")
        self.event("vm", "move-started")
        self.tell("kill")
        self.until(lambda: self.read()["status"]["phase"] == "Failed")
        time.sleep(2)
        self.assertEqual(len(self.told("vm", "evacuation-marked")), 1)

    # KubeVirt waits 20 s after a failure: too late for this one. Ours waits for nothing.
    def test_10_a_failed_move_is_followed_by_ours_and_by_the_end(self):
        self.vm(grace=8, **{FAILS: "run", TAKES: "0.5"})
        self.tell("mark")
        self.assertEqual(self.end_of()["event"], "guest-stopped")
        self.assertLess(seconds_between(self.told("vm", "mark")[0], self.told("vm", "acpi")[0]), 8 + 15 - RESERVE + 1)
        self.assertEqual(len(self.told("vm", "evacuation-cancelled")), 1)
        self.assertEqual([one for one in self.our_calls() if one.startswith("create virtual")][:1],
                         ["create virtualmachineinstancemigrations"])
        self.until(lambda: not [one for one in self.moves() if one.get("status", {}).get("phase") != "Failed"])

    # The mark of the one that failed stays, and KubeVirt's next one waits in Pending.
    def test_10b_a_mark_after_an_evacuation_that_failed(self):
        self.vm(grace=8, **{FAILS: "run", TAKES: "0.5"})
        pods = f"/api/v1/namespaces/{self.space}/pods"
        launcher = self.api.get(pods)["items"][0]["metadata"]["name"]
        code, _ = self.api.call("POST", f"{pods}/{launcher}/eviction", {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": launcher, "namespace": self.space}})
        self.assertEqual(code, 429)
        self.until(lambda: [one for one in self.moves() if one.get("status", {}).get("phase") == "Failed"])
        code, _ = self.api.call("PATCH", vmis(self.space, "vm"), {"metadata": {"annotations": {FAILS: None}}},
                                "application/merge-patch+json")
        self.assertEqual(code, 200)
        before = len(self.our_calls())
        self.tell("mark")
        self.assertEqual(self.end_of()["event"], "moved")
        self.assertEqual(self.told("vm", "acpi"), [])
        ended = {one["metadata"]["name"].startswith("virt-scout-"): one["status"]["phase"] for one in self.moves()}
        self.assertEqual(ended, {False: "Failed", True: "Succeeded"})
        calls = self.our_calls()[before:]
        print("calls of ours to take its place:", calls)
        self.assertLessEqual(len(calls), MOST_CALLS_IN_VAIN)

    # KubeVirt shows such a migration as Failed before it is gone. That is no failure, which KubeVirt's next one would
    # follow: the mark is cancelled.
    def test_11_a_user_deletes_the_migration(self):
        self.vm(**{TAKES: "6"})
        self.tell("mark")
        self.event("vm", "move-started")
        name = self.moves()[0]["metadata"]["name"]
        code, _ = self.api.call("DELETE", moves(self.space, name))
        self.assertEqual(code, 200)
        self.assertEqual(self.end_of()["event"], "guest-stopped")
        self.until(lambda: not self.moves())
        print("calls of ours after a user's cancel:", self.our_calls())
        self.assertLessEqual(len(self.our_calls()), MOST_CALLS_IN_VAIN)

    def test_12_another_products_webhook_refuses(self):
        config = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        ours = self.api.get(f"{config}/virt-api-validator")["webhooks"][0]
        other = dict(ours["clientConfig"])
        other["url"] = other["url"].rsplit("/", 1)[0] + "/other-product"
        self.api.make(config, {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "a-other-product"}, "webhooks": [{
                "name": "evictions.other.example", "clientConfig": other, "failurePolicy": "Fail", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "rules": ours["rules"],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.space}}}]})
        self.addCleanup(self.api.call, "DELETE", f"{config}/a-other-product")
        self.vm()
        self.tell("mark")
        # A migration that is no eviction's is not that product's affair.
        self.assertEqual(self.end_of()["event"], "moved")
        self.assertEqual([one["metadata"]["name"].startswith("virt-scout-") for one in self.moves()], [True])
        self.assertLessEqual(len(self.our_calls()), MOST_CALLS_IN_VAIN)

    def test_13_killed_agents_come_to_the_same_decision(self):
        for number, (state, takes) in enumerate((("mark", "1"), ("evacuation-marked", "1"), ("move-started", "5"))):
            name = self.vm(f"vm-{number}", **{TAKES: takes})
            self.tell("mark", name)
            self.event(name, state)
            self.stop("n1", signal.SIGKILL)
            self.start_agent("n1")
            self.assertEqual(self.end_of(name)["event"], "moved", state)
            self.assertEqual(len(self.moves(name)), 1, state)
            self.assertEqual(self.told(name, "acpi"), [], state)

    def test_13b_an_agent_killed_while_it_takes_back(self):
        self.vm(grace=8, **{TAKES: LONGER_THAN_ANY})
        self.tell("mark")
        self.event("vm", "evacuation-cancelled")
        self.stop("n1", signal.SIGKILL)
        self.start_agent("n1")
        self.assertEqual(self.end_of()["event"], "guest-stopped")
        self.until(lambda: not self.moves())
        self.assertEqual(len(self.told("vm", "evacuation-created")), 1)

    # A server that has just started refuses with 403 until it knows its roles: for some seconds that is no lack of
    # rights, and what is read is read again.
    def test_14_the_api_server_is_away(self):
        self.vm(grace=60)
        self.tell_bed("stop apiserver")
        self.tell_mark_without_answer()
        time.sleep(5)
        self.tell_bed("start apiserver")
        self.assertEqual(self.end_of()["event"], "moved")
        self.assertEqual(self.told("vm", "acpi"), [])
        self.assertEqual(len(self.moves()), 1)

    def tell_mark_without_answer(self):
        self.standin.tell(f"mark {self.space}/vm")
        self.event("vm", "mark")


class AwayTest(StoryTest):
    """Who is needed is not there: the guest has its shutdown all the same."""

    def expect_shutdown(self, seconds=90.0):
        end = self.end_of(seconds=seconds)
        self.assertEqual(end["event"], "guest-stopped", end)
        self.assertEqual(len(self.told("vm", "acpi")), 1)

    def test_01_the_agent_at_the_mark(self):
        self.vm(strategy="External", grace=10)  # it is killed 25 s after the mark
        self.stop("n1", signal.SIGKILL)
        self.tell("mark")
        time.sleep(12)
        self.start_agent("n1")
        self.expect_shutdown()

    def test_02_the_object_of_its_node(self):
        self.vm(node="n2", grace=20)
        self.api.call("DELETE", "/api/v1/nodes/n2")
        self.tell("mark")
        self.expect_shutdown()
        self.expect_no_request()

    def test_03_the_api_server(self):
        """virt-handler asks after 20 s and after 41 s; the guest is killed after 55 s."""
        self.vm(node="n3", grace=40)
        self.tell_bed("stop apiserver")
        self.standin.tell(f"mark {self.space}/vm")
        self.event("vm", "mark")
        self.expect_shutdown()
        self.tell_bed("start apiserver")


class LeadersTest(TwoReplicasTest):
    """The leader dies in the middle."""

    def test_1_the_leader_is_killed_during_a_move(self):
        self.vm(grace=60, **{TAKES: "3"})
        self.tell("mark")
        self.event("vm", "evacuation-marked")
        self.kill_leader()
        self.assertEqual(self.end_of()["event"], "moved")
        self.assertEqual(len(self.moves()), 1)

    def test_2_a_mark_while_nobody_leads(self):
        self.vm(grace=60)
        self.kill_leader()
        self.tell("mark")
        self.assertEqual(self.end_of()["event"], "moved")
        self.assertEqual(len(self.moves()), 1)
        self.assertEqual(self.told("vm", "acpi"), [])


class ForkTest(StoryTest):
    """A KubeVirt that lets others mark its VMIs, as the proposal has it."""

    standin_options = ("--fork",)

    def test_1_its_own_way_is_used(self):
        self.vm()
        self.tell("mark")
        self.assertEqual(self.end_of()["event"], "moved")
        calls = self.our_calls()
        self.assertNotIn("create pods/eviction", calls)
        self.assertIn("patch virtualmachineinstances", calls)
        self.assertLessEqual(len(calls), MOST_CALLS)
        self.assertEqual(len(self.told("vm", "evacuation-created")), 1)


class NoPluginsTest(StoryTest):
    """A KubeVirt without node hooks."""

    without = ("plugins.plugin.kubevirt.io",)

    @classmethod
    def protection(cls):
        """What users are told of it."""
        config = cls.api.get("/apis/virt-scout.io/v1alpha1/scoutconfigs/default")
        return next((one for one in config.get("status", {}).get("conditions", []) if one["type"] == "Protecting"), {})

    @classmethod
    def hooks_are_there(cls):
        return cls.protection().get("status") == "False"

    def test_1_nothing_is_requested_at_the_mark(self):
        self.vm()
        self.tell("mark")
        self.expect_stop_let_go()
        self.assertEqual(self.told("vm", "hook"), [])
        self.expect_no_request()
        said = self.protection()
        self.assertEqual(said["reason"], "NoNodeHooks", said)
        print("told so:", said["message"])


if __name__ == "__main__":
    run_stories(__doc__)
