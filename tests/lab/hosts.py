# SPDX-License-Identifier: Apache-2.0
"""Two hosts on one machine: each with its network, processes, host name, files of libvirt and a libvirtd of
its own, joined by a cable (veth). All of it lies in one folder and in namespaces without a name, so that
several labs and the machine's own libvirt do not meet, and ends with the process that made it, also when that
is killed.
"""

import json
import os
import platform
import shutil
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
START_LIMIT = 30.0  # seconds
CALL_LIMIT = 60.0
PROGRAMS = ("unshare", "nsenter", "ip", "bash", "libvirtd", "virsh", "qemu-system-x86_64", "cc")

LIBVIRTD_CONF = """\
host_uuid = "{uuid}"
unix_sock_dir = "{folder}/sock"
auth_unix_ro = "none"
auth_unix_rw = "none"
listen_tls = 0
listen_tcp = 1
listen_addr = "{address}"
auth_tcp = "none"
log_outputs = "3:file:{folder}/libvirtd.log"
"""
# stdio_handler: without virtlogd. The rest: as root within the namespaces, and no cgroups of the machine.
QEMU_CONF = """\
user = "root"
group = "root"
security_driver = "none"
stdio_handler = "file"
namespaces = []
cgroup_controllers = []
"""


class LabError(Exception):
    """What went wrong, for a user."""


def missing_part() -> str:
    """Why there can be no lab on this machine; empty if there can."""
    if platform.machine() != "x86_64":
        return f"the lab's guest is an x86 program, this machine is {platform.machine()}"
    if os.geteuid() != 0:
        return "namespaces need root"
    for program in PROGRAMS:
        if not shutil.which(program):
            return f"{program} is not installed"
    probe = subprocess.run(
        ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--mount-proc",
         "ip", "link", "add", "probe", "type", "veth", "peer", "name", "probed"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CALL_LIMIT, check=False)
    return "" if probe.returncode == 0 else f"no network namespaces here: {probe.stderr.strip()}"


@dataclass(frozen=True)
class Host:
    """One host of a lab that is up, for any process: all that is needed is its sockets."""

    name: str
    folder: Path
    address: str  # on the cable

    @property
    def uri(self) -> str:
        return f"qemu+unix:///system?socket={self.folder}/sock/libvirt-sock"

    def virsh(self, *words: str) -> str:
        """What virsh prints; LabError with what it says of an error."""
        try:
            done = subprocess.run(["virsh", "--quiet", "--connect", self.uri, *words],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=CALL_LIMIT, check=False, env={**os.environ, "LC_ALL": "C"})
        except subprocess.TimeoutExpired as error:
            raise LabError(f"{self.name}: virsh {' '.join(words)}: no answer in {CALL_LIMIT} s") from error
        if done.returncode != 0:
            raise LabError(f"{self.name}: virsh {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def inside(self, place: str) -> Path:
        """Where a file of the host lies for the machine."""
        return self.folder / place.lstrip("/")

    def log(self) -> str:
        texts = []
        for name in ("libvirtd.log", "libvirtd.out"):
            path = self.folder / name
            texts.append(path.read_text(errors="replace")[-4000:] if path.is_file() else "")
        return "".join(texts)


def read_lab(folder: Path) -> dict[str, Host]:
    """The hosts of the lab in `folder`, by name."""
    try:
        hosts = json.loads((Path(folder) / "lab.json").read_text())
    except OSError as error:
        raise LabError(f"expected the folder of a lab that is up: {error}") from error
    return {name: Host(name, Path(folder) / name, address) for name, address in hosts.items()}


class Lab:
    """Two hosts that are up from __enter__ to __exit__."""

    def __init__(self, names=("host-a", "host-b"), parent: Path | None = None):
        self.folder = Path(tempfile.mkdtemp(prefix="virt-scout-lab.", dir=parent))
        self.hosts = {name: Host(name, self.folder / name, f"10.83.0.{number}")
                      for number, name in enumerate(names, 1)}
        self._first = {}  # name -> first process of the host
        # Removes the folder once the pipe is closed, by whatever end of this process.
        self._sweeper = subprocess.Popen(
            ["bash", "-c",
             'read -r _; for _ in {1..100}; do rm -rf -- "$1" 2>/dev/null && exit 0; sleep 0.1; done',
             "sweeper", str(self.folder)], stdin=subprocess.PIPE, start_new_session=True)

    def __enter__(self):
        try:
            self._up()
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *_):
        self.down()

    def _up(self):
        for host in self.hosts.values():
            self._begin(host)
        self._lay_cable()
        known = None  # what the first libvirtd has found out about QEMU, which takes seconds
        for host in self.hosts.values():
            cache = host.inside("var/cache/libvirt")
            if known:
                shutil.copytree(known, cache, dirs_exist_ok=True)
            self.tell(host, "start")
            self._wait_for(host)
            known = cache
        (self.folder / "lab.json").write_text(
            json.dumps({host.name: host.address for host in self.hosts.values()}))

    def down(self):
        for first in self._first.values():
            first.stdin.close()
        for first in self._first.values():
            try:
                first.wait(timeout=5)
            except subprocess.TimeoutExpired:
                first.kill()  # takes its processes along: --kill-child
                first.wait()
            first.stdout.close()
        self._first = {}
        self._sweeper.stdin.close()
        self._sweeper.wait()

    def tell(self, host: Host, word: str):
        """`start` or `kill`: host's libvirtd; returns when that was done. Its guests go on."""
        first = self._first[host.name]
        first.stdin.write(word + "\n")
        first.stdin.flush()
        if first.stdout.readline() != word + "\n":
            raise LabError(f"{host.name} did not carry out {word}:\n{host.log()}")

    def run_on(self, host: Host, script: str, *words: str) -> subprocess.Popen:
        """bash with the script, as a process of the host; its output can be read."""
        spaces = f"/proc/{self._first[host.name].pid}/ns"
        return subprocess.Popen(
            ["nsenter", f"--mount={spaces}/mnt", f"--pid={spaces}/pid_for_children",
             "bash", "-ec", script, "bash", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def _begin(self, host: Host):
        (host.folder / "sock").mkdir(parents=True)
        host.inside("etc/libvirt").mkdir(parents=True)
        host.inside("etc/libvirt/qemu.conf").write_text(QEMU_CONF)
        (host.folder / "libvirtd.conf").write_text(LIBVIRTD_CONF.format(
            uuid=uuid.uuid4(), folder=host.folder, address=host.address))
        with (host.folder / "libvirtd.out").open("wb") as log:
            first = subprocess.Popen(
                ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc",
                 "bash", HERE / "host.sh", host.folder, host.name],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                start_new_session=True)
        self._first[host.name] = first
        if first.stdout.readline() != "here\n":
            raise LabError(f"{host.name} did not start:\n{host.log()}")

    def _lay_cable(self):
        one, other = (self._first[name].pid for name in self.hosts)
        _inside(one, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", str(other))
        for host in self.hosts.values():
            pid = self._first[host.name].pid
            _inside(pid, "address", "add", f"{host.address}/24", "dev", "cable")
            _inside(pid, "link", "set", "cable", "up")
            _inside(pid, "link", "set", "lo", "up")

    def _wait_for(self, host: Host):
        limit = time.monotonic() + START_LIMIT
        while time.monotonic() < limit:
            try:
                host.virsh("version", "--daemon")
                return
            except LabError as error:
                last = error
            time.sleep(0.1)
        raise LabError(f"{last}\n{host.log()}")


def _inside(pid: int, *words: str):
    done = subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", "ip", *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=CALL_LIMIT, check=False)
    if done.returncode != 0:
        raise LabError(f"ip {' '.join(words)}: {done.stderr.strip()}")
