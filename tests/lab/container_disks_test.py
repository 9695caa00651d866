#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A guest whose disk comes from a container that ends before it, as container disks of KubeVirt do at SIGTERM
where they are no image volumes: the disk is a bind mount of a file of the container's own file system. The
guest's disk can be read on, and it is moved with what it wrote.

usage: container_disks_test.py [unittest options]
"""

import re
import struct
import subprocess
import sys
import unittest
import uuid

import guests
import moves
from guests import Guest
from hosts import Host, Lab, missing_part
from moves import Settings
from until import until

POD = "/var/lib/libvirt/pod"
SIZE = 4 << 20  # bytes of the disk
IN_IMAGE, WRITTEN = 0x5A, 0xC3  # the bytes of the image, and those that the guest writes

# What the container runtime and virt-handler do: the container's root is an overlay, mounted for the runtime;
# one file of it is mounted into the launcher's pod (the folder disks).
BEGIN = """mkdir -p $1/image/disk $1/upper $1/work $1/root $1/disks
head -c $2 /dev/zero | tr '\\0' "$(printf '\\%o' $3)" >$1/image/disk/disk.img
mount -t overlay overlay -o lowerdir=$1/image,upperdir=$1/upper,workdir=$1/work $1/root
touch $1/disks/disk_0.img
mount --bind $1/root/disk/disk.img $1/disks/disk_0.img
mount -o remount,bind,ro $1/disks/disk_0.img
"""
# The container: it has mounts of its own, removes its socket at SIGTERM, and ends.
CONTAINER = """exec unshare --mount --propagation private --root=$1/root "$2" -c '
trap "rm -f /disk_0.sock; exit 0" TERM
: >/disk_0.sock
echo $$
while :; do read -r -t 1 _ <> <(:) || :; done'
"""
# The runtime, when the container has ended and is removed; the image is collected as garbage.
END = "umount $1/root && rm -rf -- $1/root $1/upper $1/work $1/image"


def empty_overlay(backing: str, size: int) -> bytes:
    """A qcow2 image (version 3) without a block of its own, on a raw one."""
    cluster = 1 << 16
    names = struct.pack(">II8s", 0xE2792ACA, 3, b"raw") + struct.pack(">II", 0, 0)
    at = 104 + len(names)
    head = struct.pack(">4sIQIIQIIQQIIQQQQII", b"QFI\xfb", 3, at, len(backing), 16, size, 0, 1, 3 * cluster,
                       cluster, 1, 0, 0, 0, 0, 0, 4, 104) + names + backing.encode()
    counts = struct.pack(">4H", 1, 1, 1, 1)
    parts = (head, struct.pack(">Q", 2 * cluster), counts, b"")
    return b"".join(part.ljust(cluster, b"\0") for part in parts)


class ContainerDisksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.down)
        cls.lab.__enter__()
        cls.source, cls.target = cls.lab.hosts.values()

    def on(self, host: Host, script: str, *words: str) -> str:
        done = self.lab.run_on(host, script, *words)
        said, _ = done.communicate(timeout=60)
        self.assertEqual(done.returncode, 0, said)
        return said

    def container(self, host: Host) -> tuple[subprocess.Popen, str]:
        """A disk in the pod on that host, and the container that it is from, with its process there."""
        self.on(host, BEGIN, POD, str(SIZE), str(IN_IMAGE))
        overlay = host.inside(f"{POD}/overlay.qcow2")
        overlay.write_bytes(empty_overlay(f"{POD}/disks/disk_0.img", SIZE))
        self.on(host, "mkdir -p $1/root/bin $1/root/dev && cp -a /bin/bash $1/root/bin/ && "
                "for lib in $(ldd /bin/bash | grep -o '/[^ ]*'); do install -D $lib $1/root$lib; done", POD)
        made = self.lab.run_on(host, CONTAINER, POD, "/bin/bash")
        self.addCleanup(made.stdout.close)
        self.addCleanup(made.wait)
        process = made.stdout.readline().strip()
        self.assertRegex(process, r"^\d+$")
        self.addCleanup(lambda: self.on(host, 'kill -KILL "$1" 2>/dev/null || true', process))
        return made, process

    def write(self, host: Host, name: str, byte: int, at: int, size: int):
        """As the guest would: QEMU's command does it by the guest's own device."""
        told = host.virsh("qemu-monitor-command", name, "--hmp", "info block")
        device = re.search(r"Attached to:\s+(\S+)", told)[1]
        host.virsh("qemu-monitor-command", name, "--hmp", f'qemu-io -d {device} "write -P {byte} {at} {size}"')

    def disk(self, host: Host, name: str) -> bytes:
        """All of it, as QEMU reads it now."""
        copy = f"/var/lib/libvirt/{uuid.uuid4()}"
        host.virsh("blockcopy", name, "vda", "--dest", copy, "--format", "raw", "--wait", "--finish",
                   "--transient-job")
        return host.inside(copy).read_bytes()

    def test_a_guest_outlives_the_container_of_its_disk_and_is_moved(self):
        container, process = self.container(self.source)
        self.container(self.target)
        disk = (f"<disk type='file'><driver name='qemu' type='qcow2'/><source file='{POD}/overlay.qcow2'/>"
                "<target dev='vda' bus='virtio'/></disk>")
        name = f"shop_{uuid.uuid4()}"
        self.addCleanup(lambda: [guests.remove(host, name) for host in self.lab.hosts.values()])
        guests.start(self.source, Guest(name, devices=disk))
        self.write(self.source, name, WRITTEN, 65536, 65536)
        wanted = bytearray([IN_IMAGE] * SIZE)
        wanted[65536:131072] = bytes([WRITTEN] * 65536)

        self.on(self.source, 'kill -TERM "$1"', process)
        self.assertEqual(container.wait(timeout=10), 0)
        self.on(self.source, END, POD)

        self.assertEqual(self.disk(self.source, name), wanted)
        before = guests.last_count(self.source, name)
        self.assertTrue(until(lambda: guests.last_count(self.source, name) > before, 10))

        move = moves.migrate(self.source, self.target, name, Settings(disks=True, limit=60))
        self.assertEqual(move.end, "converged", move.error)
        self.assertEqual(guests.state(self.target, name), ("running", "migrated"))
        self.assertEqual(self.disk(self.target, name), wanted)


def main():
    if missing := missing_part():
        print(f"no lab: {missing}")
        sys.exit(0)
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
