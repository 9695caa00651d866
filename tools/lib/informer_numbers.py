# SPDX-License-Identifier: Apache-2.0
"""Our informer of nodes beside client-go's on a real API server, as rows of the table of tools/bench.

usage: informer_numbers.py BIN SAMPLES BED
"""

import json
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from process_numbers import cpu_seconds, memory_kib, row

CLIENT_GO = Path(__file__).resolve().parents[2] / "bench" / "informers" / "client_go"
NODES = 5000
UPDATES = 1000
ROUNDS = 3
LIMIT = 900.0


class Watching:
    """A process that says how far it is, a line for each step."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(LIMIT)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()

    def line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT)
        line = self.process.stdout.readline().decode() if ready else ""
        if not line:
            raise RuntimeError(f"{self.process.args[0]} did not get on within {LIMIT:.0f} s")
        return line.strip()

    def expect(self, wanted):
        if (found := self.line()) != wanted:
            raise RuntimeError(f"{self.process.args[0]}: expected {wanted!r}, found {found!r}")

    def cpu(self):
        return cpu_seconds(self.process.pid)


def measure(command, touch):
    """Peak MiB, CPU seconds of the list, CPU seconds of the updates."""
    with Watching(command) as watching:
        watching.expect(f"synced {NODES}")
        listed = watching.cpu()
        subprocess.run(touch, check=True)
        watching.expect("updated")
        updated = watching.cpu() - listed
        return memory_kib(watching.process.pid, "VmHWM") / 1024, listed, updated


def label_files(binaries, samples, folder):
    for sample in sorted(samples.glob("*.xml")):
        file = Path(folder) / f"{sample.stem}.labels"
        with open(file, "wb") as output:
            subprocess.run([binaries / "scoutctl", "labels", sample], stdout=output, check=True)
        yield str(file)


def measure_all(binaries, samples, bed, folder):
    """For ours and each informer of client-go, the medians of what measure() tells."""
    go = f"{folder}/informers"
    subprocess.run(["go", "build", "-o", go, "."], cwd=CLIENT_GO, check=True)
    # Its controllers would mark nodes without a kubelet while they are watched.
    parts = ["--controllers=false", "--scheduler=false"]
    Path(f"{folder}/bed").mkdir()
    with Watching([bed, "up", "--folder", f"{folder}/bed", *parts]) as cluster:
        kubeconfig = json.loads(cluster.line())["kubeconfig"]
        go = [go, "--kubeconfig", kubeconfig, "--nodes", str(NODES), "--updates", str(UPDATES)]
        labels = ",".join(label_files(binaries, samples, folder))
        subprocess.run([*go, "--labels", labels, "fill"], check=True)
        commands = {"ours": [binaries / "node_informer", kubeconfig, str(UPDATES)]}
        commands |= {mode: [*go, mode] for mode in ("default", "stripped", "metadata")}
        rounds = [{name: measure(command, [*go, "touch"]) for name, command in commands.items()}
                  for _ in range(ROUNDS)]
    return {name: [statistics.median(values) for values in zip(*(r[name] for r in rounds))]
            for name in commands}


def print_rows(medians):
    ours = medians["ours"]
    peers = {name: values for name, values in medians.items() if not name.startswith("ours")}
    leanest = min(peers, key=lambda name: peers[name][0])

    def compare(what, place, unit, peer, most, limit):
        mine, other = ours[place], peers[peer][place]
        row(f"informer of {NODES} nodes of 55 KB, {what}", f"{mine:.3g} {unit}",
            f"client-go, {peer}: {other:.3g} {unit}", f"{mine / other:.2f} x", f"<= {limit}",
            mine <= most * other)

    compare("peak memory", 0, "MiB", leanest, 1 / 5, "1/5 x")
    compare("CPU of its list", 1, "s", leanest, 1, "1 x")
    compare(f"CPU of {UPDATES} updates", 2, "s", "default", 1 / 2, "1/2 x")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    binaries, samples, bed = map(Path, sys.argv[1:])
    if not bed.exists() or shutil.which("go") is None:
        print("informers beside client-go: skipped, no test bed or no Go on this machine")
        return
    with tempfile.TemporaryDirectory(prefix="virt-scout-bench.") as folder:
        print_rows(measure_all(binaries, samples, bed, folder))


if __name__ == "__main__":
    main()
