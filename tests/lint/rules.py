# SPDX-License-Identifier: Apache-2.0
"""The house rules that a compiler and clang-tidy cannot see, each a pattern and a place."""

import re
from dataclasses import dataclass
from typing import Callable, Iterator

CPP = (".h", ".cpp")
SOURCE = CPP + (".h.in", ".proto", ".cmake", ".py", ".sh", ".xml", ".yaml", ".yml", ".service")
SPDX = "SPDX-License-Identifier: Apache-2.0"


@dataclass(frozen=True)
class Rule:
    name: str
    why: str
    applies: Callable[[str], bool]
    find: Callable[[str, str], Iterator[int]]  # (path, text) -> offsets of what is wrong


def is_cpp(path: str) -> bool:
    return path.endswith(CPP)


def in_folder(path: str, *folders: str) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def is_test(path: str) -> bool:
    return in_folder(path, "tests")


def is_script(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return in_folder(path, "tools", ".ci", "tests/e2e") and "." not in name or path == ".ci/run"


def has_licence_line(path: str) -> bool:
    return path.endswith(SOURCE) or path.endswith("CMakeLists.txt") or is_script(path)


def without_comments_and_strings(text: str) -> str:
    """The same text, offsets kept, with comments and the insides of literals blanked."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^\s()\\]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
        re.DOTALL,
    )
    return token.sub(lambda hit: re.sub(r"[^\n]", " ", hit.group()), text)


def pattern(regex: str, *, raw: bool = False) -> Callable[[str, str], Iterator[int]]:
    compiled = re.compile(regex, re.MULTILINE)

    def find(path: str, text: str) -> Iterator[int]:
        searched = text if raw or not is_cpp(path) else without_comments_and_strings(text)
        return (hit.start() for hit in compiled.finditer(searched))

    return find


def awaits_with_temporary(path: str, text: str) -> Iterator[int]:
    """`{` or `[` after co_await in one statement; the brace that opens a block is none."""
    code = without_comments_and_strings(text)
    for hit in re.finditer(r"\bco_await\b[^;{\[]*(?P<at>[{\[])", code):
        opens_block = re.search(r"\)\s*\{$", hit.group()) and re.match(
            r"[ \t]*\n", code[hit.end():])
        if not opens_block:
            yield hit.start()


def misses_licence(path: str, text: str) -> Iterator[int]:
    if not any(SPDX in line for line in text.splitlines()[:2]):
        yield 0


def line_limit(path: str) -> int:
    if path.endswith("main.cpp"):
        return 150
    return 500 if is_test(path) else 400


def is_too_long(path: str, text: str) -> Iterator[int]:
    if text.count("\n") > line_limit(path):
        yield 0


def speaks_wire(path: str) -> bool:
    """Where generated protobuf types may be named: the wire, and the files that serve or call it."""
    edge = r"(agent|aggregator|cli|launcher)/\w*(service|client|messages|stream|reactor)\w*\.(h|cpp)"
    return in_folder(path, "proto", "wire", "tests", "bench") or bool(re.fullmatch(edge, path))


RULES = [
    Rule("libvirt-outside-glue", "only libvirt_glue/ may include libvirt",
         lambda p: is_cpp(p) and not in_folder(p, "libvirt_glue", "tests/libvirt_glue"),
         pattern(r"#\s*include\s*[<\"]libvirt/", raw=True)),
    Rule("protobuf-outside-wire", "generated types stop at wire/ and at the gRPC services",
         lambda p: is_cpp(p) and not speaks_wire(p),
         pattern(r"#\s*include\s*[<\"][^>\"]*\.pb\.h[>\"]", raw=True)),
    Rule("json-in-migration", "migration/ is pure: no JSON library in it",
         lambda p: is_cpp(p) and in_folder(p, "migration"),
         pattern(r"#\s*include\s*[<\"](boost/json|nlohmann/|simdjson|rapidjson/|json)", raw=True)),
    Rule("io-in-migration", "migration/ is pure: no files, sockets or loops in it",
         lambda p: is_cpp(p) and in_folder(p, "migration"),
         pattern(r"#\s*include\s*<(boost/asio|fstream|filesystem|iostream|sys/|unistd|thread)",
                 raw=True)),
    Rule("real-clock", "take a Clock& or a time parameter (base/clock.h)",
         lambda p: is_cpp(p) and not in_folder(p, "base", "tests", "bench")
         and not p.endswith("main.cpp"),
         pattern(r"\b(system|steady|high_resolution)_clock::now\b|\bclock_gettime\b"
                 r"|\bgettimeofday\b|\bstd::time\s*\(|\btime\s*\(\s*(nullptr|NULL|0)\s*\)"
                 r"|\bSystemClock\b")),
    Rule("wildcard-capture", "name what a lambda captures",
         lambda p: is_cpp(p) and not in_folder(p, "tests", "bench"),
         pattern(r"\[\s*[&=]\s*[,\]]")),
    Rule("detached", "background work goes through TaskScope::spawn", is_cpp,
         pattern(r"\bdetached\b|\.detach\s*\(\s*\)")),
    Rule("await-with-temporary", "name the struct or lambda first, then move it in "
         "(docs/decisions/0004-coroutines.md)", is_cpp, awaits_with_temporary),
    Rule("throwing-number", "read numbers with std::from_chars", is_cpp,
         pattern(r"\bsto(i|l|ll|ul|ull|f|d|ld)\s*\(|\bato(i|l|ll|f)\s*\(|\bstrto(l|ul|ll|ull|d)\b")),
    Rule("sleep", "wait on a timer of the loop, never sleep",
         lambda p: is_cpp(p) and not in_folder(p, "tests", "bench"),
         pattern(r"\bsleep_(for|until)\b|\b(u|nano)?sleep\s*\(")),
    Rule("licence-line", f"the first line says {SPDX}", has_licence_line, misses_licence),
    Rule("file-length", "at most 400 lines, tests 500, main.cpp 150: split it by behaviour",
         is_cpp, is_too_long),
    Rule("pragma-once", "a header starts with #pragma once", lambda p: p.endswith(".h"),
         lambda _, text: iter([] if "#pragma once" in text else [0])),
    Rule("using-namespace", "no using namespace at the top of a header", lambda p: p.endswith(".h"),
         pattern(r"^using\s+namespace\b")),
    Rule("machine-path", "no path or host of one machine", lambda p: True,
         pattern(r"(?<![\w.$}])/(work|home|root|tmp)/\w|/var/tmp/\w"
                 r"|\b(deb\.debian|pypi|registry\.npmjs|crates|proxy\.golang)\.(org|io)\b",
                 raw=True)),
    Rule("left-over", "finish it, or file an issue", lambda p: not p.endswith(".md"),
         pattern(r"\b(TODO|FIXME|XXX|HACK)\b", raw=True)),
]
