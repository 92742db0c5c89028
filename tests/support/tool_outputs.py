"""Typical outputs of an agent's tools, from what every Python has: code, search results, logs, listings."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

STDLIB_DIR = Path(statistics.__file__).parent
_LOG_MEDIAN, _LOG_SIGMA = 9.0, 1.2  # log-normal: half are below 8 KB, the mean is 15 KB
_MIN_BYTES, _MAX_BYTES = 1024, 200_000


@cache
def _source_files() -> tuple[tuple[str, str], ...]:
    paths = sorted(STDLIB_DIR.glob("*.py")) + sorted(STDLIB_DIR.glob("asyncio/*.py"))
    return tuple(
        (path.relative_to(STDLIB_DIR).as_posix(), path.read_text(encoding="utf-8")) for path in paths
    )


@cache
def source_code() -> bytes:
    return "\n".join(text for _, text in _source_files()).encode()


@cache
def search_results() -> bytes:
    words = ("def ", "import ", "raise ", "self.")
    lines = (
        f"{name}:{number}:{line}"
        for word in words
        for name, text in _source_files()
        for number, line in enumerate(text.splitlines(), 1)
        if word in line
    )
    return "\n".join(lines).encode()


@cache
def build_log() -> bytes:
    """Return a build log: the interpreter's own account of its imports."""
    line = [
        sys.executable,
        "-v",
        "-c",
        "import asyncio, json, unittest, http.server, xml.dom.minidom, sqlite3",
    ]
    return subprocess.run(line, capture_output=True, check=True).stderr


@cache
def directory_listing() -> bytes:
    """Names, sizes and times, as `ls -lR` prints them."""
    rows = [
        f"{path.stat().st_size:>9} {path.stat().st_mtime:.0f} {path}"
        for path in sorted(STDLIB_DIR.rglob("*.py"))
    ]
    return "\n".join(rows).encode()


def tool_outputs(seed: int) -> Iterator[bytes]:
    """Endless outputs: half code, the rest search results, logs and listings; no two are the same."""
    rng = random.Random(seed)
    kinds = (source_code, search_results, build_log, directory_listing)
    for number in range(10**9):
        pool = rng.choices(kinds, (50, 25, 15, 10))[0]()
        size = int(
            min(_MAX_BYTES, len(pool) - 1, max(_MIN_BYTES, rng.lognormvariate(_LOG_MEDIAN, _LOG_SIGMA)))
        )
        at = rng.randrange(len(pool) - size)
        yield b"$ read --call %d.%d\n" % (seed, number) + pool[at : at + size]
