#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launchers of guests that really run: what they answer, and what SIGTERM to one leads to.

usage: launchers_test.py LAUNCHERS [unittest options]
"""

import sys
import time
import unittest
from pathlib import Path

import guests
import moves
from guests import Guest
from hosts import Lab, missing_part
from launchers import Launcher
from until import until

PROGRAM = Path()
NAME = "shop_db"
VMI = "5e1f0000-0000-4000-8000-000000000001"
PODS = ("0b6c7d1e-1111-4222-8333-000000000001", "0b6c7d1e-1111-4222-8333-000000000002")
NOT_YET_HERE = (("Paused", "Migration"), ("Paused", "StartingUp"))
SEEN = 5.0  # seconds until a launcher tells what libvirt knows
KILL_AFTER = 15.0  # seconds after the grace time
RESERVE = 10.0  # of it, for the guest's own shutdown


class LaunchersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.down)
        cls.lab.__enter__()
        cls.source, cls.target = cls.lab.hosts.values()

    def setUp(self):
        self.addCleanup(lambda: [guests.remove(host, NAME) for host in self.lab.hosts.values()])

    def launcher(self, host, pod, grace=30) -> Launcher:
        made = Launcher(PROGRAM, host, NAME, pod, VMI, grace)
        self.addCleanup(made.close)
        return made

    def test_a_move_as_both_launchers_see_it(self):
        guests.start(self.source, Guest(NAME, 128, 100, 16, 8))
        old, new = self.launcher(self.source, PODS[0]), self.launcher(self.target, PODS[1])
        told = old.domain()
        self.assertEqual(told["ObjectMeta"]["namespace"], "shop")
        self.assertEqual(told["Spec"]["Memory"], {"Value": 128 * 1024, "Unit": "KiB"})
        self.assertEqual(told["Spec"]["CPU"]["Model"], "qemu64")
        self.assertEqual(old.status(), ("Running", "Unknown"))
        self.assertIsNone(old.metadata()["GracePeriod"]["MarkedForGracefulShutdown"])
        self.assertIsNone(new.domain())

        old.terminate()
        self.assertTrue(until(lambda: old.metadata()["GracePeriod"]["MarkedForGracefulShutdown"], SEEN))
        self.assertEqual(old.status(), ("Running", "Unknown"))
        moving = moves.start(self.source, self.target, NAME, moves.Settings(bandwidth=32))
        self.assertTrue(until(lambda: old.job().get("DataRemainingSet"), 10))
        self.assertTrue(until(lambda: new.status() in NOT_YET_HERE, SEEN))
        self.assertTrue(moving.result().moved)

        self.assertTrue(until(lambda: new.status() == ("Running", "Unknown"), SEEN))
        self.assertIsNone(new.metadata()["GracePeriod"]["MarkedForGracefulShutdown"])
        self.assertEqual(new.metadata()["UID"], VMI)
        self.assertTrue(until(lambda: old.status() == ("Shutoff", "Migrated"), SEEN))
        old.ask("DeleteVirtualMachine")
        self.assertTrue(until(old.has_ended, SEEN))
        self.assertFalse((old.pods / PODS[0]).exists())

    def test_a_guest_that_cannot_be_moved_is_shut_down_before_it_would_be_killed(self):
        guests.start(self.source, Guest(NAME, 96, 64, 64, 64))
        one = self.launcher(self.source, PODS[0], grace=10)
        begun = time.monotonic()
        one.terminate()

        settings = moves.Settings(bandwidth=16, limit=10 + KILL_AFTER - RESERVE)
        made = moves.migrate(self.source, self.target, NAME, settings)
        self.assertEqual(made.end, "aborted", made.error)
        one.ask("ShutdownVirtualMachine")

        self.assertTrue(until(lambda: guests.state(self.source, NAME)[0] == "shut off", RESERVE))
        self.assertLess(time.monotonic() - begun, 10 + KILL_AFTER)
        self.assertEqual(guests.state(self.source, NAME), ("shut off", "shutdown"))
        self.assertEqual(guests.state(self.target, NAME)[0], "absent")

    def test_a_guest_that_is_asked_to_shut_down_does_so(self):
        guests.start(self.source, Guest(NAME))
        one = self.launcher(self.source, PODS[0])
        one.terminate()
        one.ask("ShutdownVirtualMachine")
        self.assertIsNotNone(one.metadata()["GracePeriod"]["DeletionTimestamp"])
        self.assertTrue(until(lambda: one.status() == ("Shutoff", "Shutdown"), SEEN))
        self.assertEqual(guests.state(self.source, NAME), ("shut off", "shutdown"))

    def test_a_guest_that_nobody_stops_is_killed_after_its_grace_time(self):
        guests.start(self.source, Guest(NAME))
        one = self.launcher(self.source, PODS[0], grace=1)
        begun = time.monotonic()
        one.terminate()
        self.assertTrue(until(lambda: guests.state(self.source, NAME)[0] == "shut off", 30))
        self.assertGreaterEqual(time.monotonic() - begun, 1 + KILL_AFTER)
        self.assertEqual(guests.state(self.source, NAME), ("shut off", "destroyed"))

    def test_a_launcher_without_a_domain_just_leaves(self):
        one = self.launcher(self.source, PODS[0])
        one.terminate()
        self.assertTrue(until(one.has_ended, SEEN))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = Path(sys.argv.pop(1))
    missing = missing_part()
    if not missing and not PROGRAM.is_file():
        missing = f"{PROGRAM} is not built (tools/lib/launchers.sh)"
    if missing:
        print(f"no lab: {missing}")
        sys.exit(0)
    unittest.main(verbosity=2)
