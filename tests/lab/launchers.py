# SPDX-License-Identifier: Apache-2.0
"""Launchers of the lab's guests: `launchers guest` of tests/launcher/standin, one process each."""

import json
import signal
import subprocess
from pathlib import Path

from hosts import CALL_LIMIT, Host, LabError


class Launcher:
    """The launcher pod of `name` on a host, from its start until it ends by itself or is closed."""

    def __init__(self, program: Path, host: Host, name: str, pod: str, vmi: str, grace: int = 30):
        self.program, self.pods, self.pod = program, host.folder / "pods", pod
        self.pods.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [program, "guest", "--pods", self.pods, "--libvirt", host.uri, "--name", name,
             "--pod-uid", pod, "--vmi-uid", vmi, "--grace", f"{grace}s"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline():
            self.close()
            raise LabError(f"no launcher of {name} on {host.name}")

    def ask(self, method: str) -> str:
        done = subprocess.run(
            [self.program, "ask", "--pods", self.pods, "--pod-uid", self.pod, method],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CALL_LIMIT, check=False)
        if done.returncode != 0:
            raise LabError(f"{method}: {done.stderr.strip()}")
        return done.stdout.strip()

    def domain(self) -> dict | None:
        """None: no domain is defined."""
        text = self.ask("GetDomain")
        return json.loads(text) if text else None

    def status(self) -> tuple[str, str]:
        told = self.domain()
        return (told["Status"]["Status"], told["Status"]["Reason"]) if told else ("", "")

    def metadata(self) -> dict:
        return self.domain()["Spec"]["Metadata"]["KubeVirt"]

    def job(self) -> dict:
        """Progress of a migration under way."""
        return json.loads(self.ask("GetDomainStats"))["MigrateDomainJobInfo"]

    def terminate(self):
        """As the kubelet does when it stops the pod."""
        self.process.send_signal(signal.SIGTERM)

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
