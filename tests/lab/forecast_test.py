#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The forecast of migration/convergence.h against real migrations: guests that are idle and guests that write
to their memory, under limits of bandwidth so that little memory is enough. Prints what was measured, what was
forecast, and the ratio.

usage: forecast_test.py LAB_FORECAST [unittest options]
"""

import json
import subprocess
import sys
import unittest
from dataclasses import dataclass
from pathlib import Path

import guests
import moves
from guests import Guest
from hosts import Lab, missing_part
from moves import Settings

FORECAST = Path()
BUDGET = 12.0  # seconds that a move may take in all
FACTOR = 1.5
FIRMWARE_MIB = 3  # pages that are not zero in a guest that has filled none
NAME = "shop_vm"


@dataclass(frozen=True)
class Run:
    what: str
    guest: Guest
    settings: Settings


def guest(memory: int, fill: int, rate: int = 0, set: int | None = None) -> Guest:
    return Guest(NAME, memory, fill, fill if set is None else set, rate)


RUNS = (
    Run("idle", guest(128, 100), Settings(bandwidth=32)),
    Run("idle, slow link", guest(256, 224), Settings(bandwidth=16)),
    Run("writes a little", guest(128, 100, 8), Settings(bandwidth=32)),
    Run("writes nearly as fast as the link", guest(128, 100, 24), Settings(bandwidth=32)),
    Run("writes to few pages, often", guest(128, 100, 200, set=6), Settings(bandwidth=32)),
    Run("writes faster than the link", guest(128, 100, 48), Settings(bandwidth=32, limit=8)),
    Run("writes much faster than the link", guest(128, 100, 90), Settings(bandwidth=16, limit=10)),
    Run("slowed by auto-converge", Guest(NAME, 96, 60, 60, 32, ticks=400),
        Settings(bandwidth=24, auto_converge=True, limit=60)),
    Run("switched to post-copy", guest(128, 100, 48),
        Settings(bandwidth=16, post_copy=True, disruption=True, limit=6)),
    Run("paused for the rest", guest(128, 100, 20), Settings(bandwidth=16, disruption=True, limit=9)),
)


def forecast(run: Run, link: int, start: float) -> dict:
    settings = run.settings
    numbers = {"memory": run.guest.fill + FIRMWARE_MIB, "dirty": min(run.guest.rate, run.guest.set),
               "link": link, "bandwidth": settings.bandwidth or 0, "start": round(start * 1000),
               "limit": round(settings.limit or 0), "auto-converge": int(settings.auto_converge),
               "post-copy": int(settings.post_copy), "disruption": int(settings.disruption)}
    words = [f"{name}={number}" for name, number in numbers.items()]
    done = subprocess.run([FORECAST, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=10, check=True)
    return json.loads(done.stdout)["expected"]


def verdict(moved: bool, seconds: float) -> str:
    if not moved:
        return "does not end"
    return "in time" if seconds <= BUDGET else "too late"


class ForecastTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.down)
        cls.lab.__enter__()
        cls.source, cls.target = cls.lab.hosts.values()
        # What earlier moves have shown: the link, and how long it takes to start.
        cls.link = cls.move(Run("", guest(256, 224), Settings())).job["memory_bps"] >> 20
        cls.start_seconds = cls.move(Run("", guest(64, 0), Settings())).seconds

    @classmethod
    def move(cls, run: Run) -> moves.Move:
        try:
            guests.start(cls.source, run.guest)
            return moves.migrate(cls.source, cls.target, NAME, run.settings)
        finally:
            for host in cls.lab.hosts.values():
                guests.remove(host, NAME)

    def test_forecast_is_right(self):
        print(f"\nstart {self.start_seconds:.1f} s, link {self.link} MiB/s, budget {BUDGET:.0f} s\n"
              f"{'guest':33} {'measured':>32} {'forecast':>32} {'ratio':>6}")
        right, off = 0, []
        for run in RUNS:
            made, told = self.move(run), forecast(run, self.link, self.start_seconds)
            self.assertNotEqual(made.end, "failed", made.error)
            verdicts = verdict(made.moved, made.seconds), verdict(told["moved"], told["seconds"])
            right += verdicts[0] == verdicts[1]
            ratio = told["seconds"] / made.seconds
            if made.moved and not 1 / FACTOR <= ratio <= FACTOR:
                off.append(run.what)
            print(f"{run.what:33} {made.end:>9} {made.seconds:6.1f} s, {verdicts[0]:12} "
                  f"{told['end']:>9} {told['seconds']:6.1f} s, {verdicts[1]:12} {ratio:6.2f}", flush=True)
        print(f"{right} of {len(RUNS)} verdicts are right", flush=True)
        self.assertGreaterEqual(right, 9)
        self.assertEqual(off, [], f"times that are off by more than a factor of {FACTOR}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    FORECAST = Path(sys.argv.pop(1))
    missing = missing_part()
    if missing:
        print(f"no lab: {missing}")
        sys.exit(0)
    unittest.main(verbosity=2)
