"""What an agent's tools print, made of what every Python has: code, search results, logs and listings."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

LIBRARY = Path(statistics.__file__).parent
_MEDIAN_LOG, _SPREAD = 9.0, 1.2  # log-normal: half are below 8 KB, the mean is 15 KB
_LEAST, _MOST = 1024, 200_000


@cache
def _files() -> tuple[tuple[str, str], ...]:
    paths = sorted(LIBRARY.glob("*.py")) + sorted(LIBRARY.glob("asyncio/*.py"))
    return tuple((path.relative_to(LIBRARY).as_posix(), path.read_text(encoding="utf-8")) for path in paths)


@cache
def code() -> bytes:
    """Files as they are read."""
    return "\n".join(text for _, text in _files()).encode()


@cache
def hits() -> bytes:
    """Lines as a search prints them."""
    words = ("def ", "import ", "raise ", "self.")
    found = (
        f"{name}:{number}:{line}"
        for word in words
        for name, text in _files()
        for number, line in enumerate(text.splitlines(), 1)
        if word in line
    )
    return "\n".join(found).encode()


@cache
def log() -> bytes:
    """What a build says: the interpreter's own account of its imports."""
    line = [
        sys.executable,
        "-v",
        "-c",
        "import asyncio, json, unittest, http.server, xml.dom.minidom, sqlite3",
    ]
    return subprocess.run(line, capture_output=True, check=True).stderr


@cache
def listing() -> bytes:
    """Names, sizes and times, as `ls -lR` prints them."""
    rows = [
        f"{path.stat().st_size:>9} {path.stat().st_mtime:.0f} {path}"
        for path in sorted(LIBRARY.rglob("*.py"))
    ]
    return "\n".join(rows).encode()


def tool_outputs(seed: int) -> Iterator[bytes]:
    """Endless outputs: half code, the rest search results, logs and listings; no two are the same."""
    rnd = random.Random(seed)
    kinds = (code, hits, log, listing)
    for number in range(10**9):
        pool = rnd.choices(kinds, (50, 25, 15, 10))[0]()
        size = int(min(_MOST, len(pool) - 1, max(_LEAST, rnd.lognormvariate(_MEDIAN_LOG, _SPREAD))))
        at = rnd.randrange(len(pool) - size)
        yield b"$ read --call %d.%d\n" % (seed, number) + pool[at : at + size]
