"""Cards of what was cached together with another change."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger, Redone, SweepMade, SweepReason, Undone
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.ui.timeline.card_data import TimelineState
from helix_desktop.ui.timeline.from_events import build_cards
from helix_desktop.ui.timeline.view import Timeline
from tests.support.galleries.panes_samples import NOW_MS
from tests.support.timeline_pane import card, pills


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
        (Undone(handover), ["Undone with Handover 1"]),
        (Redone(handover), []),
        (Undone(sweep), ["Undone"]),
    ):
        events = (*events, event)
        log = [RecordedEvent(seq, 0, recorded) for seq, recorded in enumerate(events, 1)]
        pane.set_state(TimelineState(build_cards(log, Transcript(log))))
        assert list(pills(pane, sweep)) == expected


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
