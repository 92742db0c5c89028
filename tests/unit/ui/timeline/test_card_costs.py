"""What the timeline's cards say that models took."""

from __future__ import annotations

import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import SummaryProblem
from helix_desktop.domain.events.summary import HandoverFailed, ObservationsFailed
from helix_desktop.domain.messages import ToolCall
from helix_desktop.ui.chat.rows.row_types import DividerRow, NoticeRow
from helix_desktop.ui.chat.rows.rows_from_events import rows_from_log
from helix_desktop.ui.timeline.cards import FailureCard, FormCard
from helix_desktop.ui.timeline.cards_from_events import build_cards


@pytest.mark.parametrize(("is_demo", "price"), [(True, ""), (False, " · price unknown")])
def test_only_of_a_real_model_a_card_says_that_its_price_is_unknown(is_demo: bool, price: str) -> None:
    """The demo model costs nothing, and nothing is said of it."""
    output = ToolAnswered(
        "c",
        "read_file",
        "Extract.",
        "0" * 64,
        9_000,
        40,
        12,
        form="compact",
        chosen="agent",
        intake_tokens=500,
    )
    events: tuple[Event, ...] = (
        UserSpoke("Read it.", 3),
        AssistantSpoke("", "demo/offline", 9, (ToolCall("c", "read_file", "{}"),), demo=is_demo),
        output,
        HandoverFailed("No summary was made.", spent=900),
    )
    log = [RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)]
    failure, form = build_cards(log, Transcript(log))
    assert isinstance(form, FormCard)
    assert isinstance(failure, FailureCard)
    assert form.cost == f"500 tokens{price}"
    assert failure.cost == f"900 tokens{price}"


def test_a_card_says_of_a_free_model_that_it_is_free() -> None:
    failed = HandoverFailed("No summary was made.", spent=900, unpriced=0)
    log = [RecordedEvent(1, 0, UserSpoke("Go.", 1)), RecordedEvent(2, 0, failed)]
    (card,) = build_cards(log, Transcript(log))
    assert isinstance(card, FailureCard)
    assert card.cost == "900 tokens · free"


def test_what_no_provider_reported_is_said_to_be_about_that() -> None:
    """As the session's usage says it, of which it is a part."""
    failed = HandoverFailed("No summary was made.", spent=900, cost=0.25, estimated=True)
    log = [RecordedEvent(1, 0, UserSpoke("Go.", 1)), RecordedEvent(2, 0, failed)]
    (card,) = build_cards(log, Transcript(log))
    assert isinstance(card, FailureCard)
    assert card.cost == "≈ 900 tokens · ≈ $0.25"


def test_a_spent_budget_is_a_limit_and_no_error() -> None:
    ends = (TurnEnded("failed", "It ended.", cause="budget"), TurnEnded("failed", "It ended."))
    for ended, is_limit in zip(ends, (True, False), strict=True):
        log = [RecordedEvent(1, 0, UserSpoke("Go.", 1)), RecordedEvent(2, 0, ended)]
        (card,) = build_cards(log, Transcript(log))
        assert isinstance(card, FailureCard)
        assert card.is_limit == is_limit


@pytest.mark.parametrize(("problem", "node"), [(None, ""), ("too_short", "failure")])
def test_a_summary_that_came_too_late_is_no_error(problem: SummaryProblem | None, node: str) -> None:
    """What it would replace had become as short by itself: nothing is wrong, and the chat says so calmly."""
    failed = ObservationsFailed("A new summary wasn't used.", "It has 9 tokens.", 900, problem=problem)
    log = [RecordedEvent(1, 0, UserSpoke("Go.", 1)), RecordedEvent(2, 0, failed)]
    (card,) = build_cards(log, Transcript(log))
    assert card.node(0) == node
    _, rows = rows_from_log(log)
    levels = [row.level for row in rows if isinstance(row, NoticeRow)]
    lines = [row.text for row in rows if isinstance(row, DividerRow)]
    assert (levels, lines) == (
        (["warning"], []) if problem else ([], ["A new summary wasn't used. It has 9 tokens."])
    )
