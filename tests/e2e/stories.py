# SPDX-License-Identifier: Apache-2.0
"""Stories of VMs whose launchers are told to stop, as KubeVirt's stand-in tells them."""

import json
import os
import shutil
import signal
import sys
import time
import unittest
from datetime import datetime
from pathlib import Path

from cluster import ClusterTest, Service, moves, vmis

PLUGIN = "/apis/plugin.kubevirt.io/v1alpha1/plugins/virt-scout"
RESERVE = 4  # seconds
# What the stand-in makes of a VM's migrations, by its annotations.
FAILS = "standin.virt-scout.io/fail-move"
TAKES = "standin.virt-scout.io/move-seconds"
LONGER_THAN_ANY = "3600"


def seconds_between(first, second):
    return (datetime.fromisoformat(second["time"]) - datetime.fromisoformat(first["time"])).total_seconds()


class StoryTest(ClusterTest):
    """Each story in a namespace of its own."""

    config = {"evacuation": {"mode": "act", "reserveSeconds": RESERVE}}
    number = 0

    def setUp(self):
        type(self).number += 1
        self.space = f"story-{self.number}"
        self.api.make("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.space}})
        self.api.make(f"/api/v1/namespaces/{self.space}/serviceaccounts", {
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
        self.since = len(self.standin.all)
        self.events = []
        self.faults = self.count_faults()

    def count_faults(self):
        result = self._outcome.result
        return len(result.failures) + len(result.errors)

    def tearDown(self):
        if self.count_faults() > self.faults:
            for line in self.standin.all[self.since:][-60:]:
                sys.stderr.write(line)
            for name in (*self.replicas, *self.nodes):
                sys.stderr.write(f"--- {name}\n{self.log_of(name)[-2500:]}\n")

    def vm(self, name="vm", strategy="LiveMigrate", migratable="True", grace=30, node="n1", memory="64Mi", settles=1.0,
           selector=None, requests=None, **notes):
        """A running VM whose launcher is there and, after `settles` seconds, known to the agent."""
        self.api.make(vmis(self.space), {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "metadata": {"name": name, "annotations": {key.replace("_", "-"): value for key, value in notes.items()}},
            "spec": {"evictionStrategy": strategy, "terminationGracePeriodSeconds": grace,
                     **({"nodeSelector": selector} if selector else {}),
                     "domain": {"devices": {}, "memory": {"guest": memory},
                                **({"resources": {"requests": requests}} if requests else {})}},
            "status": {"phase": "Running", "nodeName": node, "conditions": [
                {"type": "LiveMigratable", "status": migratable,
                 **({} if migratable == "True" else {"reason": "DisksNotLiveMigratable"})}]}})
        self.event(name, "launcher-started")
        self.until(lambda: self.read(name)["status"].get("activePods"))
        time.sleep(settles)
        return name

    def read(self, name="vm"):
        return self.api.get(vmis(self.space, name))

    def moves(self, name="vm"):
        return [one for one in self.api.get(moves(self.space))["items"] if one["spec"]["vmiName"] == name]

    def tell(self, command, name="vm", *more):
        since = len(self.standin.all)
        line = " ".join([command, f"{self.space}/{name}", *more])
        self.standin.tell(line)
        said = json.loads(self.standin.wait(
            lambda told: json.loads(told)["event"] in ("done", "refused") and line in told or '"refused"' in told, since))
        self.assertEqual(said["event"], "done", said)

    def told(self, name="vm", *kinds):
        """What happened to it, in order."""
        self.events += [json.loads(line) for line in self.standin.all[self.since + len(self.events):]]
        return [one for one in self.events if one.get("vmi") == f"{self.space}/{name}" and (not kinds or one["event"] in kinds)]

    def event(self, name, kind, seconds=60.0, number=1):
        self.until(lambda: len(self.told(name, kind)) >= number, seconds)
        return self.told(name, kind)[number - 1]

    def end_of(self, name="vm", seconds=90.0):
        """How it ends: moved, guest-stopped or guest-killed."""
        ends = ("moved", "guest-stopped", "guest-killed")
        self.until(lambda: self.told(name, *ends), seconds)
        return self.told(name, *ends)[0]

    def our_calls(self, space=""):
        return [f"{one['verb']} {one['objectRef']['resource']}" +
                (f"/{one['objectRef']['subresource']}" if one["objectRef"].get("subresource") else "")
                for one in self.calls(space or self.space)]

    def expect_no_request(self):
        made = [one for one in self.our_calls() if "eviction" in one or one.startswith(("create virtual", "delete"))]
        self.assertEqual(made, [])

    def expect_stop_let_go(self, name="vm", within=3.0):
        """Its guest was let go right after the mark, and stopped by itself."""
        end = self.end_of(name)
        self.assertEqual(end["event"], "guest-stopped")
        first = self.told(name, "acpi")[0]
        self.assertLess(seconds_between(self.told(name, "mark")[0], first), within)

    @classmethod
    def hooks_are_there(cls):
        """The Plugin asks on every node."""
        plugin = cls.api.get(PLUGIN)
        return plugin is not None and not any(
            f'"{node}"' in plugin["spec"]["nodeHooks"][0]["condition"] for node in cls.nodes)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.until(cls.hooks_are_there, 120)


class TwoReplicasTest(StoryTest):
    """The leader may die: agents find the one after it."""

    replicas = ("first", "second")

    @classmethod
    def setUpClass(cls):
        cls.service = Service(lambda: cls.address_of(cls.leader(), "grpc"))
        cls.addClassCleanup(cls.service.close)
        super().setUpClass()

    @classmethod
    def way_to_leader(cls):
        return cls.service.address

    def kill_leader(self):
        name = self.leader()
        self.stop(name, signal.SIGKILL)
        self.addCleanup(self.start_replica, name)


def run_stories(usage, what="cluster", missing=""):
    """The stories of the file that is run, with its arguments; `missing` is what keeps them from being played."""
    if len(sys.argv) < 4:
        sys.exit(usage)
    ClusterTest.bin, ClusterTest.launchers_program, built = (Path(sys.argv.pop(1)) for _ in range(3))
    ClusterTest.bed_program = Path(os.environ.get("SCOUT_BED") or built)
    ClusterTest.data = Path(os.environ.get("SCOUT_TEST_DATA") or "absent")
    for file, how in ((ClusterTest.launchers_program, "tools/lib/launchers.sh"),
                      (ClusterTest.bed_program, "tools/lib/bed.sh"),
                      (ClusterTest.data / "kubevirt/crds", "SCOUT_TEST_DATA"),
                      (Path(shutil.which("kubectl") or "kubectl"), "install it")):
        if not missing and not file.exists():
            missing = f"{file} is not there ({how})"
    if missing:
        print(f"no {what}: {missing}")
        sys.exit(0)
    try:
        unittest.main(verbosity=2)
    except KeyboardInterrupt:
        sys.exit(130)
