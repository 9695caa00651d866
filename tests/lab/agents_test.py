#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A guest that really moves, as users see it: an agent on each host of the lab reads the launchers there, an
aggregator has both reports, and scoutctl tells where the guest is.

usage: agents_test.py BIN LAUNCHERS [unittest options]
"""

import json
import sys
import unittest
from pathlib import Path

from hosts import HERE, Lab, missing_part

sys.path.insert(0, str(HERE.parent / "e2e"))
from daemons import ERROR, DaemonsTest  # noqa: E402

import guests  # noqa: E402
import moves  # noqa: E402
from launchers import Launcher  # noqa: E402

LAUNCHERS = Path()
NAME, VMI = "shop_db", "shop/db"
UID = "5e1f0000-0000-4000-8000-000000000001"
PODS = ("0b6c7d1e-1111-4222-8333-000000000001", "0b6c7d1e-1111-4222-8333-000000000002")


class AgentsTest(DaemonsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.down)
        cls.lab.__enter__()
        cls.source, cls.target = cls.lab.hosts.values()
        guests.start(cls.source, guests.Guest(NAME, 128, 100, 16, 8))
        cls.launchers = []
        for host, pod in ((cls.source, PODS[0]), (cls.target, PODS[1])):
            cls.launchers.append(Launcher(LAUNCHERS, host, NAME, pod, UID))
            cls.addClassCleanup(cls.launchers[-1].close)
        cls.start("aggregator", "--standalone", "--listen-grpc", f"unix:{cls.state}/agents.sock",
                  "--query-socket", f"{cls.state}/query.sock")
        for host in cls.lab.hosts.values():
            cls.start(host.name, "--aggregator-address", f"unix:{cls.state}/agents.sock",
                      "--node-name", host.name, "--pods-dir", str(host.folder / "pods"), program="agent")

    @classmethod
    def places(cls) -> dict[str, str]:
        """State by node."""
        code, out, _ = cls.ask("guests", "-o", "json")
        if code == ERROR:
            return {}
        return {guest["node"]: guest["state"] for guest in json.loads(out)["guests"]
                if guest["name"] == VMI}

    def test_a_guest_is_where_it_runs(self):
        self.until(lambda: self.places() == {self.source.name: "running"})
        self.assertEqual(self.ask_json("where", VMI)[1]["source"], self.source.name)

        move = moves.migrate(self.source, self.target, NAME)
        self.assertTrue(move.moved, move.error)
        self.launchers[0].ask("DeleteVirtualMachine")

        self.until(lambda: self.places() == {self.target.name: "running"})
        self.assertEqual(self.ask_json("where", VMI)[1]["source"], self.target.name)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    DaemonsTest.bin, LAUNCHERS = Path(sys.argv.pop(1)), Path(sys.argv.pop(1))
    missing = missing_part()
    if not missing and not LAUNCHERS.is_file():
        missing = f"{LAUNCHERS} is not built (tools/lib/launchers.sh)"
    if missing:
        print(f"no lab: {missing}")
        sys.exit(0)
    unittest.main(verbosity=2)
