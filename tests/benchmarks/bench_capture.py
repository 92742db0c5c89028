"""What the capture of file changes costs in a warm repository of 20,000 files, beside `git status`."""

from __future__ import annotations

import random
import statistics
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path

from helix_desktop.domain.file_history.changes import CallMark, FileCoverageSettings
from helix_desktop.file_history.history import OpenedHistory
from helix_desktop.system.clock import wall_clock_ms
from tests.benchmarks.timing import seconds

FILES = 20_000
FORMATTED = 2_000
ROUNDS = 15
_WARM_S = 0.1  # after which no file counts as changed just now


def main() -> list[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "repository")
        paths = _make_repository(root)
        history = OpenedHistory(root, Path(folder, "data/h.db"), FileCoverageSettings(), wall_clock_ms, ())
        try:
            return _measure(root, history, paths)
        finally:
            history.close()


def _measure(root: Path, history: OpenedHistory, paths: list[Path]) -> list[tuple[str, float, str]]:
    first = seconds(history.start)
    batches = []
    while history.coverage().is_complete is not True:
        batches.append(seconds(history.copy_batch))
    time.sleep(_WARM_S)
    git = list[float]()
    before = list[float]()
    after = list[float]()
    for number in range(ROUNDS):
        git.append(seconds(lambda: _git(root, "status", "--porcelain")))
        mark = CallMark("s", str(number))
        before.append(seconds(partial(history.begin_call, mark)))
        paths[number].write_text(f"changed = {number}\n")
        after.append(seconds(partial(history.end_call, "s", mark.call_id)))
    history.begin_call(CallMark("s", "format"))
    size = 0
    for path in paths[:FORMATTED]:
        text = path.read_text() + "# formatted\n"
        path.write_text(text)
        size += len(text)
    formatted = seconds(lambda: history.end_call("s", "format"))
    ratios = [[mine / theirs for mine, theirs in zip(times, git, strict=True)] for times in (before, after)]
    return [
        ("first look at 20,000 files", first * 1e3, "ms"),
        ("first copy, without its pauses", sum(batches) * 1e3, "ms"),
        ("first copy, the longest a call waits", max(batches) * 1e3, "ms"),
        ("git status", statistics.median(git) * 1e3, "ms"),
        ("before a command", statistics.median(before) * 1e3, "ms"),
        ("before a command, times git status", statistics.median(ratios[0]), "(at most 3)"),
        ("after a command that changed one file", statistics.median(after) * 1e3, "ms"),
        ("after it, times git status", statistics.median(ratios[1]), "(at most 3)"),
        ("after a formatter of 2,000 files", formatted * 1e3, f"ms ({size / 1e6:.1f} MB read)"),
    ]


def _make_repository(root: Path) -> list[Path]:
    """Write as many files as the repository has, in a thousand folders, and commit them."""
    chance = random.Random(19)
    paths = []
    for number in range(FILES):
        path = root / f"part{number % 40}/module{number // 40 % 25}/file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "".join(f"value_{chance.randrange(10**6)} = 1\n" for _ in range(chance.randint(5, 80)))
        )
        paths.append(path)
    _git(root, "init", "--quiet")
    _git(root, "add", ".")
    _git(root, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "-m", "all")
    _git(root, "status")
    return paths


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)
