# SPDX-License-Identifier: Apache-2.0
"""Numbers of whole processes, as rows of the table of tools/bench.

usage: process_numbers.py BIN SAMPLES
"""

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


def median_seconds(command):
    times = []
    for _ in range(RUNS):
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


def agent_at_rest(binaries):
    with tempfile.TemporaryDirectory(prefix="virt-scout-bench.") as folder:
        os.chmod(folder, 0o711)
        grpc = f"unix:{folder}/agents.sock"
        started = []

        def start(name, *options):
            with open(f"{folder}/{name}.log", "wb") as log:
                started.append(subprocess.Popen(
                    [binaries / f"virt-scout-{name}", "--listen-http", "127.0.0.1:0",
                     "--state-dir", f"{folder}/{name}", *options], stdout=log, stderr=log))
            return started[-1]

        try:
            start("aggregator", "--standalone", "--listen-grpc", grpc,
                  "--query-socket", f"{folder}/query.sock")
            agent = start("agent", "--aggregator-address", grpc, "--node-name", "bench")
            wait_until_reported(binaries, folder, agent)
            time.sleep(SETTLE_SECONDS)
            before = cpu_seconds(agent.pid)
            time.sleep(IDLE_SECONDS)
            share = (cpu_seconds(agent.pid) - before) / IDLE_SECONDS * 100
            memory = memory_kib(agent.pid, "VmRSS") / 1024
            peer = memory_kib(started[0].pid, "VmRSS") / 1024
        finally:
            for process in reversed(started):
                process.send_signal(signal.SIGTERM)
                process.wait()
    row("agent with the embedded driver, resident", f"{memory:.1f} MiB",
        f"aggregator with one node: {peer:.1f} MiB", f"{memory / peer:.2f} x", "<= 32 MiB",
        memory <= 32)
    row(f"agent idle for {IDLE_SECONDS:.0f} s, share of a core", f"{share:.2f} %", "-", "-",
        "< 0.5 %", share < 0.5)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    binaries, samples = Path(sys.argv[1]), Path(sys.argv[2])
    compare_as_a_process(binaries, samples)
    agent_at_rest(binaries)


if __name__ == "__main__":
    main()
