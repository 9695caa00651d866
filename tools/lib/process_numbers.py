# SPDX-License-Identifier: Apache-2.0
"""Numbers of whole processes, as rows of the table of tools/bench.

usage: process_numbers.py BIN SAMPLES LAUNCHERS
LAUNCHERS: the program of tests/launcher/standin; its rows are left out where it is not built.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 40
IDLE_SECONDS = 30.0
SETTLE_SECONDS = 5.0
START_LIMIT = 60.0


def row(what, measured, peer, ratio, must_be, met):
    print(f"{what:<52} | {measured:<12} | {peer:<34} | {ratio:<10} | {must_be:<12} | "
          f"{'met' if met else 'NOT MET'}", flush=True)


def median_seconds(command, runs=RUNS):
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        times.append(time.perf_counter() - begun)
    return sorted(times)[len(times) // 2]


def compare_as_a_process(binaries, samples):
    ours = median_seconds([binaries / "scoutctl", "compare", samples / "intel-skylake.xml",
                           samples / "intel-icelake.xml", "-o", "json"])
    peer = median_seconds(["/bin/true"])
    row("scoutctl compare of two documents, whole process", f"{ours * 1e3:.1f} ms",
        f"/bin/true: {peer * 1e3:.1f} ms", f"{ours / peer:.1f} x", "< 50 ms", ours < 0.05)


def memory_kib(pid, kind):
    """VmRSS: resident now; VmHWM: the most that ever was."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1])
    raise RuntimeError(f"process {pid} says nothing of its memory")


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_reported(binaries, folder, agent):
    until = time.monotonic() + START_LIMIT
    while time.monotonic() < until:
        if agent.poll() is not None:
            break
        done = subprocess.run(
            [binaries / "scoutctl", "--aggregator", f"unix:{folder}/query.sock", "node", "bench"],
            capture_output=True, check=False)
        if done.returncode == 0:
            return
        time.sleep(0.2)
    raise RuntimeError((Path(folder) / "agent.log").read_text()[-2000:])


class Daemons:
    """An aggregator and an agent that reports to it, until the end of the with statement."""

    def __init__(self, binaries, *options):
        self.binaries, self.options, self.started = binaries, options, []

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="virt-scout-bench.")
        folder = self.folder.name
        os.chmod(folder, 0o711)
        grpc = f"unix:{folder}/agents.sock"
        self.aggregator = self.start("aggregator", "--standalone", "--listen-grpc", grpc,
                                     "--query-socket", f"{folder}/query.sock")
        self.agent = self.start("agent", "--aggregator-address", grpc, "--node-name", "bench",
                                *self.options)
        wait_until_reported(self.binaries, folder, self.agent)
        return self

    def start(self, name, *options):
        with open(f"{self.folder.name}/{name}.log", "wb") as log:
            self.started.append(subprocess.Popen(
                [self.binaries / f"virt-scout-{name}", "--listen-http", "127.0.0.1:0",
                 "--state-dir", f"{self.folder.name}/{name}", *options], stdout=log, stderr=log))
        return self.started[-1]

    def guests(self):
        done = subprocess.run(
            [self.binaries / "scoutctl", "--aggregator", f"unix:{self.folder.name}/query.sock",
             "guests", "-o", "json"], capture_output=True, check=True)
        return len(json.loads(done.stdout)["guests"])

    def idle_share(self):
        """Of a core, in percent, that the agent takes while nothing happens."""
        time.sleep(SETTLE_SECONDS)
        before = cpu_seconds(self.agent.pid)
        time.sleep(IDLE_SECONDS)
        return (cpu_seconds(self.agent.pid) - before) / IDLE_SECONDS * 100

    def __exit__(self, *_):
        for process in reversed(self.started):
            process.send_signal(signal.SIGTERM)
            process.wait()
        self.folder.cleanup()


def agent_at_rest(binaries):
    with Daemons(binaries) as daemons:
        share = daemons.idle_share()
        memory = memory_kib(daemons.agent.pid, "VmRSS") / 1024
        peer = memory_kib(daemons.aggregator.pid, "VmRSS") / 1024
    row("agent with the embedded driver, resident", f"{memory:.1f} MiB",
        f"aggregator with one node: {peer:.1f} MiB", f"{memory / peer:.2f} x", "<= 32 MiB",
        memory <= 32)
    row(f"agent idle for {IDLE_SECONDS:.0f} s, share of a core", f"{share:.2f} %", "-", "-",
        "< 0.5 %", share < 0.5)
    return memory


def agent_with_launchers(binaries, program, count, limit, alone):
    """`alone`: MiB of an agent without launchers, in the same run."""
    with tempfile.TemporaryDirectory(prefix="virt-scout-bench.") as pods:
        launchers = subprocess.Popen([program, "--pods", pods, "--count", str(count)],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            launchers.stdout.readline()
            with Daemons(binaries, "--pods-dir", pods, "--hook-socket",
                         f"{pods}/hook.sock") as daemons:
                until = time.monotonic() + START_LIMIT
                while daemons.guests() < count and time.monotonic() < until:
                    time.sleep(0.2)
                if daemons.guests() != count:
                    raise RuntimeError(f"not all of {count} launchers' guests are known")
                share = daemons.idle_share()
                memory = memory_kib(daemons.agent.pid, "VmRSS") / 1024
        finally:
            launchers.stdin.close()
            launchers.wait()
            launchers.stdout.close()
    row(f"agent with {count} launchers, resident", f"{memory:.1f} MiB",
        f"without: {alone:.1f} MiB", f"{memory / alone:.2f} x", f"<= {limit} MiB", memory <= limit)
    row(f"agent with {count} launchers idle, share of a core", f"{share:.2f} %", "-", "-",
        "< 0.5 %" if count <= 50 else "-", share < 0.5 or count > 50)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    binaries, samples, launchers = (Path(word) for word in sys.argv[1:])
    compare_as_a_process(binaries, samples)
    alone = agent_at_rest(binaries)
    if launchers.is_file():
        for count, limit in ((50, 32), (200, 48)):
            agent_with_launchers(binaries, launchers, count, limit, alone)


if __name__ == "__main__":
    main()
