# SPDX-License-Identifier: Apache-2.0
"""The aggregator in a large cluster, under the account that the manifests make it, on a real API
server: rows of the table of tools/bench.

usage: cluster_numbers.py BIN SAMPLES BED [VMIS PODS]
  VMIS PODS   how many guests there are beside 5,000 nodes; default: 100000 20000

KubeVirt's definitions and a dump of a running cluster are taken from $SCOUT_TEST_DATA.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from informer_numbers import CLIENT_GO, NODES, Watching, label_files
from process_numbers import cpu_seconds, memory_kib, row

ROOT = Path(__file__).resolve().parents[2]
CHANGES = 20
POLICIES = 1000
LEVEL_LABEL = "kubevirt/host-model-migratability-level"
# cluster/label_plan.h: how fast the labels of a new cluster are written.
FIRST_WRITES_PER_SECOND = 100
START_LIMIT = 900.0


class Cluster:
    """A control plane with our manifests and KubeVirt's definitions."""

    def __init__(self, kubeconfig, folder, data):
        self.kubeconfig = kubeconfig
        self.folder = folder
        for attempt in range(2):  # an object of a kind that was only just defined may be too early
            self.kubectl("apply", "-k", ROOT / "daemonset" / "base", check=attempt == 1)
        for file in sorted((data / "crds").glob("*.json")):
            self.kubectl("create", "-f", file)

    def kubectl(self, *words, check=True):
        done = subprocess.run(["kubectl", "--kubeconfig", self.kubeconfig, *words],
                              capture_output=True, text=True, check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def account(self):
        """A kubeconfig with a token of the aggregator's account."""
        file = f"{self.folder}/aggregator.kubeconfig"
        token = self.kubectl("create", "token", "-n", "virt-scout", "virt-scout-aggregator",
                             "--duration=24h").strip()
        text = Path(self.kubeconfig).read_text()
        Path(file).write_text(re.sub(r"user: \{client-certificate-data: .*?\}",
                                     f"user: {{token: {token}}}", text))
        return file

    def arguments(self):
        """Those of the manifest, on addresses of this machine."""
        found = json.loads(self.kubectl(
            "get", "-n", "virt-scout", "deployment/virt-scout-aggregator", "-o",
            "jsonpath={.spec.template.spec.containers[0].args}"))
        return [re.sub(r"=0\.0\.0\.0:\d+$", "=127.0.0.1:0", word).replace(
            "$(POD_NAMESPACE)", "virt-scout") for word in found]


class Aggregator:
    """The program as the manifest starts it."""

    def __init__(self, cluster, binaries):
        self.log = Path(cluster.folder) / "aggregator.log"
        state = Path(cluster.folder) / "aggregator"
        state.mkdir(mode=0o700, exist_ok=True)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [binaries / "virt-scout-aggregator", *cluster.arguments(),
                 f"--state-dir={state}", "--https-names=127.0.0.1"],
                env={**os.environ, "KUBECONFIG": cluster.account()}, stdout=log, stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def said(self, pattern):
        """The match of a line of its log, which may be still to come."""
        until = time.monotonic() + START_LIMIT
        while time.monotonic() < until and self.process.poll() is None:
            if match := re.search(pattern, self.log.read_text()):
                return match
            time.sleep(0.1)
        raise RuntimeError(f"no line {pattern!r}: {self.log.read_text()[-2000:]}")

    def mib(self, kind):
        return memory_kib(self.process.pid, kind) / 1024

    def settle(self):
        """Until it has nothing to do."""
        until = time.monotonic() + START_LIMIT
        before = cpu_seconds(self.process.pid)
        while time.monotonic() < until:
            time.sleep(2)
            now = cpu_seconds(self.process.pid)
            if now - before < 0.1:
                return
            before = now
        raise RuntimeError(f"the aggregator was still busy after {START_LIMIT:.0f} s")


def reach_of(binaries, files, folder):
    """Where guests of each kind of nodes can go, as the kinds' numbers: of two nodes each."""
    dump = Path(folder) / "kinds"
    dump.mkdir()
    for number, file in enumerate(files):
        lines = [line.partition("=") for line in Path(file).read_text().splitlines()
                 if not line.startswith("#")]
        labels = {key: value for key, _, value in lines}
        labels |= {"kubernetes.io/arch": "amd64", "kubevirt.io/schedulable": "true",
                   "machine-type.node.kubevirt.io/q35": "true"}
        for twin in range(2):
            node = {"apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": f"{number}-{twin}", "labels": labels}}
            (dump / f"{number}-{twin}.json").write_text(json.dumps(node))
    told = subprocess.run([binaries / "scoutctl", "matrix", "--from", dump, "-o", "json"],
                          stdout=subprocess.PIPE, check=True)
    nodes = {node["name"]: node for node in json.loads(told.stdout)["nodes"]}
    reach = [sorted({name.partition("-")[0] for name in nodes[f"{number}-0"]["out"]})
             for number in range(len(files))]
    if not all(reach):
        raise RuntimeError(f"expected that guests of equal nodes can go to each other, found {reach}")
    return ";".join(map(",".join, reach))


def levels_rows(watcher, begun):
    watcher.expect("right")
    took = time.monotonic() - begun
    paced = NODES / FIRST_WRITES_PER_SECOND
    row(f"{NODES} nodes of 55 KB, cold start until labels right", f"{took:.1f} s",
        f"the rate limit alone: {paced:.0f} s", f"{took / paced:.2f} x", "<= 60 s", took <= 60)
    times = [tuple(map(float, watcher.line().split()[1:])) for _ in range(CHANGES)]
    seen, right = (max(column) for column in zip(*times))
    row(f"a node changes until labels right, worst of {CHANGES}", f"{right:.2f} s",
        f"client-go sees the change: {seen:.2f} s", f"{right / seen:.0f} x", "<= 5 s", right <= 5)


def make_policies(cluster):
    """Those that a new one is compared with."""
    file = Path(cluster.folder) / "policies.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "migrations.kubevirt.io/v1alpha1", "kind": "MigrationPolicy",
         "metadata": {"name": f"of-{number}"},
         "spec": {"selectors": {"namespaceSelector": {"env": "prod"},
                                "virtualMachineInstanceSelector": {"app": f"a{number}"}}}}
        for number in range(POLICIES)]}))
    cluster.kubectl("create", "-f", file)


def admission_rows(cluster, aggregator, go):
    cluster.kubectl("create", "-f", ROOT / "daemonset" / "scoutconfig.yaml")
    cluster.kubectl("patch", "scoutconfig", "default", "--type", "merge", "-p",
                    '{"spec":{"placement":{"requireHostModelMigratabilityLevel":30}}}')
    address = aggregator.said(r" https=(127\.0\.0\.1:\d+)").group(1)
    authority = f"{cluster.folder}/ca.crt"
    Path(authority).write_text(cluster.kubectl("get", "configmap", "-n", "virt-scout",
                                               "virt-scout-ca", "-o", r"jsonpath={.data.ca\.crt}"))
    aggregator.said("settings in force .*level 30 is required")
    # No Service leads to the aggregator here: the migration that it is asked about is not refused, and
    # nobody is waited for.
    cluster.kubectl("delete", "mutatingwebhookconfiguration", "virt-scout-target")
    cluster.kubectl("delete", "validatingwebhookconfiguration", "virt-scout-policies")
    make_policies(cluster)
    told = subprocess.run([*go, "--url", f"https://{address}", "--authority", authority,
                           "admission"], stdout=subprocess.PIPE, text=True, check=True)
    times = {kind: float(last) * 1e3 for kind, _, last in map(str.split, told.stdout.splitlines())}
    other = times["empty"]
    for kind, what in (("first", "first launcher pods"), ("move", "migrations with a term"),
                       ("pod", "their target pods"),
                       ("policy", f"policies beside {POLICIES}")):
        mine = times[kind]
        row(f"admission of {what}, 200/s for 30 s, p99", f"{mine:.2f} ms",
            f"empty HTTPS answer: {other:.2f} ms", f"{mine / other:.2f} x", "<= 2 x",
            mine <= 2 * other)


def rows_with_guests(cluster, binaries, go, guests):
    with Aggregator(cluster, binaries) as aggregator:
        for kind in ("nodes", "pods", "virtualmachineinstances"):
            aggregator.said(f"watching kind={kind}")
        aggregator.settle()
        peak, rest = aggregator.mib("VmHWM"), aggregator.mib("VmRSS")
        # Streaming lists need the API server's cache: the peer would wait for one for ever.
        with Watching(["env", "KUBE_FEATURE_WatchListClient=false", *go, "cluster"]) as peer:
            peer.line()
            other = memory_kib(peer.process.pid, "VmHWM") / 1024
        row(f"aggregator, {NODES} nodes and {guests}, peak", f"{peak:.0f} MiB",
            f"client-go, stripped: {other:.0f} MiB", f"{peak / other:.2f} x", "<= 256 MiB",
            peak <= 256)
        row("the same at rest", f"{rest:.0f} MiB", "-", "-", "<= 256 MiB", rest <= 256)
        admission_rows(cluster, aggregator, go)


def labels_with_levels(files, reach, folder):
    """The files once more, each with the level that its nodes have among all."""
    counts = [len(range(kind, NODES, len(files))) for kind in range(len(files))]
    for kind, (file, targets) in enumerate(zip(files, reach.split(";"))):
        targets = list(map(int, targets.split(",")))
        level = 100 * (sum(counts[each] for each in targets) - (kind in targets)) // (NODES - 1)
        copy = Path(folder) / f"{kind}.levelled"
        copy.write_text(f"{Path(file).read_text()}{LEVEL_LABEL}={level}\n")
        yield str(copy)


def measure_levels(cluster, binaries, go, files, reach):
    labels = ["--labels", ",".join(files)]
    subprocess.run([*go, *labels, "fill"], check=True)
    with Watching([*go, *labels, "--reach", reach, "--updates", str(CHANGES), "levels"]) as watcher:
        watcher.expect("watching")
        begun = time.monotonic()
        with Aggregator(cluster, binaries):
            levels_rows(watcher, begun)


def measure_with_guests(cluster, binaries, go, files, etcd, guests):
    """`guests`: the dump, how many VMIs and pods."""
    subprocess.run([*go, "--labels", ",".join(files), "fill"], check=True)
    dump, vmis, pods = map(str, guests)
    subprocess.run([*go, "--etcd", etcd, "--dump", dump, "--vmis", vmis, "--pods", pods, "guests"],
                   check=True, stdout=sys.stderr)
    rows_with_guests(cluster, binaries, go, f"{vmis} VMIs")


def measure(binaries, samples, bed, data, vmis, pods):
    with tempfile.TemporaryDirectory(prefix="virt-scout-bench.") as folder:
        program = f"{folder}/informers"
        subprocess.run(["go", "build", "-o", program, "."], cwd=CLIENT_GO, check=True)
        files = list(label_files(binaries, samples, folder))
        reach = reach_of(binaries, files, folder)

        def with_cluster(name, flags, work):
            Path(f"{folder}/{name}/bed").mkdir(parents=True)
            command = [bed, "up", "--folder", f"{folder}/{name}/bed", "--controllers=false",
                       "--scheduler=false", *flags]
            with Watching(command) as control_plane:
                ready = json.loads(control_plane.line())
                cluster = Cluster(ready["kubeconfig"], f"{folder}/{name}", data)
                work(cluster, [program, "--kubeconfig", ready["kubeconfig"], "--nodes", str(NODES)],
                     ready["etcd"])

        with_cluster("nodes", [], lambda cluster, go, _: measure_levels(
            cluster, binaries, go, files, reach))
        # The API server's cache alone would take 20 GiB of 100,000 VMIs. Without it lists come in
        # pages, and labels are not written half as fast.
        files = list(labels_with_levels(files, reach, folder))
        with_cluster("guests", ["--apiserver-flags=--watch-cache=false"],
                     lambda cluster, go, etcd: measure_with_guests(
                         cluster, binaries, go, files, etcd, (data / "live", vmis, pods)))


def main():
    if len(sys.argv) not in (4, 6):
        sys.exit(__doc__)
    binaries, samples, bed = map(Path, sys.argv[1:4])
    vmis, pods = map(int, sys.argv[4:] or ("100000", "20000"))
    data = Path(os.environ.get("SCOUT_TEST_DATA", "")) / "kubevirt"
    if not bed.exists() or shutil.which("go") is None or shutil.which("kubectl") is None:
        print("the aggregator in a large cluster: skipped, no test bed, no Go or no kubectl here")
    elif "SCOUT_TEST_DATA" not in os.environ or not (data / "crds").is_dir():
        print("the aggregator in a large cluster: skipped, SCOUT_TEST_DATA names no folder with "
              "KubeVirt's definitions")
    else:
        measure(binaries, samples, bed, data, vmis, pods)


if __name__ == "__main__":
    main()
