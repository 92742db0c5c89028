"""Diffs of files of 5,000 lines beside `difflib` and `git diff`, and the view of such a diff."""

from __future__ import annotations

import difflib
import gc
import inspect
import os
import random
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.benchmarks.timing import seconds

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.file_history.diff import diff_contents
from helix_desktop.ui.design.diff.view import DiffView
from helix_desktop.ui.design.style import fonts, stylesheet
from helix_desktop.ui.design.style.theme import LIGHT

LINES = 5_000
_ROUNDS = 5
_STEP_PX = 60  # of a mouse wheel
_ENDS = (b"before", b"after")


def main() -> list[tuple[str, float, str]]:
    gc.disable()  # as in the window, which collects between events
    figures = []
    for name, share in (("some lines", 0.02), ("a third of the lines", 0.33)):
        before, after = _texts(share)
        own, of_difflib, of_git = _compare(before, after)
        figures += [
            (f"diff of 5,000 lines, {name} changed", own * 1e3, "ms"),
            ("compared with difflib.unified_diff", own / of_difflib, "times"),
        ]
        if of_git:
            figures.append(("compared with the start and run of git diff", own / of_git, "times"))
    hostile = max(seconds(partial(diff_contents, *pair)) for pair in _hostile())
    return [*figures, ("hostile texts of 5,000 lines, at most", hostile * 1e3, "ms"), *_view_figures()]


def _texts(share: float) -> tuple[bytes, bytes]:
    """Return code of 5,000 lines, and the same with a share of its lines changed, removed or added."""
    chance = random.Random(19)
    source = inspect.getsource(random).splitlines() + inspect.getsource(subprocess).splitlines()
    before = [
        f"{source[n % len(source)]}  # {n}" if chance.random() < 0.2 else source[n % len(source)]
        for n in range(LINES)
    ]
    after: list[str] = []
    for line in before:
        roll = chance.random() / share
        if roll < 1 / 3:
            continue
        after.append(f"{line.replace('e', 'E', 1)} changed" if roll < 2 / 3 else line)
        if 2 / 3 <= roll < 1:
            after.append(f"    value = {chance.randrange(1_000)}")
    return "\n".join([*before, ""]).encode(), "\n".join([*after, ""]).encode()


def _hostile() -> list[tuple[bytes, bytes]]:
    few = [b"".join(b"%d\n" % (n * n % mod) for n in range(LINES)) for mod in (7, 5)]
    numbers = [b"%d\n" % n for n in range(LINES)]
    return [
        (few[0], few[1]),
        (b"".join(numbers), b"".join(reversed(numbers))),
        (b"x\n" + b"a\n" * LINES, b"a\n" * (LINES // 2) + b"b\n" + b"a\n" * (LINES // 3) + b"y\n"),
    ]


def _compare(before: bytes, after: bytes) -> tuple[float, float, float]:
    """Return the seconds that this diff, that of difflib and that of git take (0: git is not installed)."""
    old = before.decode().splitlines()
    new = after.decode().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("before", "after")]
        for path, data in zip(paths, (before, after), strict=True):
            path.write_bytes(data)
        git = shutil.which("git")
        line = [git or "", "diff", "--no-index", "--histogram", "--word-diff", *map(str, paths)]
        rounds = [
            (
                seconds(lambda: diff_contents(before, after)),
                seconds(lambda: list(difflib.unified_diff(old, new))),
                seconds(lambda: subprocess.run(line, capture_output=True, check=False)) if git else 0.0,
            )
            for _ in range(_ROUNDS)
        ]
    own, of_difflib, of_git = (statistics.median(column) for column in zip(*rounds, strict=True))
    return own, of_difflib, of_git


def _view_figures() -> list[tuple[str, float, str]]:
    """Return how long a view takes to show such a diff, and to draw while it scrolls."""
    app = QApplication.instance() or QApplication([])  # noqa: TID251 - another benchmark may have made it
    assert isinstance(app, QApplication)
    fonts.load(resources_dir() / "fonts")
    stylesheet.apply(app, LIGHT)
    diff = diff_contents(*_texts(0.33))
    view = DiffView()
    view.resize(1_300, 900)
    view.set_side_by_side(True)
    view.show()
    show_time = statistics.median(
        seconds(lambda: view.show_diff(diff, "code.py", can_revert_hunks=True)) for _ in range(_ROUNDS)
    )
    view.text.syntax.finish()
    bar = view.text.verticalScrollBar()

    def draw_at(top: int) -> None:
        bar.setValue(top)
        view.text.viewport().grab()

    frames = [seconds(partial(draw_at, top)) for top in range(0, bar.maximum(), _STEP_PX)]
    percentiles = statistics.quantiles(frames, n=100)
    before, after = (b"\n".join(b"line %d, %s" % (n, end) for n in range(50_000)) for end in _ENDS)
    many = diff_contents(before, after)
    view.set_side_by_side(False)
    steps: list[Callable[[], object]] = [
        lambda: view.show_diff(many, "code.py", can_revert_hunks=True),
        lambda: view.text.go_to_change(1),
        lambda: view.resize(1_290, 900),
        view.text.apply_theme,
    ]
    longest = max(statistics.median(seconds(step) for _ in range(_ROUNDS)) for step in steps)
    view.close()
    return [
        ("a view of 5,000 lines side by side: shows it", show_time * 1e3, "ms"),
        ("scrolls, per frame, p50", percentiles[49] * 1e3, "ms"),
        ("scrolls, per frame, p99", percentiles[98] * 1e3, "ms"),
        ("a diff of 100,000 lines: the longest of its steps", longest * 1e3, "ms"),
    ]
