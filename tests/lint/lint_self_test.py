#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that every lint rule can fail, and that it lets the allowed neighbour pass."""

import tempfile
import unittest
from pathlib import Path

from lint import check
from rules import RULES

HEAD = "// SPDX-License-Identifier: Apache-2.0\n"
ONCE = HEAD + "#pragma once\n"

# rule -> (wrong: [(path, text)], right: [(path, text)])
CASES = {
    "libvirt-outside-glue": (
        [("agent/a.cpp", HEAD + "#include <libvirt/libvirt.h>\n")],
        [("libvirt_glue/a.cpp", HEAD + "#include <libvirt/libvirt.h>\n")]),
    "protobuf-outside-wire": (
        [("migration/a.h", ONCE + '#include "virt_scout/v1/fleet.pb.h"\n'),
         ("agent/core.cpp", HEAD + '#include "virt_scout/v1/fleet.grpc.pb.h"\n')],
        [("wire/a.h", ONCE + '#include "virt_scout/v1/fleet.pb.h"\n'),
         ("cli/fleet_client.cpp", HEAD + '#include "virt_scout/v1/fleet.pb.h"\n')]),
    "json-in-migration": (
        [("migration/a.cpp", HEAD + "#include <boost/json/value.hpp>\n")],
        [("cli/a.cpp", HEAD + "#include <boost/json/value.hpp>\n")]),
    "io-in-migration": (
        [("migration/a.cpp", HEAD + "#include <fstream>\n")],
        [("documents/a.cpp", HEAD + "#include <fstream>\n")]),
    "real-clock": (
        [("agent/a.cpp", HEAD + "auto t = std::chrono::steady_clock::now();\n"),
         ("aggregator/a.cpp", HEAD + "SystemClock clock;\n"),
         ("cli/a.cpp", HEAD + "auto t = std::time(nullptr);\n")],
        [("agent/main.cpp", HEAD + "scout::SystemClock clock;\n"),
         ("base/a.cpp", HEAD + "auto t = std::chrono::steady_clock::now();\n"),
         ("agent/b.cpp", HEAD + "// unlike steady_clock::now this one can be set\n")]),
    "wildcard-capture": (
        [("agent/a.cpp", HEAD + "auto f = [&] { return 1; };\n"),
         ("agent/b.cpp", HEAD + "auto f = [=, x = 1] { return x; };\n")],
        [("tests/agent/a.cpp", HEAD + "auto f = [&] { return 1; };\n"),
         ("agent/c.cpp", HEAD + "auto f = [&x, y] { return x + y; };\n")]),
    "detached": (
        [("agent/a.cpp", HEAD + "asio::co_spawn(loop, run(), asio::detached);\n"),
         ("agent/b.cpp", HEAD + "std::thread(run).detach();\n")],
        [("agent/c.cpp", HEAD + "scope.spawn(\"run\", run());  // never detached\n")]),
    "await-with-temporary": (
        [("agent/a.cpp", HEAD + "co_await send(Report{1});\n"),
         ("agent/b.cpp", HEAD + "co_await offload(pool, 2s,\n    [x] { return x; });\n"),
         ("agent/c.cpp", HEAD + "if (co_await send(Report{1})) {\n}\n")],
        [("agent/d.cpp", HEAD + "auto [ec, n] = co_await read(std::move(buffer));\n"),
         ("agent/e.cpp", HEAD + "while (co_await next()) {\n    step();\n}\n")]),
    "throwing-number": (
        [("cli/a.cpp", HEAD + "int n = std::stoi(text);\n"),
         ("cli/b.cpp", HEAD + "int n = atoi(text);\n")],
        [("cli/c.cpp", HEAD + "auto r = std::from_chars(b, e, n);\n")]),
    "sleep": (
        [("agent/a.cpp", HEAD + "std::this_thread::sleep_for(1s);\n"),
         ("agent/b.cpp", HEAD + "usleep(5);\n")],
        [("tests/agent/a.cpp", HEAD + "std::this_thread::sleep_for(1ms);\n")]),
    "licence-line": (
        [("base/a.cpp", "int x;\n"), ("tools/run", "#!/bin/bash\n"),
         ("base/CMakeLists.txt", "scout_library(x)\n")],
        [("base/b.cpp", HEAD), ("tools/test", "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\n"),
         ("README.md", "# virt-scout\n")]),
    "file-length": (
        [("base/a.cpp", HEAD + "\n" * 400), ("agent/main.cpp", HEAD + "\n" * 150),
         ("tests/base/a_test.cpp", HEAD + "\n" * 500)],
        [("base/b.cpp", HEAD + "\n" * 399), ("tests/base/b_test.cpp", HEAD + "\n" * 499)]),
    "pragma-once": ([("base/a.h", HEAD)], [("base/b.h", ONCE)]),
    "using-namespace": (
        [("base/a.h", ONCE + "using namespace std;\n")],
        [("base/a.cpp", HEAD + "using namespace std::chrono_literals;\n")]),
    "machine-path": (
        [("base/a.cpp", HEAD + 'auto p = "/home/someone/x";\n'), ("README.md", "see /root/tree\n"),
         ("docs/a.md", "from deb.debian.org\n")],
        [("tools/lib/a.sh", "# SPDX-License-Identifier: Apache-2.0\nmktemp -p \"${TMPDIR:-/tmp}\"\n"),
         ("docs/b.md", "the file lies in build/release/bin, see /var/lib/virt-scout\n")]),
    "left-over": (
        [("base/a.cpp", HEAD + "// TODO: later\n")], [("base/b.cpp", HEAD + "int todo_count;\n")]),
}


def findings_of(files, rule, allow_lines=None):
    with tempfile.TemporaryDirectory() as folder:
        root, allow = Path(folder) / "tree", Path(folder) / "allow"
        allow.mkdir(parents=True)
        for path, text in files:
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        if allow_lines is not None:
            (allow / f"{rule}.txt").write_text(allow_lines)
        return check(root, allow)


class LintTest(unittest.TestCase):
    def test_every_rule_has_a_case(self):
        self.assertEqual({rule.name for rule in RULES}, set(CASES))

    def test_every_rule_finds_what_is_wrong(self):
        for rule, (wrong, _) in CASES.items():
            for path, text in wrong:
                with self.subTest(rule=rule, path=path):
                    found = findings_of([(path, text)], rule)
                    self.assertTrue(any(f": {rule}: " in line for line in found), found)

    def test_every_rule_lets_the_neighbour_pass(self):
        for rule, (_, right) in CASES.items():
            for path, text in right:
                with self.subTest(rule=rule, path=path):
                    self.assertEqual(findings_of([(path, text)], rule), [])

    def test_an_exception_is_honoured_and_must_be_needed(self):
        wrong = ("cli/a.cpp", HEAD + "int n = std::stoi(text);\n")
        listed = "cli/a.cpp  # reads a number that a library prints\n"
        self.assertEqual(findings_of([wrong], "throwing-number", listed), [])
        found = findings_of([("cli/a.cpp", HEAD)], "throwing-number", listed)
        self.assertIn("needs no exception", found[0])

    def test_an_exception_without_a_reason_is_refused(self):
        with self.assertRaises(SystemExit):
            findings_of([("cli/a.cpp", HEAD)], "throwing-number", "cli/a.cpp\n")


if __name__ == "__main__":
    unittest.main()
