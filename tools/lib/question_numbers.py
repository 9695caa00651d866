# SPDX-License-Identifier: Apache-2.0
"""What people ask of files, at the size of a large cluster: rows of the table of tools/bench.

usage: question_numbers.py BIN SAMPLES
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from informer_numbers import NODES, label_files
from process_numbers import median_seconds, row

POLICIES = 1000
PODS = 20  # of each node
RUNS = 5   # of what takes seconds
VM = "shop/web"


def write_policies(file):
    with open(file, "w", encoding="utf-8") as output:
        for number in range(POLICIES):
            output.write("---\n" + json.dumps({
                "apiVersion": "migrations.kubevirt.io/v1alpha1", "kind": "MigrationPolicy",
                "metadata": {"name": f"policy-{number}"},
                "spec": {"selectors": {"namespaceSelector": {"team": f"team-{number % 97}"},
                                       "virtualMachineInstanceSelector": {"app": f"app-{number}", "tier": f"tier-{number % 7}"}},
                         "bandwidthPerMigration": "64Mi", "completionTimeoutPerGiB": 100}}) + "\n")


def lint_row(binaries, folder):
    write_policies(folder / "policies.yaml")
    lint = [binaries / "scoutctl", "policy", "lint", folder / "policies.yaml"]
    subprocess.run(lint, stdout=subprocess.DEVNULL, check=True)
    ours = median_seconds(lint)
    floor = median_seconds(["/bin/true"])
    row(f"lint of {POLICIES} policies, whole process", f"{ours * 1e3:.0f} ms", f"/bin/true: {floor * 1e3:.1f} ms",
        f"{ours / floor:.0f} x", "< 200 ms", ours < 0.2)


def pod(name, space, node, requests, **more):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": space, "uid": name, **more},
            "spec": {"nodeName": node, "containers": [{"name": "compute", "image": "none",
                                                       "resources": {"requests": requests}}]},
            "status": {"phase": "Running"}}


def write_cluster(file, labels):
    """A VM on the first node, and others' pods on all of them."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    common = {"kubernetes.io/arch": "amd64", "kubevirt.io/schedulable": "true"}
    objects = [{"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
                "status": {"phase": "Deployed", "observedKubeVirtVersion": "v1.9.0"}}]
    for number in range(NODES):
        name = f"node-{number}"
        objects.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {
            **labels[number % len(labels)], **common, "kubernetes.io/hostname": name, "zone": f"zone-{number % 3}"}},
                        "status": {"capacity": room, "allocatable": room}})
        objects += [pod(f"pod-{number}-{each}", "other", name, {"cpu": "1", "memory": "4Gi"}) for each in range(PODS)]
    objects.append({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
                    "metadata": {"name": "web", "namespace": "shop", "uid": "web"},
                    "spec": {"domain": {"devices": {}, "memory": {"guest": "8Gi"}}},
                    "status": {"phase": "Running", "nodeName": "node-0", "activePods": {"launcher": "node-0"}}})
    objects.append(pod("launcher", "shop", "node-0", {"cpu": "4", "memory": "9Gi"},
                       labels={"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "web"},
                       annotations={"kubevirt.io/domain": "web"}))
    Path(file).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def labels_of(file):
    pairs = (line.split("=", 1) for line in Path(file).read_text().splitlines() if "=" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def where_row(binaries, samples, folder):
    labels = [labels_of(file) for file in label_files(binaries, samples, str(folder))]
    write_cluster(folder / "cluster.json", labels)
    where = [binaries / "scoutctl", "where", VM, "--from", folder / "cluster.json"]
    answer = json.loads(subprocess.run([*where, "-o", "json"], capture_output=True, check=True).stdout)
    assert len(answer["nodes"]) == NODES - 1, answer["summary"]  # not its own
    whole = median_seconds(where, RUNS)
    # Reads as much, and finds no VM there.
    idle = [binaries / "scoutctl", "drain-plan", "node-1", "--from", folder / "cluster.json"]
    subprocess.run(idle, stdout=subprocess.DEVNULL, check=True)
    read = median_seconds(idle, RUNS)
    row(f"where a VM can go, {NODES} nodes, {NODES * PODS} pods", f"{(whole - read) * 1e3:.0f} ms",
        f"reading the dump: {read:.2f} s", f"{(whole - read) / read:.2f}", "<= 1", whole <= 2 * read)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    binaries, samples = Path(sys.argv[1]), Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="virt-scout-questions.") as folder:
        lint_row(binaries, Path(folder))
        where_row(binaries, samples, Path(folder))


if __name__ == "__main__":
    main()
