"""Rows of tool calls, made from single events."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from helix_desktop.context.log.file_and_mode_notes import REFUSED_IN_PLAN
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.question import DENIED
from helix_desktop.ui.chat.rows.call_results import figures_text, outcome_text
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.chat.rows.rows_from_events import rows_from_log
from tests.support.tables import for_each
from tests.support.window.chat_geometry import tool_row, with_answer


def test_a_recall_says_which_lines_it_brought_and_a_command_its_folder() -> None:
    calls = (
        ToolCall("r", "recall", '{"hash": "9f3a1c", "start_line": 3}'),
        ToolCall("c", "run_command", '{"command": "make", "folder": "src", "network": true}'),
        ToolCall("d", "run_command", "no arguments"),
    )
    answer = ToolAnswered(
        "r", "recall", "three\nfour", "9f3a1c" + "0" * 58, 90, 10, 4,
        target="log.txt", recalled="9f3a1c" + "0" * 58, about="lines 3-4",
    )  # fmt: skip
    log = [
        RecordedEvent(1, 1_000, SessionStarted("s")),
        RecordedEvent(2, 2_000, AssistantSpoke("", "m", 1, calls)),
        RecordedEvent(3, 3_000, answer),
    ]
    _, rows = rows_from_log(log)
    recall, command, broken = (row for row in rows if isinstance(row, ToolRow))
    assert recall.target == "log.txt · lines 3-4"
    assert (command.command, command.values["folder"]) == ("make", "src")
    assert not broken.command


def test_a_denied_call_says_why_and_which_files_it_was_about() -> None:
    edits = '{"edits": [{"path": "a.py", "old_text": "x"}, {"path": "b.py", "old_text": "y"}]}'
    text = f"{DENIED} The user says: Leave b.py alone."
    log = [
        RecordedEvent(1, 1_000, SessionStarted("s")),
        RecordedEvent(2, 2_000, AssistantSpoke("", "m", 1, (ToolCall("c", "multi_edit", edits),))),
        RecordedEvent(3, 3_000, ToolAnswered("c", "multi_edit", text, "", 90, 9, 9, outcome="denied")),
    ]
    row = next(row for row in rows_from_log(log)[1] if isinstance(row, ToolRow))
    assert outcome_text(row) == "Denied: “Leave b.py alone.”"
    assert row.target == "a.py, b.py"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (REFUSED_IN_PLAN, "Denied: in plan mode"),
        (f"{DENIED} A saved rule says: deny run_command rm *.", "Denied: by the rule deny run_command rm *"),
        (DENIED, "Denied"),
    ],
)
def test_a_denied_call_says_by_what_it_was_denied(text: str, why: str) -> None:
    assert outcome_text(tool_row("c", "x", state="denied", text=text, outcome="denied", tokens=0)) == why


def test_a_call_that_failed_says_why_but_for_the_exit_code_of_a_command() -> None:
    row = tool_row("c", "x", state="failed", text="There is no tool 'x'. The tools are: y")
    assert outcome_text(row) == "Failed: There is no tool 'x'"
    assert outcome_text(with_answer(row, exit_code=2)) == "Exit code 2"
    assert figures_text(with_answer(row, exit_code=2)).startswith("1 line · 0 ms · exit code 2 · ")
    assert figures_text(replace(row, state="ok")).startswith("1 line · 0 ms · ")


def test_a_call_that_brought_nothing_before_it_was_broken_off_has_no_lines() -> None:
    call = ToolCall("c", "run_command", '{"command": "make"}')
    answer = ToolAnswered("c", "run_command", "Not run.", "", 0, 9, 9, outcome="interrupted")
    log = [
        RecordedEvent(1, 1_000, SessionStarted("s")),
        RecordedEvent(2, 2_000, AssistantSpoke("", "m", 1, (call,))),
        RecordedEvent(3, 3_000, answer),
    ]
    row = next(row for row in rows_from_log(log)[1] if isinstance(row, ToolRow))
    assert "line" not in figures_text(row)


def test_a_preview_that_left_the_context_was_sent_earlier() -> None:
    row = tool_row("c", "run_command", text="", form="preview", tokens=500, badge="in_window")
    assert figures_text(row).endswith("500 tokens in context")
    assert figures_text(replace(row, badge="cached")).endswith("500 tokens while in context")


def test_a_call_that_a_crash_broke_off_ran_at_least_as_long_as_its_output_says() -> None:
    """Its time is that of the newest output that was saved."""
    row = tool_row("c", "run_command", "make", "interrupted", "1", outcome="interrupted", duration_ms=1_200)
    assert figures_text(row).startswith("at least 1.2 s · ")


_MATCHES = "3 matching lines in 2 files:\na.py\n  1:x\n  --\n  7:x\nb.py\n  2:x\n"


@for_each(
    ("tool", "text", "words"),
    [
        ("run_command", "exit code 0 (sandboxed, no network)\n1\n2\n3\n", "3 lines printed"),
        (
            "run_command",
            "exit code 0 (sandboxed)\n(left in the background, and ended: sleep 9)\nx",
            "1 line printed",
        ),
        (
            "run_command",
            "no exit code: its time limit of 5 s ended it and all it had started (sandboxed)\n1\n",
            "1 line printed",
        ),
        ("run_command", "exit code 1 (sandboxed)\n(no output)\n", ""),
        ("run_command", "Denied by you.", "1 line"),
        ("read_file", "Lines 199-201 of 400 of orders.csv:\n199:a\n200:b\n201:c\n", "3 lines read"),
        ("read_file", "Lines\nof a file\n", "2 lines"),
        ("find_files", "2 files:\na.py\nb.py\n", "2 files"),
        ("search_text", _MATCHES, "3 matching lines"),
        ("search_text", "1,200 matching lines in 1 file:\na.py\n  1:x\n", "1,200 matching lines"),
        ("recall_cached_content", "Recalled 0123456789ab · read_file a.py\n1:a\n2:b\n", "2 lines recalled"),
        ("search_text", "No match for 'x' in .\n", "1 line"),
    ],
)
def test_an_output_has_as_many_lines_as_it_brought(tool: str, text: str, words: str) -> None:
    """What they are stands above them; the words tell them from all lines of the output in the cache."""
    calls = (ToolCall("c", tool, "{}"),)
    log = [
        RecordedEvent(1, 1_000, SessionStarted("s")),
        RecordedEvent(2, 2_000, AssistantSpoke("", "m", 1, calls)),
        RecordedEvent(3, 3_000, ToolAnswered("c", tool, text, "", 90, 0, 0, outcome="denied")),
    ]
    row = next(row for row in rows_from_log(log)[1] if isinstance(row, ToolRow))
    assert figures_text(row).partition(" · ")[0] == (words or "4 tokens")


@pytest.mark.parametrize(
    ("duration_ms", "words"), [(0, "1 line · 5 tokens"), (14_000, "1 line · 14 s · 5 tokens")]
)
def test_a_call_that_a_crash_cut_off_shows_no_time_where_none_was_saved(duration_ms: int, words: str) -> None:
    call = ToolCall("c", "run_command", '{"command": "make"}')
    answer = ToolAnswered("c", "run_command", "1", "", 1, 1, 1, duration_ms=duration_ms, outcome="stopped")
    log = [
        RecordedEvent(1, 1_000, SessionStarted("s")),
        RecordedEvent(2, 2_000, AssistantSpoke("", "m", 1, (call,))),
        RecordedEvent(3, 3_000, answer),
    ]
    _, rows = rows_from_log(log)
    (row,) = (row for row in rows if isinstance(row, ToolRow))
    assert figures_text(row) == words


def test_failed_tests_are_said_whatever_ran_after_them() -> None:
    """Not what another program printed that looks so."""
    printed = "FAILED (failures=1)\n\n" + "-old\n+new\n" * 40
    for command, words in (
        ("python3 -m unittest; git diff", "1 failed"),
        ("python3 -m unittest", ""),
        ("cat log; git diff", ""),
    ):
        row = tool_row("c", "run_command", text=printed, arguments={"command": command}, exit_code=0)
        assert outcome_text(row) == words
