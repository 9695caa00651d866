#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every text file of the tree against rules.py. Prints file:line: rule: why.

Exceptions live in allow/<rule>.txt, one `path  # reason` a line. A line that is no longer needed
is an error too, so that the lists only shrink. Exit 0 clean, 1 findings, 2 misuse.
"""

import sys
from pathlib import Path

from rules import RULES

LEFT_OUT = {".git", "build", "LICENSE"}


def text_files(root: Path):
    stack = [root]
    while stack:
        for entry in sorted(stack.pop().iterdir()):
            path = entry.relative_to(root).as_posix()
            if entry.name in LEFT_OUT or entry.name == "__pycache__" or path == "tests/lint":
                continue
            if entry.is_symlink():
                continue
            if entry.is_dir():
                stack.append(entry)
            else:
                data = entry.read_bytes()
                if b"\0" not in data:
                    yield path, data.decode("utf-8", errors="replace")


def allowed(folder: Path, rule: str) -> dict[str, bool]:
    """Path -> whether the exception has been needed."""
    listed = folder / f"{rule}.txt"
    entries = {}
    if listed.is_file():
        for line in listed.read_text().splitlines():
            path, _, reason = line.partition("#")
            if path.strip() and not reason.strip():
                sys.exit(f"{listed}: '{path.strip()}' has no reason: write 'path  # reason'")
            if path.strip():
                entries[path.strip()] = False
    return entries


def check(root: Path, allow_folder: Path) -> list[str]:
    findings = []
    allow = {rule.name: allowed(allow_folder, rule.name) for rule in RULES}
    for path, text in text_files(root):
        for rule in RULES:
            if not rule.applies(path):
                continue
            for offset in rule.find(path, text):
                if path in allow[rule.name]:
                    allow[rule.name][path] = True
                    continue
                line = text.count("\n", 0, offset) + 1
                findings.append(f"{path}:{line}: {rule.name}: {rule.why}")
    for name, entries in allow.items():
        findings += [f"allow/{name}.txt: '{path}' needs no exception any more: take the line out"
                     for path, needed in entries.items() if not needed]
    return findings


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: lint.py ROOT", file=sys.stderr)
        return 2
    findings = check(Path(sys.argv[1]), Path(__file__).resolve().parent / "allow")
    for finding in findings:
        print(finding)
    print(f"lint: {len(RULES)} rules, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
