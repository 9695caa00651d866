# SPDX-License-Identifier: Apache-2.0
"""Stories of migrations that somebody wants, as `scoutctl migrate` and kubectl make them."""

import base64
import subprocess
from urllib.parse import urlparse

from cluster import ROOT, moves
from stories import StoryTest

MANIFEST = ROOT / "daemonset/base/named-target.yaml"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/virt-scout-target"
TERM = "virt-scout.io/added-node-selector-term"
SENTINEL = "virt-scout.io/target-term"
UNSCHEDULABLE = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds"
# Of nodes that are alike and take VMs; no kubelet and no labeller tell so here.
LABELS = {"kubernetes.io/arch": "amd64", "kubevirt.io/schedulable": "true", "host-model-cpu.node.kubevirt.io/Nehalem": "true",
          "cpu-model-migration.node.kubevirt.io/Nehalem": "true", "cpu-vendor.node.kubevirt.io/Intel": "true",
          **{f"cpu-feature.node.kubevirt.io/{each}": "true" for each in ("sse", "sse2", "sse4.1", "sse4.2", "popcnt")}}


class MoveStories(StoryTest):
    """By whoever has a kubeconfig."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
        for node in cls.nodes:
            cls.api.merge(f"/api/v1/nodes/{node}", {"metadata": {"labels": LABELS | {"kubernetes.io/hostname": node}},
                                                    "spec": {"taints": None}})
            cls.api.merge(f"/api/v1/nodes/{node}/status", {"status": {"capacity": room, "allocatable": room}})

    def scoutctl(self, *words, command="migrate"):
        done = subprocess.run([self.bin / "scoutctl", command, *words, "--kubeconfig", self.kubeconfig],
                              capture_output=True, text=True, timeout=120)
        self.said = done.stdout + done.stderr
        return done

    @classmethod
    def call_by_address(cls, configuration, answers=lambda webhook: True):
        """There are no Services here: the API server calls the aggregator by its address, and for webhooks for which
        nobody answers one where nobody is."""
        trust = cls.api.get("/api/v1/namespaces/virt-scout/configmaps/virt-scout-ca")["data"]["ca.crt"]
        webhooks = cls.api.get(configuration)["webhooks"]
        for each in webhooks:
            client = each["clientConfig"]
            path = client["service"]["path"] if "service" in client else urlparse(client["url"]).path
            address = cls.address_of(cls.leader(), "https") if answers(each["name"]) else "127.0.0.1:1"
            each["clientConfig"] = {"url": f"https://{address}{path}",
                                    "caBundle": base64.b64encode(trust.encode()).decode()}
        cls.api.merge(configuration, {"webhooks": webhooks})


class AimedStories(MoveStories):
    """Terms that KubeVirt does not know, by the webhooks of daemonset/base/named-target.yaml."""

    def setUp(self):
        super().setUp()
        self.reach()

    @classmethod
    def reach(cls, pods=True):
        """Without `pods` nobody answers about those."""
        if cls.api.get(WEBHOOKS) is None:
            cls.kubectl("apply", "-f", MANIFEST)
        cls.call_by_address(WEBHOOKS, lambda webhook: pods or "move" in webhook)
        cls.until(lambda: cls.try_to_make("any: thing")[0] == 422)

    @classmethod
    def try_to_make(cls, term, space="default", vmi="none"):
        """Answers as the API server does; nothing is made."""
        return cls.api.call("POST", moves(space) + "?dryRun=All", cls.aimed(term, vmi))

    @staticmethod
    def aimed(term, vmi="vm"):
        return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
                "metadata": {"generateName": "aimed-", "annotations": {TERM: term, UNSCHEDULABLE: "3"}},
                "spec": {"vmiName": vmi}}

    def plain(self, vmi):
        return self.api.make(moves(self.space), {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
            "metadata": {"generateName": "plain-"}, "spec": {"vmiName": vmi}})

    def make(self, term, vmi="vm"):
        return self.api.make(moves(self.space), self.aimed(term, vmi))

    def ended(self, move, phase, seconds=30.0):
        path = moves(self.space, move["metadata"]["name"])
        self.until(lambda: self.api.get(path).get("status", {}).get("phase") == phase, seconds)

    def asked(self, webhook):
        """How often the API server has called it."""
        lines = [line for line in self.api.text("/metrics").splitlines()
                 if line.startswith("apiserver_admission_webhook_request_total{") and f'name="{webhook}"' in line]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    def target_pods(self, vmi="vm"):
        return [one for one in self.api.get(f"/api/v1/namespaces/{self.space}/pods")["items"]
                if "kubevirt.io/migrationJobUID" in one["metadata"].get("labels", {}) and
                one["metadata"]["annotations"]["kubevirt.io/domain"] == vmi]
