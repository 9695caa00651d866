#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MigrationPolicies as people make them: who makes one with something wrong in it is told, or refused, and one with an
expiry ends by itself. Real control plane; KubeVirt is played.

usage: policies_test.py BIN LAUNCHERS BED [unittest options]
environment: SCOUT_BED, if given, is the bed; SCOUT_TEST_DATA has KubeVirt's definitions
"""

import json
import subprocess

from move_stories import MoveStories
from stories import run_stories

WEBHOOK = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/virt-scout-policies"
CONFIG = "/apis/virt-scout.io/v1alpha1/scoutconfigs/default"
EXPIRES = "virt-scout.io/expires"


def policies(name=""):
    return "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies" + (f"/{name}" if name else "")


class PoliciesTest(MoveStories):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.call_by_address(WEBHOOK)
        cls.until(lambda: "no limit at all" in cls.try_to_make("first").stderr)

    @classmethod
    def try_to_make(cls, name, dry_run=True, **spec):
        """By kubectl; without more of it a policy whose bandwidth is none."""
        policy = {"apiVersion": "migrations.kubevirt.io/v1alpha1", "kind": "MigrationPolicy", "metadata": {"name": name},
                  "spec": {"selectors": {"virtualMachineInstanceSelector": {"of": name}},
                           **(spec or {"bandwidthPerMigration": "1m"})}}
        return subprocess.run(
            ["kubectl", "--cache-dir", cls.state / "kubectl", "--kubeconfig", cls.kubeconfig, "create", "-f", "-",
             *(["--dry-run=server"] if dry_run else [])],
            input=json.dumps(policy), capture_output=True, text=True, timeout=60, check=False)

    def test_1_who_makes_one_with_something_wrong_is_warned(self):
        made = self.try_to_make("odd", dry_run=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("Warning: virt-scout: odd: bandwidthPerMigration 1m", made.stderr)
        fine = self.try_to_make("fine", dry_run=False, bandwidthPerMigration="64Mi")
        self.assertEqual((fine.returncode, fine.stderr), (0, ""))
        twin = {"selectors": {"virtualMachineInstanceSelector": {"of": "fine"}}, "allowPostCopy": True}
        self.until(lambda: "is never applied" in self.try_to_make("twin", **twin).stderr)
        # What says nothing new is not asked about.
        self.assertEqual(self.kubectl("label", "migrationpolicy", "odd", "a=b").strip().split()[-1], "labeled")

    def test_2_or_refused_where_the_config_says_so(self):
        self.api.merge(CONFIG, {"spec": {"policies": {"lint": "refuse"}}})
        self.addCleanup(lambda: self.api.merge(CONFIG, {"spec": {"policies": None}}))
        self.until(lambda: self.try_to_make("refused").returncode != 0)
        refused = self.try_to_make("refused")
        self.assertIn("no limit at all", refused.stderr)
        self.assertEqual(self.try_to_make("taken", bandwidthPerMigration="64Mi").returncode, 0)

    def test_3_one_for_a_while_ends_by_itself(self):
        self.vm()
        words = ("tune", "--namespace", self.space, "--for", "1h", "--post-copy", "--name", "a-drain",
                 "--without-aggregator")
        self.kubectl("label", "vmi", "-n", self.space, "vm", "of=fine")
        outranked = self.scoutctl(*words, command="policy")
        self.assertEqual(outranked.returncode, 1, self.said)
        self.assertIn("policy fine names as many labels, and more of the VMI's", outranked.stdout)
        self.kubectl("label", "vmi", "-n", self.space, "vm", "of-")
        self.assertEqual(self.scoutctl(*words, "--dry-run", command="policy").returncode, 0, self.said)
        self.assertIsNone(self.api.get(policies("a-drain")))
        self.assertEqual(self.scoutctl(*words, command="policy").returncode, 0, self.said)
        made = self.api.get(policies("a-drain"))
        self.assertIn(EXPIRES, made["metadata"]["annotations"])
        self.assertTrue(made["spec"]["allowPostCopy"])

        self.assertEqual(self.scoutctl("tune", "--list", command="policy").returncode, 0, self.said)
        self.assertIn("a-drain", self.said)
        self.api.merge(policies("a-drain"), {"metadata": {"annotations": {EXPIRES: "2026-01-01T00:00:00Z"}}})
        self.until(lambda: self.api.get(policies("a-drain")) is None)
        self.assertIsNotNone(self.api.get(policies("fine")), "others' policies stay")

        self.assertEqual(self.scoutctl(*words, command="policy").returncode, 0, self.said)
        self.assertEqual(self.scoutctl("tune", "--end", "a-drain", command="policy").returncode, 0, self.said)
        self.assertIsNone(self.api.get(policies("a-drain")))
        self.assertEqual(self.scoutctl("tune", "--end", "fine", command="policy").returncode, 2, self.said)


if __name__ == "__main__":
    run_stories(__doc__)
