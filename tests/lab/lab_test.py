#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lab itself, and the two ends of a move: a guest that runs on elsewhere, and one that cannot be moved in
time and is shut down instead.

usage: lab_test.py [unittest options]
"""

import os
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import guests
import moves
from guests import Guest
from hosts import HERE, Lab, missing_part, read_lab
from moves import Settings
from until import until

MOVE_LIMIT = 20.0  # seconds for a small guest that hardly writes
SHUTDOWN_LIMIT = 5.0


def processes_naming(text: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line:
            found.append(line)
    return found


class LabTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.down)
        cls.lab.__enter__()
        cls.source, cls.target = cls.lab.hosts.values()

    def guest(self, *words) -> str:
        made = Guest(*words)
        self.addCleanup(lambda: [guests.remove(host, made.name) for host in self.lab.hosts.values()])
        guests.start(self.source, made)
        return made.name

    def told(self, name) -> str:
        """All that the guest has said, on one host and then on the other."""
        return guests.console(self.source, name) + guests.console(self.target, name)

    def test_a_guest_runs_on_after_its_move(self):
        name = self.guest("shop_db", 64, 40, 16, 4)
        self.assertTrue(until(lambda: guests.last_count(self.source, name) >= 3, 10))

        made = moves.migrate(self.source, self.target, name)

        self.assertEqual(made.end, "converged", made.error)
        self.assertLess(made.seconds, MOVE_LIMIT)
        self.assertEqual(guests.state(self.source, name), ("shut off", "migrated"))
        self.assertEqual(guests.state(self.target, name), ("running", "migrated"))
        moved_at = guests.last_count(self.source, name)
        self.assertTrue(until(lambda: guests.last_count(self.target, name) >= moved_at + 10, 10))
        # No number is missing, and none is told twice.
        counts = [int(number) for number in re.findall(r"^alive (\d+)$", self.told(name), re.MULTILINE)]
        self.assertEqual(counts, list(range(len(counts))))

    def test_a_guest_that_cannot_be_moved_in_time_is_shut_down_instead(self):
        name = self.guest("shop_cache", 96, 64, 64, 64)

        made = moves.migrate(self.source, self.target, name, Settings(bandwidth=16, limit=5))

        self.assertEqual(made.end, "aborted", made.error)
        self.assertFalse(made.moved)
        self.assertEqual(guests.state(self.source, name)[0], "running")
        self.assertEqual(guests.state(self.target, name)[0], "absent")
        guests.shut_down(self.source, name)
        self.assertTrue(until(lambda: guests.state(self.source, name) == ("shut off", "shutdown"),
                              SHUTDOWN_LIMIT))
        self.assertIn("power button\n", self.told(name))

    def test_the_dirty_rate_is_what_the_guest_writes(self):
        # libvirt looks at few pages of so small a guest: only the order of magnitude is certain.
        name = self.guest("shop_writer", 128, 100, 100, 60)
        self.assertTrue(20 <= moves.dirty_rate(self.source, name) <= 120)


class CleaningUpTest(unittest.TestCase):
    def test_nothing_is_left_of_a_lab_that_is_killed(self):
        up = subprocess.Popen([sys.executable, "-B", HERE / "lab.py", "up"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
        try:
            folder = Path(re.search(r'"folder": "([^"]+)"', up.stdout.readline())[1])
            host = next(iter(read_lab(folder).values()))
            guests.start(host, Guest("shop_left"))
            self.assertNotEqual(processes_naming(str(folder)), [])
        finally:
            os.kill(up.pid, signal.SIGKILL)
            up.wait()
            up.stdin.close()
            up.stdout.close()
        self.assertTrue(until(lambda: not folder.exists(), 10), f"{folder} is left")
        self.assertTrue(until(lambda: not processes_naming(str(folder)), 10),
                        f"left: {processes_naming(str(folder))}")


if __name__ == "__main__":
    missing = missing_part()
    if missing:
        print(f"no lab: {missing}")
        sys.exit(0)
    unittest.main(verbosity=2)
