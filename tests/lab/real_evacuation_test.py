#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole story with real guests: two hosts of the lab are the nodes of a real control plane, with an agent
on each and an aggregator; KubeVirt is played, its migrations are real. One VM is moved before its node kills
it; another one writes faster than its migration copies, and is shut down in time instead.

usage: real_evacuation_test.py BIN LAUNCHERS BED [unittest options]
environment: SCOUT_BED, if given, is the bed; SCOUT_TEST_DATA has KubeVirt's definitions
"""

import re
import sys
import urllib.request

from hosts import HERE, Lab, missing_part

sys.path.insert(0, str(HERE.parent / "e2e"))
from stories import StoryTest, run_stories, seconds_between  # noqa: E402

import guests  # noqa: E402
from guests import Guest  # noqa: E402

GRACE = 60  # seconds of the VMs' own: enough on a busy machine, too; their launchers kill 15 s later
RESERVE = 10  # seconds of it for the guest's shutdown, the default
KILLED_AFTER = GRACE + 15
# What a cluster's network would be: the guest "big" gets little of it, which nobody has told the agent.
MOVE = """\
#!/bin/sh
case $1 in
    */big) exec {python} -B {lab} evacuate {folder} "$@" --bandwidth 16 ;;
    *) exec {python} -B {lab} evacuate {folder} "$@" --bandwidth 64 ;;
esac
"""


class RealEvacuationTest(StoryTest):
    nodes = ("host-a", "host-b")
    config = {"evacuation": {"mode": "act", "reserveSeconds": RESERVE}}

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(cls.nodes)
        cls.addClassCleanup(cls.lab.down)
        cls.lab.__enter__()
        move = cls.lab.folder / "move"
        move.write_text(MOVE.format(python=sys.executable, lab=HERE / "lab.py", folder=cls.lab.folder))
        move.chmod(0o755)
        cls.standin_options = ("--lab", cls.lab.folder, "--migrate-command", move)
        super().setUpClass()

    def real_vm(self, name: str, guest: Guest):
        guests.start(self.lab.hosts[self.nodes[0]], guest)
        self.addCleanup(lambda: [guests.remove(host, guest.name) for host in self.lab.hosts.values()])
        self.vm(name, node=self.nodes[0], grace=GRACE, memory=f"{guest.memory}Mi")
        self.until(lambda: self.guests_seen_on(self.nodes[0]) == 1)

    def guests_seen_on(self, node: str) -> int:
        """How many launchers the agent there knows."""
        address = re.search(r"metrics address=(\S+) tls=false", self.whole_log_of(node))[1]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=20) as answer:
            found = re.search(r"^virt_scout_agent_guests (\d+)$", answer.read().decode(), re.MULTILINE)
        return int(found[1])

    def guest_state(self, node: str, name: str) -> tuple[str, str]:
        return guests.state(self.lab.hosts[node], f"{self.space}_{name}")

    def told_by_guest(self, name: str) -> str:
        return "".join(guests.console(host, f"{self.space}_{name}") for host in self.lab.hosts.values())

    def print_timeline(self, title: str, name: str):
        """What happened to it, in seconds since the mark."""
        story = self.told(name)
        mark = next(one for one in story if one["event"] == "mark")
        print(f"\n{title}: killed {KILLED_AFTER} s after its mark, and the last {RESERVE} s are its own")
        last = None
        for one in story:
            by = f"by {one['by']}" if one.get("by") else ""
            more = " ".join(filter(None, (one.get("phase"), one.get("answer"), by, one.get("text"))))
            said = f"{one['event']:20} {more}".rstrip()
            if said != last:
                print(f"  {seconds_between(mark, one):8.3f} s  {one.get('node', ''):7} {said[:160]}")
            last = said

    def test_1_a_vm_is_moved_before_its_node_kills_it(self):
        self.real_vm("small", Guest(f"{self.space}_small", 128, 100, 16, 8))

        self.tell("mark", "small")
        end = self.end_of("small")
        self.print_timeline("a VM that is moved", "small")

        self.assertEqual(end["event"], "moved")
        self.assertEqual(self.told("small", "acpi"), [])
        self.assertLess(seconds_between(self.told("small", "mark")[0], end), KILLED_AFTER - RESERVE)
        self.assertEqual(self.guest_state("host-b", "small"), ("running", "migrated"))
        host = self.lab.hosts["host-b"]
        before = guests.last_count(host, f"{self.space}_small")
        self.until(lambda: guests.last_count(host, f"{self.space}_small") > before + 5, 20)
        counts = re.findall(r"^alive (\d+)$", self.told_by_guest("small"), re.MULTILINE)
        self.assertEqual(counts, [str(number) for number in range(len(counts))])

    def test_2_a_vm_that_cannot_be_moved_in_time_is_shut_down(self):
        self.real_vm("big", Guest(f"{self.space}_big", 128, 100, 100, 64))

        self.tell("mark", "big")
        end = self.end_of("big")
        self.print_timeline("a VM that writes faster than it is copied", "big")

        self.assertEqual(end["event"], "guest-stopped")
        # Its definition goes with its launcher.
        self.assertIn(self.guest_state("host-a", "big"), (("shut off", "shutdown"), ("absent", "")))
        self.assertEqual(self.guest_state("host-b", "big")[0], "absent")
        self.assertIn("power button\n", self.told_by_guest("big"))
        self.assertLess(seconds_between(self.told("big", "mark")[0], end), KILLED_AFTER)
        self.assertEqual(self.told("big", "guest-killed"), [])


if __name__ == "__main__":
    run_stories(__doc__, "lab", missing_part())
