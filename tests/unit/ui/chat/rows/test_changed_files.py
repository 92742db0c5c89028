"""What the chat and the inspector say of files that changed after they were read."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.context.window.window_breakdown import break_down_window
from helix_desktop.domain.events.session import ChangesRecorded, FilesChanged
from helix_desktop.domain.files.content import ChangedFile
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.ui.chat.actions import OpenChanges
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.from_events import ChatRows, rows_from_log
from helix_desktop.ui.chat.rows.row_types import DividerRow, Row, ToolRow
from tests.support.call_log import CallLog


def test_a_card_says_at_once_that_its_file_changed_and_that_it_is_as_it_was() -> None:
    """Step by step as from the whole log, and as the inspector says it."""
    log = CallLog()
    log.call("read_file", "v1", path="a.py")
    log.call("read_file", "other", path="b.py")
    edit = log.call("edit_file", path="a.py", old_text="1", new_text="2")
    log.call("read_file", "v2", path="a.py")
    changed = log.add(FilesChanged((ChangedFile("a.py"), ChangedFile("b.py"))))
    assert changes_on_cards(log) == [edit, changed, 0, changed]
    log.call("read_file", "v1", path="a.py")
    assert changes_on_cards(log) == [0, changed, 0, changed, 0]


def test_a_divider_says_which_files_changed() -> None:
    log = CallLog()
    log.add(FilesChanged((ChangedFile("a.py"),)))
    log.add(FilesChanged((ChangedFile("a.py", is_gone=True), ChangedFile("b.py"))))
    rows = [row for row in rows_from_log(log.events)[1] if isinstance(row, DividerRow)]
    assert [(row.text, row.details) for row in rows] == [
        ("a.py changed since it was read", ()),
        (
            "2 files changed since they were read",
            ("a.py was deleted since it was read", "b.py changed since it was read"),
        ),
    ]


def changes_on_cards(log: CallLog) -> list[int]:
    """Return the change that each card names, in order; all ways to it must agree."""
    rows, transcript = ChatRows(), Transcript()
    current: dict[RowKey, Row] = {}
    for recorded in log.events:
        transcript.apply(recorded)
        current |= {row.key: row for row in rows.apply(recorded, transcript)}
    assert list(current.values()) == rows_from_log(log.events)[1]
    changes = [row.changed_since for row in current.values() if isinstance(row, ToolRow)]
    frame = PromptFrame(ModelInfo("m", "m", 10_000), "")
    window = project(transcript, PROFILES["balanced"], frame)
    items = break_down_window(window, transcript, frame)
    assert changes == [item.changed_since for item in items if item.kind == "output"]
    return changes


def test_a_card_says_what_its_call_changed_and_a_divider_what_something_else_did() -> None:
    log = CallLog()
    log.call("run_command", command="sed -i s/a/b/ *.py")
    made = ChangesRecorded("c1", "1" * 64, "command", "c0", changed=2, added_lines=12, removed_lines=4)
    log.add(made)
    log.add(ChangesRecorded("c2", "2" * 64, "outside", changed=1, first_path="odd\nname.py"))
    log.add(ChangesRecorded("c3", "3" * 64, "outside", created=2, deleted=1))
    log.add(ChangesRecorded("c4", "4" * 64, "revert", reverts=("c1",), scope="turn", changed=2))
    log.add(ChangesRecorded("c5", "5" * 64, "revert", reverts=("c4",), scope="redo", changed=2))
    reduction, rows = rows_from_log(log.events)
    assert reduction.tools.key_of_call("c0") in [row.key for row in rows if isinstance(row, ToolRow)]
    cards = [row.changes for row in rows if isinstance(row, ToolRow)]
    assert cards == [made]
    dividers = [row for row in rows if isinstance(row, DividerRow)]
    assert [(row.text, row.actions) for row in dividers] == [
        ("odd\\u000aname.py changed outside the agent", (OpenChanges("c2"),)),
        ("3 files changed outside the agent", (OpenChanges("c3"),)),
        ("Reverted turn 1: 2 files", (OpenChanges("c4"),)),
        ("Redid changes: 2 files", (OpenChanges("c5"),)),
    ]
    assert [row.kind for row in dividers] == ["changes", "changes", "revert", "redo"]
