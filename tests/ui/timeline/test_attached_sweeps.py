"""Cards of what was cached together with another change."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    HandoverTrigger,
    Redone,
    SweepMade,
    SweepReason,
    Undone,
)
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ToolCall
from helix_desktop.ui.timeline.from_events import build_cards
from helix_desktop.ui.timeline.view import Timeline, TimelineState
from helix_desktop.ui.window.rewrite_controller import also_changed
from tests.support.galleries.panes_samples import NOW_MS
from tests.support.timeline_pane import card, has, pills


def test_a_sweep_says_with_what_it_was_undone(qtbot: QtBot) -> None:
    """It holds and falls with that; undone by itself, it says no more than that."""
    handover, sweep = 3, 4
    events: tuple[Event, ...] = (
        UserSpoke("Do this.", 3),
        AssistantSpoke("Done.", "lab/m", 2),
        HandoverMade(2, 0, (), "", "", 0, 50, 521, 554, 2, "m", HandoverTrigger.MANUAL),
        SweepMade((), 0, SweepReason.HANDOVER),
    )
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.show()
    for event, expected in (
        (Undone(handover), ["Undone with “Summary of 2 messages”"]),
        (Redone(handover), []),
        (Undone(sweep), ["Undone"]),
    ):
        events = (*events, event)
        log = [RecordedEvent(seq, 0, recorded) for seq, recorded in enumerate(events, 1)]
        pane.set_state(TimelineState(build_cards(log, Transcript(log))))
        assert list(pills(pane, sweep)) == expected


def test_what_was_undone_inside_a_later_rewrite_did_not_come_back(qtbot: QtBot) -> None:
    """The sweep is undone with the handover, and its output is in the note all the same."""
    events: tuple[Event, ...] = (
        UserSpoke("Do this.", 3),
        AssistantSpoke("Done.", "lab/m", 2),
        UserSpoke("Read it.", 3),
        AssistantSpoke("", "lab/m", 9, (ToolCall("c", "read_file", '{"path": "a.md"}'),)),
        ToolAnswered("c", "read_file", "words " * 90, "d" * 64, 540, 90, 1, target="a.md"),
        AssistantSpoke("Read.", "lab/m", 2),
        HandoverMade(2, 0, (), "", "", 0, 50, 521, 554, 2, "m", HandoverTrigger.MANUAL),
        SweepMade((5,), 60, SweepReason.HANDOVER),
        FoldMade(3, 6, "It was read.", 4, "e" * 64, 1, 1, 50),
    )
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.show()
    sweep, fold = 8, 9
    for event, expected, changed in (
        (Undone(7), ["Undone with “Summary of 2 messages”"], ""),
        (Undone(fold), ["Undone with “Summary of 2 messages”"], "Together with it: 1 output cached."),
    ):
        events = (*events, event)
        log = [RecordedEvent(seq, 0, recorded) for seq, recorded in enumerate(events, 1)]
        transcript = Transcript(log)
        cards = build_cards(log, transcript)
        pane.set_state(TimelineState(cards))
        assert list(pills(pane, sweep)) == expected
        assert also_changed(cards, transcript, (7,)) == changed


def test_undo_says_before_the_click_what_it_takes_along(qtbot: QtBot) -> None:
    """The sweep that was recorded with a handover falls and returns with it."""
    events: tuple[Event, ...] = (
        UserSpoke("Do this.", 3),
        AssistantSpoke("Done.", "lab/m", 2),
        HandoverMade(2, 0, (), "", "", 0, 50, 521, 554, 2, "m", HandoverTrigger.MANUAL),
        SweepMade((), 0, SweepReason.HANDOVER),
    )
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.show()
    for event, name, expected in (
        (None, "undo", "Undo also takes back: 0 outputs cached"),
        (Undone(3), "redo", "Redo also repeats: 0 outputs cached"),
    ):
        events = (*events, event) if event is not None else events
        log = [RecordedEvent(seq, 0, recorded) for seq, recorded in enumerate(events, 1)]
        pane.set_state(TimelineState(build_cards(log, Transcript(log))))
        area = card(pane, 3).hit_area(name)
        assert area is not None
        assert area.tip == expected


def test_what_was_undone_inside_a_later_rewrite_is_redone_after_it(qtbot: QtBot) -> None:
    """Redoing it now would change no request: it is not offered until the later one is undone."""
    events: tuple[Event, ...] = (
        UserSpoke("Read it.", 3),
        AssistantSpoke("", "lab/m", 9, (ToolCall("c", "read_file", '{"path": "a.md"}'),)),
        ToolAnswered("c", "read_file", "words " * 90, "d" * 64, 540, 90, 1, target="a.md"),
        AssistantSpoke("Read.", "lab/m", 2),
        FoldMade(1, 4, "It was read.", 4, "e" * 64, 1, 1, 50),
        Undone(5),
        HandoverMade(4, 0, (), "", "", 0, 50, 521, 554, 2, "m", HandoverTrigger.MANUAL),
    )
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.show()
    for event, buttons, tip in (
        (None, False, "Can be redone when “Summary of 2 messages” is undone"),
        (Undone(7), True, ""),
    ):
        events = (*events, event) if event is not None else events
        log = [RecordedEvent(seq, 0, recorded) for seq, recorded in enumerate(events, 1)]
        pane.set_state(TimelineState(build_cards(log, Transcript(log))))
        assert has(pane, 5, "redo") is buttons
        assert pills(pane, 5)["Undone"] == tip
