"""How a turn ended, which actions remain, and what a retried attempt is folded to."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import StopReason
from helix_desktop.ui.chat.rows.from_events import rows_from_log
from helix_desktop.ui.chat.rows.row_texts import text_of_row
from helix_desktop.ui.chat.rows.row_types import AssistantRow, DividerRow, NoticeRow, TurnFooterRow, UserRow
from tests.support.histories import SessionSimulator
from tests.support.window.chat_geometry import action_names


def cut_off(ending: str, partial: str = "I was saying") -> SessionSimulator:
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Begin.")
    simulator.end_turn(
        "stopped" if ending == "stopped" else "interrupted" if ending == "interrupted" else "failed", partial
    )
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
