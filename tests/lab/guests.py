# SPDX-License-Identifier: Apache-2.0
"""Guests of the lab: guest.c on q35, without network and display, and without disks if none is given."""

import re
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from hosts import CALL_LIMIT, HERE, Host, LabError

BOOT_LIMIT = 30.0  # seconds
FIRST_MIB = 16  # where the guest's pages begin

DOMAIN = """\
<domain type='{type}'>
  <name>{name}</name>
  <uuid>{uuid}</uuid>
  <memory unit='MiB'>{memory}</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <kernel>{program}</kernel>
    <cmdline>fill={fill} set={set} rate={rate} ticks={ticks}</cmdline>
  </os>
  <features><acpi/></features>
  <clock offset='utc'><timer name='pit' tickpolicy='discard'/></clock>
  <on_poweroff>destroy</on_poweroff>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
    <serial type='file'><source path='{console}' append='on'/></serial>{devices}
  </devices>
</domain>
"""


@dataclass(frozen=True)
class Guest:
    name: str  # of the domain; KubeVirt's are called NAMESPACE_NAME
    memory: int = 64  # MiB
    fill: int = 0  # MiB of pages that are not zero
    set: int = 0  # MiB of pages that it writes to, round and round
    rate: int = 0  # MiB a second that it writes to
    ticks: int = 100  # a second in which it writes; see guest.c
    kvm: bool = False  # else QEMU's own translation, which works in the same way everywhere
    devices: str = ""  # more of them, in libvirt's words

    def check(self):
        if max(self.fill, self.set) > self.memory - FIRST_MIB - 1:
            raise LabError(f"expected at most {self.memory - FIRST_MIB - 1} MiB of pages in a guest of "
                           f"{self.memory} MiB, found {max(self.fill, self.set)}")


def console_path(name: str) -> str:
    return f"/var/lib/libvirt/console/{name}.log"


def build_program(folder: Path) -> Path:
    """The guest's program in the folder of the lab."""
    program = folder / "guest"
    if program.is_file():
        return program
    fresh = folder / f"guest.{uuid.uuid4()}"
    done = subprocess.run(
        ["cc", "-m32", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib", "-static",
         "-no-pie", "-fno-pie", "-fno-stack-protector", "-fcf-protection=none", "-mgeneral-regs-only",
         f"-Wl,-T,{HERE}/guest.ld,--build-id=none", "-o", fresh, HERE / "guest.c"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CALL_LIMIT, check=False)
    if done.returncode != 0:
        raise LabError(f"the guest does not build:\n{done.stderr}")
    fresh.rename(program)
    return program


def start(host: Host, guest: Guest):
    """Defines and starts it; returns when it runs and has filled its memory."""
    guest.check()
    program = build_program(host.folder.parent)
    definition = host.folder / f"{guest.name}.xml"
    definition.write_text(DOMAIN.format(
        type="kvm" if guest.kvm else "qemu", name=guest.name, uuid=uuid.uuid4(), memory=guest.memory,
        program=program, fill=guest.fill, set=guest.set, rate=guest.rate, ticks=guest.ticks,
        console=console_path(guest.name), devices=guest.devices))
    host.virsh("define", str(definition))
    host.virsh("start", guest.name)
    limit = time.monotonic() + BOOT_LIMIT
    while "ready\n" not in console(host, guest.name):
        if time.monotonic() > limit:
            raise LabError(f"{guest.name} did not boot on {host.name}: {host.log()}")
        time.sleep(0.05)


def remove(host: Host, name: str):
    """Ends it at once and forgets it."""
    for words in (("destroy", name), ("undefine", name)):
        try:
            host.virsh(*words)
        except LabError:
            pass  # it is not running, or not defined: as wanted
    host.inside(console_path(name)).unlink(missing_ok=True)


def shut_down(host: Host, name: str):
    """ACPI's power button; returns at once."""
    host.virsh("shutdown", name, "--mode", "acpi")


def state(host: Host, name: str) -> tuple[str, str]:
    """libvirt's state and the reason of it: ("running", "migrated"); ("absent", "") without a domain."""
    try:
        words = host.virsh("domstate", name, "--reason").strip()
    except LabError as error:
        if "failed to get domain" in str(error):
            return "absent", ""
        raise
    found = re.fullmatch(r"(.+) \((.+)\)", words)
    return (found[1], found[2]) if found else (words, "")


def console(host: Host, name: str) -> str:
    path = host.inside(console_path(name))
    return path.read_text(errors="replace") if path.is_file() else ""


def last_count(host: Host, name: str) -> int:
    """The last number that the guest has told on this host; -1: none."""
    counts = re.findall(r"^alive (\d+)$", console(host, name).rpartition("\n")[0], re.MULTILINE)
    return int(counts[-1]) if counts else -1
