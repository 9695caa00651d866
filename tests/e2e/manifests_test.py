#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What kustomize makes of daemonset/: the base, and the overlays.

usage: manifests_test.py DAEMONSET [unittest options]
"""

import json
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

DAEMONSET = Path()


def built(folder):
    """What `kubectl apply -k` would send, one document each."""
    return subprocess.run(["kubectl", "kustomize", DAEMONSET / folder], capture_output=True,
                          text=True, timeout=60, check=True).stdout.split("\n---\n")


def objects_of(folder, kind):
    # kubectl reads its own YAML; it asks no server for that.
    return [json.loads(subprocess.run(
        ["kubectl", "patch", "--local", "-f", "-", "--type=merge", "-p", "{}", "-o", "json"],
        input=part, capture_output=True, text=True, timeout=60, check=True).stdout)
            for part in built(folder) if f"\nkind: {kind}\n" in part]


def agent_of(folder):
    return objects_of(folder, "DaemonSet")[0]["spec"]["template"]["spec"]


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

    def test_virt_handler_finds_the_hook_where_the_agent_puts_it(self):
        pod = agent_of("base")
        agent = pod["containers"][0]
        mount = next(each for each in agent["volumeMounts"] if each["name"] == "plugins")
        self.assertEqual(path_of(pod, "plugins"), "/var/run/kubevirt/plugins")
        self.assertEqual(mount["mountPath"], "/var/run/kubevirt/plugins")
        self.assertFalse(mount.get("readOnly", False))
        self.assertIn("--hook-socket=/var/run/kubevirt/plugins/virt-scout.sock", agent["args"])

    def test_the_base_sees_the_kubelet_the_images_and_the_cgroups_of_the_host(self):
        pod = agent_of("base")
        agent = pod["containers"][0]
        for name, path, flag in (("kubelet", "/var/lib/kubelet", "kubelet-root"),
                                 ("images", "/var/lib/containerd", "images-dir"),
                                 ("cgroup", "/sys/fs/cgroup", "cgroup-root")):
            mount = next(each for each in agent["volumeMounts"] if each["name"] == name)
            self.assertEqual(path_of(pod, name), path)
            self.assertTrue(mount["readOnly"])
            self.assertIn(f"--{flag}={mount['mountPath']}", agent["args"])

    def test_an_agent_is_wherever_vms_are_and_neither_program_makes_way_for_others(self):
        agent = agent_of("base")
        aggregator = objects_of("base", "Deployment")[0]["spec"]["template"]["spec"]
        self.assertEqual(agent["priorityClassName"], "system-node-critical")
        self.assertEqual(agent["tolerations"], [{"operator": "Exists"}])
        self.assertEqual(aggregator["priorityClassName"], "system-cluster-critical")
        self.assertNotIn("tolerations", aggregator)

    def test_the_overlay_moves_the_kubelets_folders_and_nothing_else(self):
        base, moved = agent_of("base"), agent_of("overlays/kubelet-root")
        self.assertEqual(path_of(moved, "pods"), "/var/lib/k0s/kubelet/pods")
        self.assertEqual(path_of(moved, "kubelet"), "/var/lib/k0s/kubelet")
        self.assertEqual(moved["containers"], base["containers"])
        others = [[each for each in pod["volumes"] if each["name"] not in ("pods", "kubelet")]
                  for pod in (base, moved)]
        self.assertEqual(*others)

    def test_an_overlay_shows_the_agent_a_kubelet_configuration_outside_the_root(self):
        base, other = agent_of("base"), agent_of("overlays/kubelet-config")
        agent = other["containers"][0]
        self.assertEqual(path_of(other, "kubelet-config"), "/etc/kubernetes/kubelet.conf")
        mount = agent["volumeMounts"].pop()
        self.assertTrue(mount["readOnly"])
        self.assertEqual(agent["args"].pop(), f"--kubelet-config={mount['mountPath']}")
        self.assertEqual(other["volumes"].pop()["name"], mount["name"])
        self.assertEqual(other, base)

    def test_the_image_has_the_version_of_this_tree(self):
        text = (DAEMONSET.parent / "CMakeLists.txt").read_text()
        version = re.search(r"project\(virt_scout VERSION (\S+)", text)[1]
        pods = [each["spec"]["template"]["spec"] for kind in ("DaemonSet", "Deployment")
                for each in objects_of("base", kind)]
        self.assertEqual([pod["containers"][0]["image"] for pod in pods],
                         [f"virt-scout:{version}"] * 2)

    def test_nothing_stays_behind_in_another_namespace(self):
        for part in built("overlays/namespace"):
            self.assertNotRegex(part, r"namespace: virt-scout\b")
            self.assertNotRegex(part, r"namespace: kube-system\b")
            self.assertNotIn("serviceaccount:virt-scout:", part)
            self.assertNotIn("aggregator.virt-scout.svc", part)
        for kind in ("ClusterRoleBinding", "RoleBinding"):
            for binding in objects_of("overlays/namespace", kind):
                self.assertEqual(binding["subjects"][0]["namespace"], "infra-virt-scout")
        webhook = objects_of("overlays/namespace", "MutatingWebhookConfiguration")[0]
        self.assertEqual(webhook["webhooks"][0]["clientConfig"]["service"]["namespace"],
                         "infra-virt-scout")

        api = objects_of("overlays/namespace/query-api", "APIService")[0]
        self.assertEqual(api["spec"]["service"]["namespace"], "infra-virt-scout")

    def test_an_overlay_for_the_image_changes_nothing_else(self):
        base, other = built("base"), built("overlays/image")
        self.assertEqual([part.replace("registry.example/virt-scout:", "virt-scout:") for part in other], base)
        self.assertNotEqual(other, base)

    def test_the_api_is_applied_by_itself(self):
        self.assertEqual(objects_of("base", "APIService"), [])
        self.assertEqual([each["metadata"]["name"] for each in objects_of("query-api", "APIService")],
                         ["v1alpha1.query.virt-scout.io"])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    DAEMONSET = Path(sys.argv.pop(1))
    if shutil.which("kubectl") is None:
        print("no kubectl: what kustomize makes of the manifests is not looked at")
        sys.exit(0)
    unittest.main(verbosity=2)
