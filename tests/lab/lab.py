#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two hosts on one machine, each with a libvirtd of its own, and guests that move between them."""

import argparse
import json
import signal
import sys
import threading
import time
from pathlib import Path

import guests
import moves
from hosts import Lab, LabError, missing_part, read_lab

SKIPPED = 77


def say(document):
    print(json.dumps(document), flush=True)


def up(options) -> int:
    missing = missing_part()
    if missing:
        print(f"no lab: {missing}")
        return SKIPPED
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with Lab(options.hosts, options.parent) as lab:
            say({"folder": str(lab.folder),
                 "hosts": {host.name: {"uri": host.uri, "address": host.address}
                           for host in lab.hosts.values()}})
            for line in sys.stdin:
                word, _, name = line.strip().partition(" ")
                if word not in ("start", "kill") or name not in lab.hosts:
                    raise LabError(f"expected 'start HOST' or 'kill HOST', found {line.strip()!r}")
                lab.tell(lab.hosts[name], word)
                print("done", line.strip(), flush=True)
    except KeyboardInterrupt:
        pass
    return 0


def host_of(options, name: str):
    hosts = read_lab(options.lab)
    if name not in hosts:
        raise LabError(f"expected one of the hosts {', '.join(hosts)}, found '{name}'")
    return hosts[name]


def start(options) -> int:
    guests.start(host_of(options, options.host), guests.Guest(
        options.guest, options.memory, options.fill, options.set, options.rate, kvm=options.kvm))
    return 0


def stop(options) -> int:
    guests.remove(host_of(options, options.host), options.guest)
    return 0


def shutdown(options) -> int:
    host, begun = host_of(options, options.host), time.monotonic()
    guests.shut_down(host, options.guest)
    while time.monotonic() - begun < options.wait:
        if guests.state(host, options.guest)[0] in ("shut off", "absent"):
            say({"seconds": round(time.monotonic() - begun, 3)})
            return 0
        time.sleep(0.1)
    raise LabError(f"{options.guest} still runs {options.wait} s after its power button was pressed")


def migrate(options) -> int:
    settings = moves.Settings(options.bandwidth, options.auto_converge, options.post_copy,
                              options.disruption, options.limit)
    cancel = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: cancel.set())
    move = moves.migrate(host_of(options, options.source), host_of(options, options.target),
                         options.guest, settings, cancel)
    say(move.document())
    return 0 if move.moved else 1


def evacuate(options) -> int:
    """As --migrate-command of tests/launcher/standin; SIGTERM aborts it."""
    options.guest = options.vmi.replace("/", "_", 1)
    return migrate(options)


def state(options) -> int:
    document = {}
    for host in read_lab(options.lab).values():
        word, reason = guests.state(host, options.guest)
        document[host.name] = {"state": word, "reason": reason,
                               "count": guests.last_count(host, options.guest)}
        if word not in ("absent", "shut off"):
            document[host.name].update(stats=moves.stats(host, options.guest),
                                       job=moves.job_info(host, options.guest))
    say(document)
    return 0


def add_limits(command):
    command.add_argument("--bandwidth", type=int, help="MiB per second")
    command.add_argument("--auto-converge", action="store_true")
    command.add_argument("--post-copy", action="store_true")
    command.add_argument("--disruption", action="store_true",
                         help="at the limit: post-copy if allowed, else a pause for as long again")
    command.add_argument("--limit", type=float, help="seconds until it is given up")


def command_line():
    parser = argparse.ArgumentParser(prog="lab.py", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name, run, text, *words):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        for word in words:
            command.add_argument(word)
        return command

    one = add("up", up, "make a lab, and keep it as long as standard input is open")
    one.add_argument("--hosts", nargs=2, default=("host-a", "host-b"), metavar="NAME")
    one.add_argument("--parent", type=Path, help="where its folder is made (default: the temporary one)")
    one = add("start", start, "start a guest, and wait until it has booted", "lab", "host", "guest")
    one.add_argument("--memory", type=int, default=64, help="MiB")
    one.add_argument("--fill", type=int, default=0, help="MiB of its pages that are not zero")
    one.add_argument("--set", type=int, default=0, help="MiB of pages that it writes to")
    one.add_argument("--rate", type=int, default=0, help="MiB per second that it writes")
    one.add_argument("--kvm", action="store_true", help="with KVM, where that is the processor's own")
    add("stop", stop, "end a guest at once, and forget it", "lab", "host", "guest")
    one = add("shutdown", shutdown, "press its power button, and wait", "lab", "host", "guest")
    one.add_argument("--wait", type=float, default=30, help="seconds")
    add_limits(add("migrate", migrate, "move a guest, as KubeVirt does",
                   "lab", "guest", "source", "target"))
    add_limits(add("evacuate", evacuate, "move the guest of a VMI: NAMESPACE/NAME SOURCE TARGET",
                   "lab", "vmi", "source", "target"))
    add("state", state, "what both hosts know of a guest", "lab", "guest")
    return parser


def main() -> int:
    options = command_line().parse_args()
    try:
        return options.run(options)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
