#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many VMs of one node are told to stop: how soon each is asked to be moved, and that none is lost among the others.

usage: crowd_test.py BIN LAUNCHERS BED [unittest options]
environment: SCOUT_BED, if given, is the bed; SCOUT_TEST_DATA has KubeVirt's definitions
"""

import time

from cluster import moves
from stories import TAKES, StoryTest, run_stories, seconds_between

# For the p99 of mark to request; where the API server itself needs longer than this for a read, nothing is said of it.
MOST_MS, QUIET_MS = 250, 25
MOST_CALLS_EACH = 8
MOST_SECONDS = 20  # most of those that do not fit are let go before; they are killed after 45


def at(values, share):
    """The value that so many of them do not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


class CrowdTest(StoryTest):
    # The guest's own time is as by default: with so many at once virt-handler's questions come late too.
    config = {"evacuation": {"mode": "act"}}

    def test_1_from_mark_to_eviction(self):
        names = [self.vm(f"vm-{number}", strategy="External", node="n2", settles=0) for number in range(120)]
        time.sleep(2)
        marked, reads = [], []
        for name in names:
            self.tell("mark", name)
            begun = time.monotonic()
            self.read(name)
            reads.append((time.monotonic() - begun) * 1000)
            marked.append(seconds_between(self.told(name, "mark")[0], self.event(name, "evacuation-marked")) * 1000)
        requests = self.eviction_requests()
        asked = [seconds_between(self.told(name, "mark")[0], requests[name]) * 1000 for name in names]
        for what, values in (("mark to the eviction's request", asked), ("mark to KubeVirt's mark", marked),
                             ("a read of the VMI", reads)):
            print(f"{what}: p50 {at(values, 0.5):.0f} ms, p99 {at(values, 0.99):.0f} ms, "
                  f"most {max(values):.0f} ms of {len(values)}")
        print(f"p50 of mark to request is {at(asked, 0.5) / at(reads, 0.5):.1f} reads of a VMI")
        self.assertEqual(len(requests), len(names))
        if at(reads, 0.99) < QUIET_MS:
            self.assertLess(at(asked, 0.99), MOST_MS)

    def eviction_requests(self):
        """When the API server got the eviction of each VM's launcher that was no dry run: the second one."""
        requests = {}
        for one in self.calls(self.space):
            if one["objectRef"].get("subresource") == "eviction":
                vm = one["objectRef"]["name"].removeprefix("virt-launcher-").rsplit("-", 1)[0]
                requests.setdefault(vm, []).append({"time": one["requestReceivedTimestamp"]})
        return {vm: sorted(times, key=lambda each: each["time"])[1] for vm, times in requests.items()}

    def test_2_two_hundred_marks_at_once(self):
        names = [self.vm(f"vm-{number}", node="n3", settles=0, **{TAKES: "0.5"}) for number in range(200)]
        time.sleep(2)
        for name in names:
            self.standin.tell(f"mark {self.space}/{name}")
        ends = {name: self.end_of(name) for name in names}
        moved = [name for name, end in ends.items() if end["event"] == "moved"]
        stopped = [name for name, end in ends.items() if end["event"] == "guest-stopped"]
        killed = [(name, [(one["event"], one.get("answer", ""), seconds_between(self.told(name, "mark")[0], one))
                          for one in self.told(name, "hook", "acpi", "guest-killed")])
                  for name, end in ends.items() if end["event"] == "guest-killed"]
        self.assertEqual(killed, [])
        self.assertGreater(len(moved), 0)
        for name in moved:
            # One that was given up while it was handed off may arrive all the same.
            given_up = bool(self.told(name, "evacuation-cancelled"))
            let_go = self.told(name, "acpi") or {one["answer"] for one in self.told(name, "hook")} != {"veto"}
            self.assertFalse(let_go and not given_up, name)
        waited = [seconds_between(self.told(name, "mark")[0], self.told(name, "acpi")[0]) for name in stopped]
        asked = [name for name in stopped if self.told(name, "evacuation-created")]
        print(f"of {len(names)}: {len(moved)} moved, {len(stopped)} let go, {len(asked)} of them after they were begun; "
              f"from mark to ACPI: p50 {at(waited, 0.5):.1f} s, p99 {at(waited, 0.99):.1f} s, most {max(waited):.1f} s")
        self.assertLess(at(waited, 0.5), MOST_SECONDS)
        for name in names:
            self.assertLessEqual(len(self.told(name, "evacuation-created")), 2, name)
        calls = self.our_calls()
        print(f"calls of ours for each: {len(calls) / len(names):.1f}:",
              {call: calls.count(call) for call in sorted(set(calls))})
        self.assertLessEqual(len(calls), MOST_CALLS_EACH * len(names))
        self.until(lambda: not [one for one in self.api.get(moves(self.space))["items"]
                                if one.get("status", {}).get("phase") not in ("Succeeded", "Failed")])


if __name__ == "__main__":
    run_stories(__doc__)
