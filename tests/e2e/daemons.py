# SPDX-License-Identifier: Apache-2.0
"""What tests of the whole programs share: daemons in a folder of their own, asked through scoutctl."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

STOP_LIMIT = 5.0  # seconds that a daemon may take to end
START_LIMIT = 60.0
CAN, CANNOT, ERROR, UNKNOWN = 0, 1, 2, 3  # scoutctl's exit codes


def processes_naming(text: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and int(entry.name) != os.getpid():
            found.append(f"{entry.name}: {line}")
    return found


class DaemonsTest(unittest.TestCase):
    """The daemons that its tests start, by name; those that are left are stopped in the end."""

    bin = Path()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="virt-scout-e2e.")
        cls.state = Path(cls.folder.name)
        cls.state.chmod(0o711)
        cls.daemons = {}

    @classmethod
    def tearDownClass(cls):
        for name in list(cls.daemons):
            cls.stop(name)
        cls.folder.cleanup()

    @classmethod
    def start(cls, name, *options, program="", **environment):
        """virt-scout-NAME, or another program of ours under that name."""
        log = (cls.state / f"{name}.log").open("ab")
        cls.daemons[name] = subprocess.Popen(
            [cls.bin / f"virt-scout-{program or name}", "--listen-http", "127.0.0.1:0",
             "--state-dir", cls.state / name, *options],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **environment})
        log.close()

    @classmethod
    def stop(cls, name, sent=signal.SIGTERM):
        """Seconds until the end, and the exit code."""
        daemon = cls.daemons.pop(name)
        begun = time.monotonic()
        daemon.send_signal(sent)
        try:
            code = daemon.wait(timeout=STOP_LIMIT + 5)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
            code = None
        return time.monotonic() - begun, code

    @classmethod
    def log_of(cls, name):
        return (cls.state / f"{name}.log").read_text(errors="replace")[-4000:]

    @classmethod
    def ask(cls, *words):
        done = subprocess.run(
            [cls.bin / "scoutctl", "--aggregator", f"unix:{cls.state}/query.sock", *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
        return done.returncode, done.stdout, done.stderr

    @classmethod
    def ask_json(cls, *words):
        code, out, err = cls.ask(*words, "-o", "json")
        assert code != ERROR, f"scoutctl {words}: {err}"
        return code, json.loads(out)

    @classmethod
    def until(cls, done, seconds=START_LIMIT):
        """Asks until the answer is true; no daemon may end meanwhile."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            for name, daemon in cls.daemons.items():
                assert daemon.poll() is None, f"{name} ended by itself:\n{cls.log_of(name)}"
            if done():
                return
            time.sleep(0.1)
        raise AssertionError("it did not come about:\n" +
                             "\n".join(cls.log_of(name) for name in cls.daemons))
