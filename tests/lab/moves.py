# SPDX-License-Identifier: Apache-2.0
"""Real live migrations between the hosts of a lab, with the flags that KubeVirt's launcher gives, and watched
as it watches them (dossier §8).
"""

import subprocess
import threading
import time
from concurrent import futures
from dataclasses import asdict, dataclass, field

import guests
from hosts import Host, LabError

TICK = 0.4  # seconds, virt-launcher's
DIRTY_RATE_LIMIT = 10.0


@dataclass(frozen=True)
class Settings:
    """What a policy sets. `limit`: seconds until the guest is switched to post-copy, paused (for as long
    again) or the move is given up, whichever is allowed first; none: it may take as long as it likes."""

    bandwidth: int | None = None  # MiB/s
    auto_converge: bool = False
    post_copy: bool = False
    disruption: bool = False
    limit: float | None = None
    disks: bool = False  # what the guest wrote to local ones is copied, not what they are based on


@dataclass
class Move:
    """How a migration ended."""

    end: str = "failed"  # converged, post-copy, paused, aborted, failed
    seconds: float = 0.0  # from the request until it was over
    error: str = ""
    job: dict[str, int] = field(default_factory=dict)  # libvirt's counts: milliseconds, bytes
    throttle: int = 0  # percent, the most that was seen

    @property
    def moved(self) -> bool:
        return self.end not in ("aborted", "failed")

    def document(self) -> dict:
        return {**asdict(self), "moved": self.moved}


def command(source: Host, target: Host, name: str, settings: Settings) -> list[str]:
    words = ["virsh", "--quiet", "--connect", source.uri, "migrate", "--live", "--p2p", "--persistent"]
    if settings.auto_converge:
        words.append("--auto-converge")
    if settings.post_copy:
        words.append("--postcopy")
    if settings.disks:
        words.append("--copy-storage-inc")
    if settings.bandwidth is not None:
        words += ["--bandwidth", str(settings.bandwidth)]
    return [*words, name, f"qemu+tcp://{target.address}/system",
            "--migrateuri", f"tcp://{target.address}"]


def migrate(source: Host, target: Host, name: str, settings: Settings = Settings(),
            cancel: threading.Event | None = None) -> Move:
    """Moves the guest; returns when that has ended. `cancel`, once set, aborts it."""
    return _Watch(source, target, name, settings, cancel or threading.Event()).run()


def start(source: Host, target: Host, name: str, settings: Settings = Settings(),
          cancel: threading.Event | None = None) -> futures.Future:
    """The same beside the caller; the future's result is the move."""
    pool = futures.ThreadPoolExecutor(1)
    made = pool.submit(migrate, source, target, name, settings, cancel)
    pool.shutdown(wait=False)
    return made


class _Watch:
    def __init__(self, source, target, name, settings, cancel):
        self.source, self.target, self.name = source, target, name
        self.settings, self.cancel = settings, cancel
        self.move = Move()
        self.done = ""  # post-copy, paused or aborted, once that was done to it

    def run(self) -> Move:
        begun = time.monotonic()
        virsh = subprocess.Popen(command(self.source, self.target, self.name, self.settings),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
        try:
            while True:
                try:
                    virsh.wait(timeout=TICK)
                    break
                except subprocess.TimeoutExpired:
                    self._tick(time.monotonic() - begun)
            self.move.seconds = round(time.monotonic() - begun, 3)
            self.move.error = virsh.stderr.read().strip()
        finally:
            virsh.kill()  # none is left, whatever happened
            virsh.wait()
            virsh.stderr.close()
        self._conclude(virsh.returncode)
        return self.move

    def _tick(self, elapsed: float):
        try:
            job = job_info(self.source, self.name)
            self.move.throttle = max(self.move.throttle, job.get("auto_converge_throttle", 0))
            self._keep_limit(elapsed)
        except LabError:
            pass  # it is over, or not begun: the next tick tells

    def _keep_limit(self, elapsed: float):
        limit, allowed = self.settings.limit, self.settings
        over = limit is not None and elapsed > limit
        if self.cancel.is_set() or (over and not allowed.disruption):
            self._do("aborted", "domjobabort")
        elif over and allowed.post_copy:
            self._do("post-copy", "migrate-postcopy")
        elif over and elapsed > 2 * limit:
            self._do("aborted", "domjobabort")
        elif over:
            self._do("paused", "suspend")

    def _do(self, what: str, word: str):
        if self.done not in (what, "post-copy"):
            self.source.virsh(word, self.name)
            self.done = what

    def _conclude(self, code: int):
        if code == 0:
            # An abort that came too late is none.
            self.move.end = self.done if self.done in ("post-copy", "paused") else "converged"
            self.move.job = job_info(self.source, self.name, completed=True)
        elif self.done == "aborted":
            self.move.end = "aborted"
        for host in (self.source, self.target):
            # KubeVirt's launchers, too, let a guest go on that was paused for the move.
            if guests.state(host, self.name)[0] == "paused":
                host.virsh("resume", self.name)


def job_info(host: Host, name: str, completed: bool = False) -> dict[str, int]:
    """libvirt's counts of the migration under way, or of the last one, which are told once."""
    words = ("--completed",) if completed else ()
    text = host.virsh("domjobinfo", name, "--rawstats", "--anystats", *words)
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {key.strip(): int(value) for key, value in pairs if value.strip().isdecimal()}


def stats(host: Host, name: str) -> dict[str, str]:
    text = host.virsh("domstats", name, "--nowait")
    return dict(line.strip().split("=", 1) for line in text.splitlines() if "=" in line)


def dirty_rate(host: Host, name: str) -> int:
    """MiB per second, as libvirt measures it in one second."""
    host.virsh("domdirtyrate-calc", name, "--seconds", "1")
    limit = time.monotonic() + DIRTY_RATE_LIMIT
    while time.monotonic() < limit:
        time.sleep(0.2)
        told = stats(host, name)
        if told.get("dirtyrate.calc_status") == "2":
            return int(told["dirtyrate.megabytes_per_second"])
    raise LabError(f"{host.name}: no dirty rate of {name} within {DIRTY_RATE_LIMIT} s")
