#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The VMs of a KubeVirt node, from their launchers to the user: stand-in launchers on grpc-go, an agent
with --pods-dir, an aggregator, and scoutctl.

usage: launchers_test.py BIN LAUNCHERS [unittest options]
"""

import json
import re
import subprocess
import sys
import unittest
import urllib.request
from pathlib import Path

from daemons import ERROR, START_LIMIT, DaemonsTest

LAUNCHERS = Path()
NODE = "node-1"
COUNT = 3
UNKNOWN_AFTER = 40.0  # seconds: two calls that fail, each at its limit, and what is between them


class LaunchersTest(DaemonsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # So deep that no path of a socket below it fits into an address (107 bytes).
        cls.pods = cls.state / ("kubelet-" + "d" * 40) / "pods"
        cls.pods.mkdir(parents=True)
        cls.launchers = subprocess.Popen(
            [LAUNCHERS, "--pods", cls.pods, "--count", str(COUNT)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        cls.names = json.loads(cls.launchers.stdout.readline())["pods"]
        cls.start("aggregator", "--standalone", "--listen-grpc", f"unix:{cls.state}/agents.sock",
                  "--query-socket", f"{cls.state}/query.sock")
        cls.start("agent", "--aggregator-address", f"unix:{cls.state}/agents.sock",
                  "--node-name", NODE, "--pods-dir", str(cls.pods))
        cls.until(lambda: len(cls.guests()) == COUNT)

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.launchers.stdin.close()
        cls.launchers.wait(timeout=10)
        cls.launchers.stdout.close()

    @classmethod
    def tell(cls, line):
        """A command to the launchers, which is carried out when this returns."""
        cls.launchers.stdin.write(line + "\n")
        cls.launchers.stdin.flush()
        assert cls.launchers.stdout.readline() == f"done {line}\n", line

    @classmethod
    def guests(cls):
        """Guests by name; none while nobody answers."""
        code, out, _ = cls.ask("guests", "-o", "json")
        return {} if code == ERROR else {guest["name"]: guest for guest in
                                         json.loads(out)["guests"]}

    @classmethod
    def state_of(cls, name):
        return cls.guests().get(name, {}).get("state", "gone")

    def metric(self, name):
        address = re.search(r"health and metrics address=(\S+)", self.log_of("agent")).group(1)
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
            found = re.search(rf"^{name} (\S+)$", answer.read().decode(), re.MULTILINE)
        return float(found.group(1))

    def test_1_guests_are_vmis_with_their_state(self):
        guests = self.guests()
        self.assertEqual(set(guests), {f"shop/vm-{number}" for number in range(COUNT)})
        for guest in guests.values():
            self.assertEqual(guest["node"], NODE)
            self.assertEqual(guest["state"], "running")
            self.assertEqual(guest["memoryKib"], 2097152)

    def test_2_where_takes_a_vmi_by_namespace_and_name(self):
        _, answer = self.ask_json("where", "shop/vm-1")
        self.assertEqual(answer["subject"], "shop/vm-1")
        self.assertEqual(answer["source"], NODE)
        again = self.ask_json("where", f"guest/shop/vm-1@{NODE}")[1]
        self.assertEqual(again["source"], NODE)
        code, _, err = self.ask("where", "shop/absent")
        self.assertEqual(code, ERROR)
        self.assertIn("shop/absent", err)

    def test_3_what_changes_in_a_launcher_is_told(self):
        self.tell("status 1 Paused IOError")
        self.until(lambda: self.state_of("shop/vm-1") == "paused")
        self.tell("status 1 Running Unknown")
        self.until(lambda: self.state_of("shop/vm-1") == "running")

    def test_4_one_that_hangs_and_one_that_floods_are_unknown_alone(self):
        before = self.memory_kib("agent")
        self.tell("hang 0")
        self.tell(f"big 1 {50 << 20}")
        self.until(lambda: self.state_of("shop/vm-0") == "unknown" and
                   self.state_of("shop/vm-1") == "unknown", UNKNOWN_AFTER)
        self.assertEqual(self.state_of("shop/vm-2"), "running")
        self.assertLess(self.memory_kib("agent"), before + 16 * 1024)
        self.tell("go 0")
        self.until(lambda: self.state_of("shop/vm-0") == "running", UNKNOWN_AFTER)

    def memory_kib(self, name):
        """The most that was ever resident."""
        status = Path(f"/proc/{self.daemons[name].pid}/status").read_text()
        return int(re.search(r"^VmHWM:\s+(\d+)", status, re.MULTILINE).group(1))

    def test_5_a_guest_is_gone_with_its_pod(self):
        self.tell("stop 2")
        self.until(lambda: self.state_of("shop/vm-2") == "gone", START_LIMIT)
        self.assertEqual(self.metric("virt_scout_agent_hypervisor_connected"), 1)
        self.assertEqual(self.metric("virt_scout_agent_guests"), 2)

    def test_6_the_agent_stops_in_time_while_a_launcher_hangs(self):
        self.tell("hang 0")
        took, code = self.stop("agent")
        self.assertEqual(code, 0)
        self.assertLess(took, 5.0)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    DaemonsTest.bin, LAUNCHERS = Path(sys.argv.pop(1)), Path(sys.argv.pop(1))
    if not LAUNCHERS.is_file():
        print(f"no launchers: {LAUNCHERS} is not built (tools/lib/launchers.sh)")
        sys.exit(0)
    unittest.main(verbosity=2)
