#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real programs together: an aggregator with sample documents and an agent of this host with the
embedded driver, asked through scoutctl; then both are stopped and nothing may be left.

usage: standalone_test.py BIN SAMPLES [unittest options]
"""

import json
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from daemons import CAN, CANNOT, ERROR, START_LIMIT, STOP_LIMIT, DaemonsTest, processes_naming

SAMPLES = Path()
NODE = "this-host"


class StandaloneTest(DaemonsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_aggregator()
        cls.start("agent", "--aggregator-address", f"unix:{cls.state}/agents.sock",
                  "--node-name", NODE)
        cls.wait_until_reported()

    @classmethod
    def start_aggregator(cls):
        cls.start("aggregator", "--standalone", "--listen-grpc", f"unix:{cls.state}/agents.sock",
                  "--query-socket", f"{cls.state}/query.sock", "--sample-documents", str(SAMPLES))

    @classmethod
    def wait_until_reported(cls):
        def reported():
            code, out, _ = cls.ask("node", NODE, "-o", "json")
            return code == CAN and json.loads(out)["digest"]

        cls.until(reported)

    def test_1_nodes_lists_this_host_and_the_samples(self):
        code, answer = self.ask_json("nodes")
        self.assertEqual(code, CAN)
        nodes = {node["node"]: node for node in answer["nodes"]}
        samples = {path.stem for path in SAMPLES.glob("*.xml")}
        self.assertEqual(set(nodes), samples | {NODE})
        self.assertEqual(nodes[NODE]["freshness"], "fresh")
        self.assertEqual(nodes[NODE]["source"], "embedded")
        for name in samples:
            self.assertEqual(nodes[name]["source"], "sample")
            self.assertTrue(nodes[name]["comparable"], nodes[name]["reason"])
        self.assertTrue(nodes[NODE]["comparable"] or nodes[NODE]["reason"])

    def test_2_where_says_yes_and_no_with_the_reason(self):
        code, answer = self.ask_json("where", "host-model@intel-skylake")
        self.assertEqual(code, CAN)
        nodes = {node["node"]: node for node in answer["nodes"]}
        self.assertEqual(nodes["intel-icelake"]["verdict"], "can")
        self.assertEqual(nodes["amd-epyc"]["verdict"], "cannot")
        self.assertIn("vendor", [reason["code"] for reason in nodes["amd-epyc"]["reasons"]])

    def test_3_why_not_names_the_exact_features(self):
        code, out, _ = self.ask("why-not", "host-model@intel-icelake", "intel-skylake")
        self.assertEqual(code, CANNOT)
        for feature in ("gfni", "vaes", "la57", "sha-ni"):
            self.assertIn(feature, out)

    def test_4_matrix_has_a_row_for_every_node(self):
        _, answer = self.ask_json("matrix")
        text = json.dumps(answer)
        for name in ("intel-skylake", "intel-icelake", "amd-epyc", NODE):
            self.assertIn(name, text)

    def test_5_an_unknown_node_is_an_error_that_names_it(self):
        code, _, err = self.ask("node", "no-such-node")
        self.assertEqual(code, ERROR)
        self.assertIn("no-such-node", err)

    def test_6_a_restarted_aggregator_answers_at_once_from_its_snapshot(self):
        _, before = self.ask_json("node", NODE)
        took, code = self.stop("aggregator")
        self.assertLess(took, STOP_LIMIT)
        self.assertEqual(code, 0, self.log_of("aggregator"))
        self.start_aggregator()
        until = time.monotonic() + 10
        code = ERROR
        while code == ERROR and time.monotonic() < until:
            code, out, err = self.ask("node", NODE, "-o", "json")
            time.sleep(0.05)
        self.assertEqual(code, CAN, err)
        self.assertEqual(json.loads(out)["digest"], before["digest"])

    def test_7_a_second_aggregator_is_refused_the_live_socket(self):
        done = subprocess.run(
            [self.bin / "virt-scout-aggregator", "--standalone", "--listen-http", "127.0.0.1:0",
             "--listen-grpc", f"unix:{self.state}/agents.sock", "--query-socket", "",
             "--state-dir", self.state / "second"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("agents.sock", done.stdout + done.stderr)
        self.assertEqual(self.ask("nodes")[0], CAN)

    def test_7b_wrong_settings_end_with_code_2_and_a_sentence(self):
        file = self.state / "file"
        file.write_text("precious")
        for name, *words in (("agent",), ("aggregator", "--standalone", "--plaintext")):
            for check in ([], ["--check-config"]):
                done = subprocess.run(
                    [self.bin / f"virt-scout-{name}", *words, "--state-dir", file, *check],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30,
                    check=False)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn("--state-dir: expected a folder that this process may write",
                              done.stderr)
                self.assertNotIn("ready", done.stdout)
        self.assertEqual(file.read_text(), "precious")

    def test_7c_the_first_example_of_the_help_works_as_written(self):
        shown = subprocess.run([self.bin / "virt-scout-aggregator", "--help"], capture_output=True,
                               text=True, timeout=30, check=True).stdout
        example = shown.split("Examples:")[1].strip().splitlines()[0].split()
        self.assertEqual(example[0], "virt-scout-aggregator")
        # Only the ports may be taken on this machine.
        daemon = subprocess.Popen(
            [self.bin / example[0], *example[1:], "--listen-grpc", "127.0.0.1:0", "--listen-http",
             "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.addCleanup(daemon.stdout.close)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        limit = threading.Timer(START_LIMIT, daemon.kill)
        self.addCleanup(limit.cancel)
        limit.start()
        log = []
        for line in daemon.stdout:
            log.append(line)
            if " ready " in line:
                daemon.terminate()
        self.assertEqual(daemon.wait(timeout=30), 0, "".join(log))
        self.assertTrue(any(" ready " in line for line in log), "".join(log))

    def test_7d_a_listener_that_ran_out_of_descriptors_serves_again(self):
        place = self.state / "few.sock"
        log = self.state / "few.log"
        with log.open("wb") as out:
            daemon = subprocess.Popen(
                [self.bin / "virt-scout-aggregator", "--standalone", "--plaintext", "--listen-grpc",
                 "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--query-socket", place,
                 "--snapshot-file="], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        until = time.monotonic() + START_LIMIT
        while " ready " not in log.read_text() and time.monotonic() < until:
            time.sleep(0.05)
        http = re.search(r" http=(\S+)", log.read_text()).group(1)
        self.assertEqual(self.readiness(http), (200, "ready"))
        peers = [socket.socket(socket.AF_UNIX) for _ in range(60)]
        for peer in peers:
            self.addCleanup(peer.close)
            peer.connect(str(place))
        while "connections have to wait" not in log.read_text() and time.monotonic() < until:
            time.sleep(0.05)
        self.assertIn("connections have to wait", log.read_text())
        for peer in peers:
            peer.close()
        asked = subprocess.run(
            [self.bin / "scoutctl", "--aggregator-address", f"unix:{place}", "nodes"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_LIMIT)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertEqual(self.readiness(http), (200, "ready"))
        daemon.terminate()
        self.assertEqual(daemon.wait(timeout=STOP_LIMIT + 5), 0, log.read_text())

    @staticmethod
    def readiness(address):
        """Status and text; 0 where nobody answers."""
        try:
            with urllib.request.urlopen(f"http://{address}/readyz", timeout=5) as answer:
                return answer.status, answer.read().decode().strip()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode().strip()
        except OSError:
            return 0, ""

    def test_8_both_stop_in_time_and_leave_nothing(self):
        for name, sent in (("agent", signal.SIGTERM), ("aggregator", signal.SIGINT)):
            took, code = self.stop(name, sent)
            self.assertLess(took, STOP_LIMIT)
            self.assertEqual(code, 0, self.log_of(name))
        self.assertEqual(processes_naming(str(self.state)), [])
        self.assertEqual(list(self.state.glob("*.sock")), [])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    DaemonsTest.bin, SAMPLES = Path(sys.argv.pop(1)), Path(sys.argv.pop(1))
    unittest.main(verbosity=2)
