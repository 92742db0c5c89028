"""The one question before the app quits: a line for each reason to stay, and none without a reason."""

from __future__ import annotations

from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.file_history.changes import FileCoverage
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.window.quit import QuitReasons
from tests.support.tables import for_each


def test_each_reason_has_a_line() -> None:
    gone = StoreWriteFailed(verbatim("Its data is gone."))
    reasons = QuitReasons(
        running=("Fix the parser", "Write tests"),
        missing=(("w1", "notes", gone),),
        settings=("Providers", "MCP servers"),
        copied=("helix", "docs"),
    )
    assert reasons.lines() == [
        "“notes” isn't saved. Its data is gone.",
        "The agent is working in 2 sessions. Quitting stops it, and you can continue later.",
        "What you typed in Settings isn't saved yet: Providers, MCP servers.",
        "Files of helix, docs are being copied for undo.",
    ]
    assert reasons.loses_anything


def test_without_a_reason_nothing_is_asked() -> None:
    assert not QuitReasons().is_any
    assert not QuitReasons(running=("Fix the parser",)).loses_anything


@for_each(
    "coverage, is_copying",
    [
        (FileCoverage(), False),
        (FileCoverage(files=3, pending=2), True),
        (FileCoverage(files=3, pending=2, is_paused=True), False),
        (FileCoverage(files=3, pending=2, error="No space left"), False),
        (FileCoverage(files=5, is_complete=True), False),
    ],
)
def test_files_are_copied_until_all_are_in_or_it_stops(coverage: FileCoverage, is_copying: bool) -> None:
    assert coverage.is_copying == is_copying
