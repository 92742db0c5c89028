"""Samples of a session's changes: every kind of change, by tools, commands, the user, reverts; its page."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import msgspec
from msgspec.structs import replace
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.file_history.changes import (
    ChangedFileStatus,
    FileChange,
    FileCoverage,
    FileState,
    FileSummary,
    PlannedFile,
    RecordedChanges,
    RevertPlan,
    RevertProblem,
    RevertScope,
    RevertStatus,
    SessionChanges,
    UncoveredPlace,
)
from helix_desktop.domain.file_history.diff import FileDiff, diff_states
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.ui.changes.change_groups import (
    ChangesState,
    Contents,
    Entry,
    FileRow,
    GroupedChanges,
    LineCounts,
    commit_changes,
    file_of,
    group_changes,
)
from helix_desktop.ui.changes.page import ChangesPage
from helix_desktop.ui.changes.reverts.plan_dialog import PlanDialog
from helix_desktop.ui.changes.reverts.rewind_dialog import RewindDialog
from tests.support.galleries.panes_samples import NOW_MS

_MINUTE_MS = 60_000
_CODE = '''"""Buffers tokens and flushes whole blocks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(slots=True)
class StreamFlush:
    """Flush what is finished, rebuild what is open."""

    interval: float = 0.033  # 30 Hz
    blocks: list[str]

    async def run(self) -> None:
        """Flush until it is canceled."""
        while True:
            await asyncio.sleep(self.interval)
            self.flush()

    def flush(self) -> None:
        """Freeze finished blocks."""
        for block in self.blocks:
            self.view.append(block)
        self.blocks.clear()
'''
BEFORE = _CODE.encode()
AFTER = (
    _CODE.replace("0.033  # 30 Hz", "0.016  # 60 Hz")
    .replace("blocks: list[str]", "blocks: list[Block]")
    .replace(
        "            self.view.append(block)\n",
        "            if block.is_closed:\n                self.view.append(block)\n",
    )
    .encode()
)
CONTENTS = {digest_of(data): data for data in (BEFORE, AFTER)}


def file_state(data: bytes | None, mode: int = 0o644, *, stored: bool = True) -> FileState | None:
    """A file with a content; None: nothing."""
    return None if data is None else FileState("file", digest_of(data), len(data), mode, stored=stored)


def change(
    path: str,
    before: bytes | None = BEFORE,
    after: bytes | None = AFTER,
    *,
    moved_from: str = "",
    shared: bool = False,
) -> FileChange:
    return FileChange(path, file_state(before), file_state(after), moved_from, shared)


_FIRST = "Re-render only what changed while the answer streams in"
_SECOND = "Move the parser into its own module, and delete the old one"
_CAPTURES = (
    RecordedChanges(
        "c1", "s0", 12, 0, 1, 9, _FIRST, "tool", "call1",
        "edit_file", "src/helix/ui/chat/stream.py", changes=(change("src/helix/ui/chat/stream.py"),),
        added_lines=4, removed_lines=3,
    ),
    RecordedChanges(
        "c2", "s0", 15, _MINUTE_MS, 1, 9, _FIRST, "tool", "call2",
        "write_file", "tests/ui/chat/test_stream.py",
        changes=(change("tests/ui/chat/test_stream.py", None),), added_lines=48,
    ),
    RecordedChanges(
        "c3", "s0", 18, 2 * _MINUTE_MS, 1, 9, _FIRST, "command",
        "call3", "run_command", "make fmt &&\n  pytest -q tests/ui/chat", ("npm run build",),
        changes=(
            change("src/helix/ui/chat/stream.py", AFTER, BEFORE, shared=True),
            change("src/helix/ui/chat/blocks.py", shared=True),
            FileChange(
                "build/cache.bin",
                file_state(b"1", stored=False),
                file_state(b"22", stored=False),
            ),
        ),
        added_lines=9, removed_lines=7,
    ),
    RecordedChanges(
        "c4", "s0", 27, 21 * _MINUTE_MS, 2, 25, _SECOND,
        "outside", changes=(change("README.md"), change("docs/notes.md", None)),
        added_lines=12, removed_lines=3,
    ),
    RecordedChanges(
        "c5", "s0", 31, 24 * _MINUTE_MS, 2, 25, _SECOND,
        "command", "call5", "run_command", "git mv src/parser.py src/helix/markdown/parser.py",
        changes=(
            change("src/helix/markdown/parser.py", None, moved_from="src/parser.py"),
            change("src/legacy/render.py", BEFORE, None),
            FileChange("bin/run.sh", file_state(AFTER), file_state(AFTER, 0o755)),
            FileChange("latest", FileState("link", target="v1"), FileState("link", target="v2")),
        ),
        added_lines=26, removed_lines=26,
    ),
    RecordedChanges(
        "c6", "s0", 40, 30 * _MINUTE_MS, 2, 25, _SECOND,
        "revert", reverts=("c2",), scope="file",
        changes=(change("tests/ui/chat/test_stream.py", AFTER, None),), removed_lines=48,
    ),
)  # fmt: skip
CAPTURES = tuple(
    msgspec.structs.replace(
        capture,
        at_ms=NOW_MS - 45 * _MINUTE_MS + capture.at_ms,
        reverted=("tests/ui/chat/test_stream.py",) * (capture.capture_id == "c2"),
    )
    for capture in _CAPTURES
)
COVERAGE = FileCoverage(
    12_345,
    214_000_000,
    31_000_000,
    (
        UncoveredPlace("node_modules", "ignored", True),
        UncoveredPlace("dist", "ignored", True, 412, 9_400_000),
        UncoveredPlace(".env", "secret", size=312),
        UncoveredPlace("assets/intro.mp4", "too_large", size=84_000_000),
    ),
    4,
    is_complete=True,
)
COPYING = FileCoverage(
    4_938,
    90_000_000,
    places=(UncoveredPlace("src/app.py", "pending", files=1),),
    uncovered=7_407,
    pending=7_407,
)


def session_changes(captures: Iterable[RecordedChanges] = CAPTURES) -> SessionChanges:
    captures = tuple(captures)
    files: dict[str, FileSummary] = {}
    for capture in captures:
        for each in capture.changes:
            previous = files.get(each.path)
            files[each.path] = FileSummary(
                each.path,
                previous.before if previous else each.before,
                each.after,
                (*(previous.capture_ids if previous else ()), capture.capture_id),
                _status(each.path),
                capture.source == "outside" or (previous is not None and previous.by_user),
                each.is_covered and (previous is None or previous.is_covered),
            )
    return SessionChanges("s0", captures, tuple(files.values()))


_STATUSES: dict[str, ChangedFileStatus] = {
    "tests/ui/chat/test_stream.py": "reverted",
    "docs/notes.md": "accepted",
}


def _status(path: str) -> ChangedFileStatus:
    return _STATUSES.get(path, "open")


def changes_state() -> ChangesState:
    """Two turns with every kind of change."""
    return ChangesState(group_changes(session_changes()), COVERAGE)


def many_changes(count: int = 500) -> ChangesState:
    """A formatter over many files, some with very long paths."""
    deep = "/".join(f"package_with_a_rather_long_name_{number}" for number in range(6))
    paths = (
        f"{deep}/" * (number % 7 == 3) + f"src/part_{number % 20:02}/module_{number:03}.py"
        for number in range(count)
    )
    changes = tuple(map(change, paths))
    capture = msgspec.structs.replace(
        CAPTURES[2], others=(), changes=changes, added_lines=4 * count, removed_lines=3 * count
    )
    return ChangesState(group_changes(session_changes([capture])), replace_coverage())


def replace_coverage() -> FileCoverage:
    """A large workspace, all covered."""
    return msgspec.structs.replace(COVERAGE, places=(), uncovered=0)


def line_counts(state: ChangesState) -> dict[Contents, LineCounts]:
    """Lines that each file gained and lost, as they are counted."""
    counts = {}
    for group in state.grouped.by_turn if state.grouped is not None else ():
        for row in group.rows:
            diff = sample_diff(row)
            counts[row.contents] = LineCounts.of(diff)
    return counts


@cache
def sample_diff(row: FileRow) -> FileDiff:
    """The diff of a file of the samples, which every page of them shows again."""
    before, after = (CONTENTS.get(digest) for digest in row.contents)
    return diff_states(row.before, before, row.after, after)


def show_sample_diffs(page: ChangesPage) -> None:

    def show(entry: Entry | None) -> None:
        row = file_of(entry)
        if row is not None:
            page.show_diff(row, sample_diff(row))

    page.list.entry_selected.connect(show)


EMPTY = ChangesState(GroupedChanges(SessionChanges("s0")), replace_coverage())


def commit_state() -> ChangesState:
    """What differs from the last commit."""
    changes = (change("README.md"), change("src/new.py", None), change("src/old.py", BEFORE, None))
    return ChangesState(group_changes(commit_changes(changes)), COVERAGE, has_git=True, source="commit")


UNDONE = (
    AutoRunChange(".git/hooks/pre-commit", reasons=("a program that git runs",), outcome="removed"),
    AutoRunChange(
        "vendor/widget/.git/config",
        reasons=("core.fsmonitor = ./tools/watch --all", "include.path = ../shared/config"),
        outcome="removed",
        change_id="0123456789abcdef",
    ),
    AutoRunChange(
        ".envrc",
        "sets the environment of every shell in the folder",
        outcome="removed",
        change_id="fedcba9876543210",
    ),
)

STATES = {
    "changes since the last commit": commit_state(),
    "changes in git": replace(changes_state(), has_git=True),
    "changes": changes_state(),
    "changes, many": many_changes(),
    "changes, undone after commands": replace(changes_state(), undone=UNDONE),
    "changes, none but undone": replace(EMPTY, undone=UNDONE),
    "changes, none": EMPTY,
    "changes, first copy": replace(EMPTY, coverage=COPYING),
    "changes, copy paused": replace(EMPTY, coverage=msgspec.structs.replace(COPYING, is_paused=True)),
    "changes, stopped copy": replace(
        EMPTY, coverage=msgspec.structs.replace(COPYING, error="No space left on the disk.")
    ),
    "changes, not trusted": replace(EMPTY, obstacle="untrusted"),
    "changes, no folder": replace(EMPTY, obstacle="missing"),
}


NOW = BEFORE.replace(b"0.033", b"0.050").replace(b"Freeze finished blocks", b"Freeze what is finished")


def plan(scope: RevertScope = "turn") -> RevertPlan:
    """A plan with files of every status."""

    def planned(path: str, *sides: bytes | None, status: RevertStatus = "ready") -> PlannedFile:
        present, base, former = map(file_state, sides)
        return PlannedFile(path, present, base, former, status)

    def blocked(path: str, problem: RevertProblem) -> PlannedFile:
        return PlannedFile(path, file_state(NOW), file_state(NOW), status="blocked", problem=problem)

    merged = planned("src/helix/ui/chat/blocks.py", NOW, AFTER, BEFORE, status="merge")
    files = (
        planned("src/helix/ui/chat/stream.py", NOW, AFTER, BEFORE, status="conflict"),
        planned("assets/logo.png", NOW, AFTER, BEFORE, status="conflict"),
        msgspec.structs.replace(merged, merged=file_state(AFTER)),
        blocked("build/cache.bin", "not_covered"),
        blocked("var/log/app.log", "no_permission"),
        planned("README.md", AFTER, AFTER, BEFORE),
        planned("tests/ui/chat/test_stream.py", AFTER, AFTER, None),
        planned("src/legacy/render.py", None, None, BEFORE),
    )
    return RevertPlan(files, ("c1", "c2"), scope)


def make_page(state: ChangesState) -> ChangesPage:
    """Return the page on screen, the lines of each file counted."""
    page = ChangesPage(clock=lambda: NOW_MS)
    page.resize(826, 760)
    page.show()
    show_sample_diffs(page)
    page.set_state(state)
    page.show_counts(line_counts(state))
    return page


def make_plan_dialog(parent: QWidget) -> PlanDialog:
    """The dialog about files that were changed since."""
    dialog = PlanDialog(parent, plan())
    dialog.files.show_counts(
        {file.path: LineCounts(4, 3) for file in plan().files if file.status != "blocked"}
    )
    return dialog


def make_rewind_dialog(parent: QWidget) -> RewindDialog:
    """The preview of going back to before a message."""
    messages = {
        9: "Re-render only what changed while the answer streams in",
        25: "Move the parser into its own module, and delete the old one",
    }
    dialog = RewindDialog(parent, messages, 9)
    dialog.show_plan(plan("rewind"))
    dialog.files.show_counts(
        {file.path: LineCounts(4, 3) for file in plan().files if file.status != "blocked"}
    )
    return dialog
