#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`scoutctl migrate` makes, follows and takes back migrations: real control plane, and KubeVirt as the stand-in plays
it.

usage: migrate_test.py BIN LAUNCHERS BED [unittest options]
environment: SCOUT_BED, if given, is the bed; SCOUT_TEST_DATA has KubeVirt's definitions
"""

import json
import signal
import subprocess

from move_stories import MANIFEST, SENTINEL, TERM, AimedStories, MoveStories, moves
from stories import FAILS, LONGER_THAN_ANY, TAKES, run_stories


class MigrateTest(MoveStories):
    """By labels, which KubeVirt knows."""

    def test_01_a_vm_is_moved_to_a_node_and_followed(self):
        self.vm()
        done = self.scoutctl(f"{self.space}/vm", "--to", "n3", "--wait")
        self.assertEqual(done.returncode, 0, self.said)
        self.assertIn("moved to n3", done.stdout)
        self.assertEqual(self.read()["status"]["nodeName"], "n3")
        (move,) = self.moves()
        self.assertEqual(move["spec"]["addedNodeSelector"], {"kubernetes.io/hostname": "n3"})
        self.assertNotIn("nodeSelector", self.read()["spec"])

    def test_02_what_would_not_be_done_is_not_made(self):
        self.vm()
        for words, why in ((("--to", "n1"), "already-there"), (("--where", "zone=a"), "no-node-matches")):
            done = self.scoutctl(f"{self.space}/vm", *words)
            self.assertEqual(done.returncode, 1, self.said)
            self.assertIn(why, done.stdout)
        self.assertEqual(self.moves(), [])

    def test_03_one_that_goes_on_is_taken_back(self):
        self.vm(**{TAKES: LONGER_THAN_ANY})
        done = self.scoutctl(f"{self.space}/vm", "-o", "json")
        self.assertEqual(done.returncode, 0, self.said)
        name = json.loads(done.stdout)["migration"]
        self.event("vm", "move-started")
        refused = self.scoutctl(f"{self.space}/vm")
        self.assertEqual(refused.returncode, 1, self.said)
        self.assertIn("under-way", refused.stdout)
        done = self.scoutctl(f"{self.space}/vm", "--cancel")
        self.assertEqual(done.returncode, 0, self.said)
        self.assertIn(name.split("/")[1], done.stdout)
        self.until(lambda: not self.moves())
        self.assertEqual(self.read()["status"]["nodeName"], "n1")
        self.assertEqual(self.scoutctl(f"{self.space}/vm", "--cancel").returncode, 1, self.said)

    def test_04_ctrl_c_leaves_it_running(self):
        self.vm(**{TAKES: LONGER_THAN_ANY})
        process = subprocess.Popen([self.bin / "scoutctl", "migrate", f"{self.space}/vm", "--wait", "--kubeconfig",
                                    self.kubeconfig], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.event("vm", "move-started")
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 3, said)
        self.assertIn("the migration goes on", said)
        self.assertEqual(len(self.moves()), 1)
        self.assertEqual(self.scoutctl(f"{self.space}/vm", "--cancel").returncode, 0, self.said)

    def test_05_one_that_fails_says_why(self):
        self.vm(**{FAILS: "run"})
        done = self.scoutctl(f"{self.space}/vm", "--wait", "-o", "json")
        self.assertEqual(done.returncode, 1, self.said)
        end = json.loads(done.stdout)["end"]
        self.assertFalse(end["moved"])
        self.assertTrue(end["followed"])
        self.assertTrue(end["trouble"], self.said)
        self.assertEqual(end["node"], "n1")


class AimedTest(AimedStories):
    """Terms that KubeVirt does not know, by the webhooks of daemonset/base/named-target.yaml."""

    def test_01_a_vm_goes_where_the_term_says_and_is_free_again(self):
        self.vm()
        done = self.scoutctl(f"{self.space}/vm", "--where", "kubernetes.io/hostname notin (n2)", "--wait")
        self.assertEqual(done.returncode, 0, self.said)
        self.assertIn("moved to n3", done.stdout)
        (move,) = self.moves()
        self.assertRegex(move["spec"]["addedNodeSelector"][SENTINEL], "^[0-9a-f]{40}$")
        (pod,) = self.target_pods()
        self.assertNotIn(SENTINEL, pod["spec"]["nodeSelector"])
        self.assertIn('"NotIn"', json.dumps(pod["spec"]["affinity"]))
        self.assertNotIn("affinity", self.read()["spec"])
        self.assertNotIn("nodeSelector", self.read()["spec"])

        pods_asked = self.asked("pod.target.virt-scout.io")
        moves_asked = self.asked("move.target.virt-scout.io")
        self.ended(self.plain("vm"), "Succeeded")
        self.assertEqual(self.read()["status"]["nodeName"], "n1")
        self.assertEqual(self.asked("pod.target.virt-scout.io"), pods_asked, "a plain migration asks nobody")
        self.assertEqual(self.asked("move.target.virt-scout.io"), moves_asked)

    def test_02_by_kubectl_too_and_to_a_node_by_its_name(self):
        self.vm()
        self.ended(self.make("matchFields: [{key: metadata.name, operator: In, values: [n3]}]"), "Succeeded")
        self.assertEqual(self.read()["status"]["nodeName"], "n3")

    def test_03_grammar_is_refused_and_the_world_warned_of(self):
        self.vm()
        for term, why in (("{}", "matches no node at all"), ("[{}, {}]", "expected one term"),
                          ("matchExpressions: [{key: a, operator: In}]", "must be specified when `operator`"),
                          ("matchExpressions: [{key: a, operator: Maybe}]", "not a valid selector operator"),
                          ("matchFields: [{key: spec.a, operator: In, values: [b]}]", "not a valid field selector"),
                          ("matchExpressions: [{key: a, operator: Gt, values: [b]}]", "integer")):
            code, answer = self.try_to_make(term, self.space, "vm")
            self.assertEqual(code, 422, f"{term}: {answer}")
            self.assertIn(why, answer["message"])
        move = self.make("matchExpressions: [{key: gpu, operator: Exists}]")
        self.ended(move, "Failed")
        self.assertEqual(self.read()["status"]["nodeName"], "n1")
        judged = self.scoutctl(f"{self.space}/vm", "--where", "gpu", "--dry-run", "--live")
        self.assertEqual(judged.returncode, 1, self.said)
        self.assertIn("no-node-matches", judged.stdout)

    def test_04_a_term_that_is_changed_before_its_pod_is_made_leads_nowhere(self):
        for name in ("one", "two"):
            self.vm(name, settles=0, **{TAKES: LONGER_THAN_ANY})
            self.plain(name)
        for name in ("one", "two"):
            self.event(name, "move-started")
        self.vm()
        move = self.make("matchFields: [{key: metadata.name, operator: In, values: [n3]}]")
        path = moves(self.space, move["metadata"]["name"])
        self.until(lambda: self.api.get(path).get("status", {}).get("phase") == "Pending")
        self.api.merge(path, {"metadata": {"annotations": {
            TERM: "matchFields: [{key: metadata.name, operator: In, values: [n2]}]"}}})
        for name in ("one", "two"):
            self.assertEqual(self.scoutctl(f"{self.space}/{name}", "--cancel").returncode, 0, self.said)
        self.ended(move, "Failed", 60)
        self.assertEqual(self.read()["status"]["nodeName"], "n1")
        events = self.api.get(f"/apis/events.k8s.io/v1/namespaces/{self.space}/events")["items"]
        self.assertIn("TargetNotAimed", [each["reason"] for each in events])

    def test_05_nobody_answers_about_the_pod(self):
        self.vm()
        self.reach(pods=False)
        move = self.make("matchFields: [{key: metadata.name, operator: In, values: [n3]}]")
        self.until(self.target_pods)
        (pod,) = self.target_pods()
        self.assertIn(SENTINEL, pod["spec"]["nodeSelector"])
        self.ended(move, "Failed")
        self.assertEqual(self.read()["status"]["nodeName"], "n1")

    def test_06_nobody_answers_about_the_migration(self):
        self.vm()
        self.kubectl("delete", "-f", MANIFEST)
        done = self.scoutctl(f"{self.space}/vm", "--where", "kubernetes.io/hostname in (n2,n3)")
        self.assertEqual(done.returncode, 2, self.said)
        self.assertIn("labels and their values alone", done.stderr)
        self.assertIn("are not in this cluster", done.stderr)
        self.kubectl("apply", "-f", MANIFEST)  # by a Service, of which there is none
        self.until(lambda: "failed calling webhook" in self.try_to_make("any: thing")[1]["message"])
        done = self.scoutctl(f"{self.space}/vm", "--where", "kubernetes.io/hostname in (n2,n3)")
        self.assertEqual(done.returncode, 2, self.said)
        self.assertIn("failed calling webhook", done.stderr)
        self.assertEqual(self.moves(), [])
        done = self.scoutctl(f"{self.space}/vm", "--to", "n2", "--wait")
        self.assertEqual(done.returncode, 0, "labels need nobody: " + self.said)


if __name__ == "__main__":
    run_stories(__doc__)
