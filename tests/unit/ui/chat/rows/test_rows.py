"""Rows of the chat: of several events, of calls and their output; their keys."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from helix_desktop.agent.session import SubagentProgress
from helix_desktop.context.log.mode_notes import REFUSED_IN_PLAN
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.context.window.window_breakdown import break_down_window
from helix_desktop.domain.digest import RECALL_TOOL, digest_of
from helix_desktop.domain.errors import (
    AuthenticationFailed,
    ContextWindowExceeded,
    HelixError,
    ImagesRejected,
    InputFiltered,
    WorkspaceUntrusted,
)
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    Attachment,
    SweptCall,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import BranchKind, ChangesRecorded, FilesChanged, SessionStarted
from helix_desktop.domain.file_history.changes import RevertScope
from helix_desktop.domain.files.content import ChangedFile
from helix_desktop.domain.messages import ModelInfo, StopReason, ToolCall, TurnOutcome
from helix_desktop.domain.question import DENIED
from helix_desktop.domain.store import SessionSummary
from helix_desktop.domain.tools import Excerpt
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.chat.actions import OpenChanges, RowKey
from helix_desktop.ui.chat.rows.row_texts import (
    bar_target,
    bar_texts,
    figures_text,
    outcome_text,
    subagent_figures,
    text_of_row,
)
from helix_desktop.ui.chat.rows.row_types import (
    MAX_RUNNING_LINES,
    AssistantRow,
    DividerRow,
    NoticeRow,
    Row,
    RunningOutput,
    ToolRow,
    TurnFooterRow,
    UserRow,
    Versions,
)
from helix_desktop.ui.chat.rows.rows_from_events import ChatRows, rows_from_log
from helix_desktop.ui.kit.notices import error_notice
from helix_desktop.ui.window.branch_controller import find_versions
from helix_desktop.words.button_labels import action_label
from tests.support.call_log import CallLog
from tests.support.histories import SessionSimulator
from tests.support.tables import for_each
from tests.support.window.chat_geometry import action_names, tool_row, with_answer

ARGUMENT = digest_of(b"an argument")


def test_a_card_says_at_once_that_its_file_changed_and_that_it_is_as_it_was() -> None:
    """Step by step as from the whole log, and as the panel says it."""
    log = CallLog()
    log.call("read_file", "v1", path="a.py")
    log.call("read_file", "other", path="b.py")
    edit = log.call("edit_file", path="a.py", old_text="1", new_text="2")
    log.call("read_file", "v2", path="a.py")
    changed = log.add(FilesChanged((ChangedFile("a.py"), ChangedFile("b.py"))))
    assert changes_on_cards(log) == [edit, changed, 0, changed]
    log.call("read_file", "v1", path="a.py")
    assert changes_on_cards(log) == [0, changed, 0, changed, 0]


def test_what_an_agent_once_showed_is_a_plain_row_as_it_is_written() -> None:
    """The tool for that is gone; the row leads to its own output, like that of any call."""
    text = "Shown to the user: read_file a.py, lines 2-3, 2 lines\n"
    excerpt = Excerpt(digest_of(b"1\n2\n3\n"), 2, 3, 4, 3, "read_file", "a.py", "The parser")
    log = CallLog()
    log.add(AssistantSpoke("", "m", 1, (ToolCall("c0", "show_output", '{"hash": "a.py"}'),)))
    answer = ToolAnswered("c0", "show_output", text, digest_of(text.encode()), len(text), 1, 1)
    log.add(replace(answer, target="read_file a.py, lines 2-3, 2 lines", excerpt=excerpt))
    row = next(row for row in rows_from_log(log.events)[1] if isinstance(row, ToolRow))
    assert (row.state, row.badge, row.digest) == ("ok", "in_window", answer.digest)
    assert bar_texts(row) == ("show_output", "read_file a.py, lines 2-3, 2 lines")
    assert text.strip() in text_of_row(row)
    assert excerpt.digest in digests_in(log.events[-1].event), "what it names is kept"


def test_only_a_change_by_no_call_is_unusual() -> None:
    """After the agent's own edit, or its own command, an older read of the file had an amber mark."""
    for change, is_outside in (
        (FilesChanged((ChangedFile("a.py"),)), True),
        (FilesChanged((ChangedFile("a.py"),), "command-1"), False),
        (None, False),
    ):
        log = CallLog()
        log.call("read_file", "v1", path="a.py")
        if change is not None:
            log.add(change)
        else:
            log.call("edit_file", "Edited a.py", path="a.py", old_text="v1", new_text="v2")
        rows = [row for row in rows_from_log(log.events)[1] if isinstance(row, ToolRow)]
        assert (rows[0].changed_since > 0, rows[0].is_outdated) == (True, is_outside)


def test_a_recall_of_what_was_out_of_date_says_so() -> None:
    """Whoever changed the file, and whether all of it or a part was recalled."""
    log = CallLog()
    log.call("read_file", "v1", path="a.py")
    edit = log.call("edit_file", "Edited a.py", path="a.py", old_text="v1", new_text="v2")
    log.call("recall_cached_content", "a part", recalled=digest_of(b"v1"), hash=digest_of(b"v1"))
    assert changes_on_cards(log) == [edit, 0, edit]
    rows = [row for row in rows_from_log(log.events)[1] if isinstance(row, ToolRow)]
    assert [row.is_outdated for row in rows] == [False, False, True]


@for_each(
    ("handle", "words"),
    [
        (digest_of(b"a.py as it was")[:12], "stored output: a.py"),
        (f'"{digest_of(b"a.py as it was")[:8].upper()}"', "stored output: a.py"),
        ("e3", "stored output: a.py"),
        ("e2", "earlier messages"),
        ("e1-e3", "earlier messages"),
        (f"{'0' * 12} e3", "earlier messages"),
        ("9f" * 6, "what was compacted"),
        (ARGUMENT[:12], "stored output: b.py"),
        (digest_of(b"pasted")[:12], "stored output: notes"),
        (digest_of(b"elsewhere")[:12], "stored output"),
        ("", "stored output"),
    ],
)
def test_a_recall_that_runs_says_what_it_is_of_without_digits(handle: str, words: str) -> None:
    """What the session's log doesn't know has no name until the answer tells it."""
    log = CallLog()
    log.add(AssistantSpoke("", "m", 1, (ToolCall("c0", "read_file", '{"path": "a.py"}'),)))
    digest = digest_of(b"a.py as it was")
    log.add(ToolAnswered("c0", "read_file", "a.py as it was", digest, 14, 1, 1, target="a.py"))
    write = ToolCall("c1", "write_file", json.dumps({"path": "b.py", "content": "text"}))
    swept = SweptCall("c1", "{}", (ARGUMENT,), (4,))
    log.add(AssistantSpoke("", "m", 1, (write,), short=(swept,)))
    log.add(ToolAnswered("c1", "write_file", "Wrote b.py", digest_of(b"w"), 9, 1, 1, target="b.py"))
    log.add(UserSpoke("And this", 2, (Attachment(digest_of(b"pasted"), "notes", "pasted", 1, 6),)))
    log.add(FoldMade(0, 3, "a note", 9, "9f" * 32, 1, 1, 0))
    recall = ToolCall("r", RECALL_TOOL, json.dumps({"pattern": "tide", "hash": handle}))
    log.add(AssistantSpoke("", "m", 1, (recall,)))
    (row,) = (row for row in rows_from_log(log.events)[1] if isinstance(row, ToolRow) and row.call is recall)
    assert bar_target(row) == words
    log.add(ToolAnswered("r", RECALL_TOOL, "1:a", "1" * 64, 3, 1, 1, target="read_file c.py"))
    (row,) = (row for row in rows_from_log(log.events)[1] if isinstance(row, ToolRow) and row.call is recall)
    assert (bar_target(row), row.recalled) == ("stored output: c.py", "")


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


def test_a_revert_has_one_line() -> None:
    """What is found before the next message is the same change; what else changed has a line."""
    log = CallLog()
    log.add(ChangesRecorded("c-2", "", "revert", changed=1, first_path="a.py", paths=("a.py",)))
    log.add(FilesChanged((ChangedFile("a.py"),)))
    log.add(FilesChanged((ChangedFile("a.py"), ChangedFile("b.py"))))
    log.add(UserSpoke("Go on.", 2))
    log.add(FilesChanged((ChangedFile("a.py"),)))
    rows = [row.text for row in rows_from_log(log.events)[1] if isinstance(row, DividerRow)]
    assert rows == ["Reverted a.py", "b.py changed since it was read", "a.py changed since it was read"]


def changes_on_cards(log: CallLog) -> list[int]:
    """Return the change that each card names, in order; all ways to it must agree."""
    rows = ChatRows()
    transcript = Transcript()
    current: dict[RowKey, Row] = {}
    for recorded in log.events:
        transcript.apply(recorded)
        current |= {row.key: row for row in rows.apply(recorded, transcript)}
    assert list(current.values()) == rows_from_log(log.events)[1]
    changes = [row.changed_since for row in current.values() if isinstance(row, ToolRow)]
    frame = PromptFrame(ModelInfo("m", "m", 10_000), "")
    window = project(transcript, PROFILES["balanced"], frame)
    items = break_down_window(window, transcript, frame)
    assert changes == [item.changed_since for item in items if item.kind in ("output", "recalled")]
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
    assert reduction.key_by_call["c0"] in [row.key for row in rows if isinstance(row, ToolRow)]
    cards = [row.changes for row in rows if isinstance(row, ToolRow)]
    assert cards == [made]
    dividers = [row for row in rows if isinstance(row, DividerRow)]
    assert [(row.text, row.actions) for row in dividers] == [
        ("odd\\u000aname.py changed outside the agent", (OpenChanges("c2"),)),
        ("3 files changed outside the agent", (OpenChanges("c3"),)),
        ("Reverted turn 1: 2 files", (OpenChanges("c4"),)),
        ("Redid changes: 2 files", (OpenChanges("c5"),)),
    ]


def test_a_card_says_that_what_its_call_changed_is_reverted_until_it_is_redone() -> None:
    """Also when the log is read again; not if a part of it stands."""
    log = CallLog()
    reduction = ChatRows()
    transcript = Transcript()
    log.call("run_command", command="make a.py b.py")
    log.add(ChangesRecorded("c1", "", "command", "c0", changed=2, paths=("a.py", "b.py")))

    def is_reverted(capture: str, scope: RevertScope, reverts: str, *paths: str) -> bool:
        log.add(ChangesRecorded(capture, "", "revert", reverts=(reverts,), scope=scope, paths=paths))
        for recorded in log.events[len(seen) :]:
            seen.append(recorded)
            transcript.apply(recorded)
            reduction.apply(recorded, transcript)
        cards = [*reduction.rows.values(), *rows_from_log(log.events)[1]]
        states = {row.is_reverted for row in cards if isinstance(row, ToolRow)}
        assert len(states) == 1
        return states.pop()

    seen = list[RecordedEvent]()
    assert not is_reverted("c2", "file", "c1", "a.py")
    assert is_reverted("c3", "file", "c1", "b.py")
    assert not is_reverted("c4", "redo", "c3", "b.py")


STATUS = SubagentProgress("child", "waiting", 0, 0, 3, spent_tokens=21_000, cost=0.0031, started_at_ms=1_000)


def cut_off(outcome: TurnOutcome, partial: str = "I was saying") -> SessionSimulator:
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Begin.")
    simulator.end_turn(outcome, partial)
    return simulator


def ends(simulator: SessionSimulator) -> list[DividerRow | NoticeRow]:
    return [row for row in rows_from_log(simulator.log)[1] if isinstance(row, DividerRow | NoticeRow)]


def test_a_stopped_turn_is_marked_once_and_offers_to_continue_or_retry() -> None:
    (end,) = ends(cut_off("stopped"))
    assert text_of_row(end) == "Stopped"
    assert action_names(end) == ("continue", "retry")
    assert action_names(ends(cut_off("interrupted"))[0]) == ("continue", "retry")


def test_a_retried_attempt_folds_to_one_line_that_keeps_its_text() -> None:
    simulator = cut_off("failed")
    simulator.retry()
    simulator.end_turn("stopped", "Again I")
    simulator.retry()
    simulator.step("All of it.", 0)
    rows = rows_from_log(simulator.log)[1]
    assert [type(row) for row in rows] == [UserRow, DividerRow, DividerRow, AssistantRow, TurnFooterRow]
    assert [text_of_row(row).split("\n")[0] for row in rows[1:3]] == ["Attempt 1 failed", "Attempt 2 stopped"]
    assert "I was saying" in text_of_row(rows[1])
    assert "Again I" in text_of_row(rows[2])
    assert not [row for row in ends(simulator) if row.actions]


def test_only_the_newest_end_offers_actions() -> None:
    """A button under an older turn would repeat the newest one."""
    simulator = cut_off("failed")
    assert "retry" in action_names(ends(simulator)[0])
    simulator.send_message("Something else.")
    assert ends(simulator)[0].actions == ()
    simulator.end_turn("failed", "")
    assert ["retry" in action_names(row) for row in ends(simulator)] == [False, True]


@pytest.mark.parametrize(
    ("ended", "text"),
    [
        (TurnEnded("interrupted", interruption="crash"), "Interrupted: Helix ended during this turn"),
        (TurnEnded("interrupted", interruption="unsaved"), "Interrupted: what came next couldn't be saved"),
        (TurnEnded("interrupted", cause="closed"), "Stopped: Helix or the workspace was closed"),
        (TurnEnded("interrupted"), "Interrupted"),  # of a log from before the cause was recorded
    ],
)
def test_an_interrupted_turn_says_the_one_cause_it_has(ended: TurnEnded, text: str) -> None:
    log = [RecordedEvent(1, 0, UserSpoke("Begin.", 1)), RecordedEvent(2, 0, ended)]
    (row,) = [row for row in rows_from_log(log)[1] if isinstance(row, DividerRow)]
    assert text_of_row(row) == text


def test_an_answer_that_reached_the_limit_says_so_and_can_go_on() -> None:
    """What a provider cut off looked whole; older ones keep the line without its button."""
    answer = AssistantSpoke("Because the limit of", "test/model", 4, stop="length")
    log = [RecordedEvent(1, 0, UserSpoke("Why?", 1)), RecordedEvent(2, 0, answer)]
    log.append(RecordedEvent(3, 0, TurnEnded("done")))
    rows = rows_from_log(log)[1]
    assert [type(row) for row in rows] == [UserRow, AssistantRow, DividerRow, TurnFooterRow]
    (line,) = [row for row in rows if isinstance(row, DividerRow)]
    assert text_of_row(line).startswith("Cut off")
    assert action_names(line) == ("continue",)
    later = rows_from_log([*log, RecordedEvent(4, 0, UserSpoke("Continue.", 1))])[1]
    assert [action_names(row) for row in later if isinstance(row, DividerRow)] == [()]
    whole = replace(answer, stop="end")
    assert DividerRow not in map(type, rows_from_log([log[0], RecordedEvent(2, 0, whole), log[2]])[1])


@pytest.mark.parametrize(
    ("stop", "what", "fix", "action"),
    [
        ("refusal", "Stopped: the model refused to continue", "Rephrase the message", "retry"),
        ("filter", "Cut off by the provider's content filter", "Rephrase the message", "retry"),
        ("context", "Cut off: the context window is full", "Compact the conversation", "continue"),
        ("written-call", "The model wrote a tool call as text", "Turn tool calling on", "retry"),
        ("malformed", "Cut off: the server couldn't read", "Send the message again", "retry"),
    ],
)
def test_an_answer_that_is_not_whole_says_what_to_do(
    stop: StopReason, what: str, fix: str, action: str
) -> None:
    log = [
        RecordedEvent(1, 0, UserSpoke("Begin.", 1)),
        RecordedEvent(2, 0, AssistantSpoke("I was", "test/model", 4, stop=stop)),
        RecordedEvent(3, 0, TurnEnded("done")),
    ]
    (row,) = [row for row in rows_from_log(log)[1] if isinstance(row, NoticeRow)]
    assert row.what.startswith(what)
    assert row.fix.startswith(fix)
    assert action_names(row) == (action,)


LOG = [
    RecordedEvent(1, 0, SessionStarted("T")),
    RecordedEvent(2, 0, UserSpoke("one", 1)),
    RecordedEvent(3, 0, TurnEnded("done")),
    RecordedEvent(4, 0, UserSpoke("two", 1)),
    RecordedEvent(5, 0, TurnEnded("done")),
]


@pytest.mark.parametrize(
    ("error", "labels"),
    [
        (AuthenticationFailed(verbatim("box refused the key.")), ["Enter API key…"]),
        (
            ContextWindowExceeded(verbatim("It does not fit.")),
            ["Compact conversation…", "Open provider settings"],
        ),
        (WorkspaceUntrusted(verbatim("This folder isn't trusted yet.")), ["Trust folder…"]),
        (ImagesRejected(verbatim("box refused an image.")), ["Send without images", "Choose model…"]),
        (
            InputFiltered(verbatim("A filter refused it."), seqs=(4,)),
            ["Send without the output", "Choose model…"],
        ),
        (InputFiltered(verbatim("A filter refused it.")), ["Choose model…"]),
        (HelixError(verbatim("It broke."), remedies=("open_log",)), ["Open log folder"]),
        (HelixError(verbatim("It broke.")), []),
    ],
)
def test_the_buttons_of_an_error(error: HelixError, labels: list[str]) -> None:
    helped: list[str] = []
    answers = error_notice(error, helped.append).answers
    assert [answer.words for answer in answers] == labels
    for answer in answers:
        answer.action()
    assert helped == list(error.remedies)
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Go.")
    simulator.record(TurnEnded("failed", error.what, remedies=(*error.remedies, "of a later version")))
    notice = rows_from_log(simulator.log)[1][-1]
    assert isinstance(notice, NoticeRow)
    assert [action_label(name) for name in action_names(notice)] == [*labels, "Retry"], "no unknown remedy"


def test_figures_that_have_no_room_are_left_out_whole() -> None:
    def figures(progress: SubagentProgress, room: int = 99) -> str:
        row = tool_row("t", "delegate", progress=progress)
        return subagent_figures(row, 66_000, lambda words: len(words) <= room)

    for room, line in (
        (99, "3 model calls · 21k tokens used · $0.0031 · 1:05"),
        (40, "21k tokens used · $0.0031 · 1:05"),
        (20, "$0.0031 · 1:05"),
        (4, "1:05"),
        (3, ""),
    ):
        assert figures(STATUS, room) == line
    estimated = replace(STATUS, estimated=True)
    assert figures(estimated) == "3 model calls · ≈ 21k tokens used · ≈ $0.0031 · 1:05", "by our own count"
    assert figures(SubagentProgress("child", "queued", 0, 0, 0)) == ""


def summary(name: str, of: str = "", seq: int = 0, how: BranchKind = "edit", at: int = 0) -> SessionSummary:
    made_for: BranchKind = how if of else ""
    return SessionSummary(name, name, at, at, branch_of=of, branch_seq=seq, branch_how=made_for)


_BRANCHES: list[tuple[Any, ...]] = [("b", "p", 3, "edit", 2), ("a", "p", 3, "edit", 1)]
_NESTED: list[tuple[Any, ...]] = [("a", "p", 1, "edit", 1), ("deep", "a", 3, "edit", 2)]


@for_each(
    ("session", "listed", "versions"),
    [
        ("p", _BRANCHES, {4: (("p", "a", "b"), 0)}),
        ("b", _BRANCHES, {4: (("p", "a", "b"), 2)}),
        ("deep", _NESTED, {2: (("p", "a"), 1), 4: (("a", "deep"), 1)}),  # the version that it comes from
        ("p", _NESTED, {2: (("p", "a"), 0)}),
        ("p", [("r", "p", 4, "retry", 1)], {5: (("p", "r"), 0)}),  # at the end of the turn
        ("p", [("b", "p", 3, "")], {}),  # a plain branch
        ("a", [("a", "gone", 3)], {}),  # of a deleted session
        ("b", [("a", "gone", 3), ("b", "gone", 3, "edit", 1)], {4: (("a", "b"), 1)}),
    ],
)
def test_a_message_has_the_versions_of_its_branches(
    session: str, listed: list[tuple[Any, ...]], versions: dict[int, tuple[tuple[str, ...], int]]
) -> None:
    sessions = [summary(*each) for each in ([("p",)] if session != "a" else []) + listed]
    expected = {RowKey(seq): Versions(names, at) for seq, (names, at) in versions.items()}
    assert find_versions(session, LOG, sessions) == expected


@for_each(
    ("ends", "listed", "row"),
    [
        ((), [("r", "p", 2, "retry", 1)], 2),
        ((TurnEnded("stopped"), TurnEnded("done")), [("r", "p", 2, "retry", 1)], 4),
        ((TurnEnded("failed"), UserSpoke("two", 1), TurnEnded("done")), [("r", "p", 2, "retry", 1)], 2),
        ((TurnEnded("failed"),), [("r", "p", 2, "retry", 1), ("e", "p", 1, "edit", 2)], 2),
    ],
)
def test_the_versions_of_an_answer_are_at_its_message_until_it_came(
    ends: tuple[TurnEnded | UserSpoke, ...], listed: list[tuple[Any, ...]], row: int
) -> None:
    """So none of them is out of reach while its turn runs, or once that was stopped or failed."""
    log = [*LOG[:2], *(RecordedEvent(seq, 0, event) for seq, event in enumerate(ends, 3))]
    sessions = [summary(*each) for each in [("p",), *listed]]
    ((key, versions),) = find_versions("r", log, sessions).items()
    assert key == RowKey(row)
    assert sorted(versions.session_ids) == sorted(each.id for each in sessions)
    assert versions.session_ids[versions.place] == "r"


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


_MATCHES = "3 matching lines in 2 files:\na.py\n  1:x\n  --\n  7:x\nb.py\n  2:x\n"


def _row(tool: str, text: str, arguments: str = "{}", **facts: Any) -> ToolRow:
    """Return the row of a call, made of its events."""
    log = [
        RecordedEvent(1, 1_000, SessionStarted("s")),
        RecordedEvent(2, 2_000, AssistantSpoke("", "m", 1, (ToolCall("c", tool, arguments),))),
        RecordedEvent(3, 3_000, ToolAnswered("c", tool, text, "", 90, 0, 0, **facts)),
    ]
    return next(row for row in rows_from_log(log)[1] if isinstance(row, ToolRow))


def test_a_denied_call_says_why_and_which_files_it_was_about() -> None:
    edits = '{"edits": [{"path": "a.py", "old_text": "x"}, {"path": "b.py", "old_text": "y"}]}'
    row = _row("multi_edit", f"{DENIED} The user says: Leave b.py alone.", edits, outcome="denied")
    assert outcome_text(row) == "Denied: “Leave b.py alone.”"
    assert row.target == "a.py, b.py"


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
    assert figures_text(_row(tool, text, outcome="denied")).partition(" · ")[0] == (words or "4 tokens")


def test_figures_say_how_a_call_ended_and_how_long_it_ran() -> None:
    """Of one that a crash broke off the time is that of the newest output that was saved."""
    failed = tool_row("c", "x", state="failed", text="There is no tool 'x'. The tools are: y")
    assert outcome_text(failed) == "Failed: There is no tool 'x'"
    assert outcome_text(with_answer(failed, exit_code=2)) == "Exit code 2"
    assert figures_text(with_answer(failed, exit_code=2)).startswith("1 line · exit code 2 · ")
    done = replace(failed, state="ok")
    assert figures_text(done).startswith("1 line · 4"), "other agents' calls have no time"
    assert figures_text(with_answer(done, duration_ms=3)).startswith("1 line · 3 ms · ")
    assert "line" not in figures_text(_row("run_command", "Not run.", outcome="interrupted"))
    assert figures_text(_row("run_command", "1", outcome="stopped")) == "1 line · 4 tokens"
    stopped = _row("run_command", "1", outcome="stopped", duration_ms=14_000)
    assert figures_text(stopped) == "1 line · 14 s · 4 tokens"
    broken = tool_row(
        "c", "run_command", "make", "interrupted", "1", outcome="interrupted", duration_ms=1_200
    )
    assert figures_text(broken).startswith("at least 1.2 s · ")
    preview = tool_row("c", "run_command", text="", form="preview", tokens=500, badge="in_window")
    assert figures_text(preview).endswith("500 tokens in context")
    assert figures_text(replace(preview, badge="cached")).endswith("500 tokens while in context")


def test_only_the_newest_lines_are_shown() -> None:
    live = RunningOutput.from_output(5, "".join(f"line {number}\n" for number in range(50)))
    assert live.lines == tuple(f"line {number}" for number in range(50 - MAX_RUNNING_LINES, 50))
    assert live.started_at_ms == 5


@pytest.mark.parametrize(
    ("tail", "lines"),
    [
        ("", ()),
        ("\n\n", ()),
        ("half", ("half",)),
        ("a\r\nb\r\n", ("a", "b")),
        ("a\x1b[31mred\x1b[0m\x07b\n", ("aredb",)),
        ("10 %\r20 %\r", ("20 %",)),
        ("10 %\r20 %\r30 %", ("30 %",)),
        ("x" * 100_000, ("x" * 400,)),
    ],
)
def test_lines_are_sanitized(tail: str, lines: tuple[str, ...]) -> None:
    assert RunningOutput.from_output(0, tail).lines == lines


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (RowKey(12), "e12"),
        (RowKey(12, "call_1:a\nb", "call"), "t12:call_1:a\nb"),
        (RowKey(0, "call_1", "approval"), "ask:call_1"),
        (RowKey(3, part="arriving"), "live3"),
        (RowKey(1, part="error"), "trouble1"),
        (RowKey(part="retry"), "retry"),
    ],
)
def test_a_key_round_trips_as_text(key: RowKey, text: str) -> None:
    assert str(key) == text
    assert RowKey.parse(text) == key
    assert RowKey.parse(f"x{text}") is RowKey.parse("") is RowKey.parse("12") is RowKey.parse("e-1") is None


def test_keys_are_ordered_by_event() -> None:
    keys = [RowKey(10), RowKey(2, "b", "call"), RowKey(2), RowKey(2, "a", "call")]
    assert [str(key) for key in sorted(keys)] == ["e2", "t2:a", "t2:b", "e10"]
