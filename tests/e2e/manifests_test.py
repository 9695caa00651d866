#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What kustomize makes of daemonset/: the base, and the overlay for another kubelet root.

usage: manifests_test.py DAEMONSET [unittest options]
"""

import json
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

DAEMONSET = Path()


def agent_of(folder):
    """The agent's pod as `kubectl apply -k` would make it."""
    built = subprocess.run(["kubectl", "kustomize", DAEMONSET / folder], capture_output=True,
                           text=True, timeout=60, check=True).stdout
    # kubectl reads its own YAML; it asks no server for that.
    objects = subprocess.run(
        ["kubectl", "patch", "--local", "-f", "-", "--type=merge", "-p", "{}", "-o", "json"],
        input=next(part for part in built.split("\n---\n") if "\nkind: DaemonSet\n" in part),
        capture_output=True, text=True, timeout=60, check=True).stdout
    return json.loads(objects)["spec"]["template"]["spec"]


def path_of(pod, volume):
    return next(each["hostPath"]["path"] for each in pod["volumes"] if each["name"] == volume)


class ManifestsTest(unittest.TestCase):
    def test_the_base_watches_launchers_below_a_short_path(self):
        pod = agent_of("base")
        agent = pod["containers"][0]
        mount = next(each for each in agent["volumeMounts"] if each["name"] == "pods")
        self.assertEqual(path_of(pod, "pods"), "/var/lib/kubelet/pods")
        self.assertEqual(mount["mountPath"], "/pods")
        self.assertTrue(mount["readOnly"])
        self.assertIn("--pods-dir=/pods", agent["args"])

    def test_the_overlay_moves_that_folder_and_nothing_else(self):
        base, moved = agent_of("base"), agent_of("overlays/kubelet-root")
        self.assertEqual(path_of(moved, "pods"), "/var/lib/k0s/kubelet/pods")
        self.assertEqual(moved["containers"], base["containers"])
        others = [[each for each in pod["volumes"] if each["name"] != "pods"]
                  for pod in (base, moved)]
        self.assertEqual(*others)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    DAEMONSET = Path(sys.argv.pop(1))
    if shutil.which("kubectl") is None:
        print("no kubectl: what kustomize makes of the manifests is not looked at")
        sys.exit(0)
    unittest.main(verbosity=2)
