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

from stories import FAILS, LONGER_THAN_ANY, TAKES, StoryTest, run_stories

# Of nodes that are alike and take VMs; no kubelet and no labeller tell so here.
LABELS = {"kubernetes.io/arch": "amd64", "kubevirt.io/schedulable": "true", "host-model-cpu.node.kubevirt.io/Nehalem": "true",
          "cpu-model-migration.node.kubevirt.io/Nehalem": "true", "cpu-vendor.node.kubevirt.io/Intel": "true",
          **{f"cpu-feature.node.kubevirt.io/{each}": "true" for each in ("sse", "sse2", "sse4.1", "sse4.2", "popcnt")}}


class MigrateTest(StoryTest):
    """By whoever has a kubeconfig."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
        for node in cls.nodes:
            cls.api.merge(f"/api/v1/nodes/{node}", {"metadata": {"labels": LABELS | {"kubernetes.io/hostname": node}},
                                                    "spec": {"taints": None}})
            cls.api.merge(f"/api/v1/nodes/{node}/status", {"status": {"capacity": room, "allocatable": room}})

    def scoutctl(self, *words):
        done = subprocess.run([self.bin / "scoutctl", "migrate", *words, "--kubeconfig", self.kubeconfig],
                              capture_output=True, text=True, timeout=120)
        self.said = done.stdout + done.stderr
        return done

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
        done = self.scoutctl(f"{self.space}/vm", "--where", "kubernetes.io/hostname in (n2,n3)")
        self.assertEqual(done.returncode, 2, self.said)
        self.assertIn("labels and their values alone", done.stderr)
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


if __name__ == "__main__":
    run_stories(__doc__)
