"""The trash as a list shows it: one row for all versions of a session, none for its subagents."""

from __future__ import annotations

from helix_desktop.domain.retention import TrashContents
from helix_desktop.domain.store import SessionSummary


def test_versions_share_a_row_and_subagents_have_none() -> None:
    first = SessionSummary("first", "Flush the stream", 1, 1)
    edited = SessionSummary("edited", "Flush it", 2, 2, branch_of="first", branch_how="edit")
    helper = SessionSummary("helper", "Read files", 3, 3, parent="edited")
    orphan = SessionSummary("orphan", "Search", 4, 4, parent="not in the trash")
    rows = TrashContents((), (helper, edited, first, orphan)).session_rows
    assert rows == {("first", "edited"): edited, ("orphan",): orphan}
