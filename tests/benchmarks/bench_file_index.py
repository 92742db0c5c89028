"""Files completed in a message, in a workspace of 50,000: first list, hits on every key, a free loop."""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path

from helix_desktop.services.message_files import FileIndex
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.process import Ripgrep, find_ripgrep
from helix_desktop.tools.workspace_tools import open_jail

FILES = 50_000
FOLDERS = 4_000
_WORDS = (
    "account", "app", "auth", "billing", "cache", "chat", "client", "composer", "config", "core", "data",
    "handler", "index", "level", "model", "order", "parser", "product", "render", "route", "search", "server",
    "service", "session", "store", "test", "user", "util", "view", "window",
)  # fmt: skip
_TYPED = ("composer_view", "chat/comp", "sessionstore", "cmpsr", "e", "eeee", "zzzz", "src/app.py:10-40", "")
_ROWS = 50


def main() -> list[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as folder:
        _make_files(Path(folder))
        return asyncio.run(_measure(FileIndex(open_jail(Path(folder)), Ripgrep(find_ripgrep(), {}))))


def _make_files(root: Path) -> None:
    chance = random.Random(18)
    folders = []
    for _ in range(FOLDERS):
        parts = [
            chance.choice(_WORDS) + chance.choice(("", "s", "_kit")) for _ in range(chance.randint(1, 6))
        ]
        folders.append(root.joinpath(*parts))
        folders[-1].mkdir(parents=True, exist_ok=True)
    paths = set[Path]()
    while len(paths) < FILES:
        name = f"{chance.choice(_WORDS)}_{chance.choice(_WORDS)}{chance.randint(0, 99)}"
        paths.add(chance.choice(folders) / (name + chance.choice((".py", ".ts", ".md", ".json"))))
    for path in paths:
        path.touch()


async def _measure(index: FileIndex) -> list[tuple[str, float, str]]:
    pauses: list[float] = []
    scope = TaskScope()
    scope.start(_watch_loop(pauses), "watch the loop")
    started = time.perf_counter()
    await index.search("a", _ROWS)
    first = time.perf_counter() - started
    started = time.perf_counter()
    await index.refresh()
    again = time.perf_counter() - started
    times = []
    work = []
    for _ in range(3):
        for typed in _TYPED:
            for end in range(min(1, len(typed)), len(typed) + 1):
                started = time.perf_counter()
                worked = time.process_time()
                await index.search(typed[:end], _ROWS)
                times.append(time.perf_counter() - started)
                work.append(time.process_time() - worked)
    await scope.close()
    return [
        ("first list and hits", first * 1e3, "ms"),
        ("list again, nothing changed", again * 1e3, "ms"),
        ("first hits, median", statistics.median(times) * 1e3, "ms (at most 50)"),
        ("first hits, 99 of 100", statistics.quantiles(times, n=100)[98] * 1e3, "ms (at most 50)"),
        ("first hits, most processor time", max(work) * 1e3, "ms"),
        ("longest pause of the loop", max(pauses) * 1e3, "ms"),
    ]


async def _watch_loop(pauses: list[float]) -> None:
    while True:
        started = time.perf_counter()
        await asyncio.sleep(0.001)
        pauses.append(time.perf_counter() - started - 0.001)
