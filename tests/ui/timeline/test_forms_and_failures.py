"""Cards of large outputs and of what failed."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger, Pinned, Undone
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ToolCall
from helix_desktop.ui.kit.intents import ChooseForm, RetrySummary
from helix_desktop.ui.timeline.cards import FormCard
from helix_desktop.ui.timeline.from_events import build_cards
from helix_desktop.ui.timeline.rows import card_menu
from helix_desktop.ui.timeline.view import Timeline, TimelineState
from tests.support.galleries.panes_samples import NOW_MS, long_timeline_state
from tests.support.intents import performed
from tests.support.timeline_pane import card, find_card, has, pills, press


def test_large_outputs_and_failures_can_be_acted_on(qtbot: QtBot) -> None:
    """Large outputs are found with what was cached; what failed is found with all else alone."""
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.set_state(long_timeline_state())
    pane.show()
    cards = long_timeline_state().cards
    forms = [form for form in cards if isinstance(form, FormCard)]
    assert {form.seq for form in forms} == {454, 459}
    assert {form.groups for form in forms} == {("cached",)}
    pane.filter_bar.choose("cached")
    actions = card_menu(card(pane, 459).row, pane).actions()
    assert [action.text() for action in actions] == ["Recall full output", "Send another part…"]
    with performed(pane) as form:
        actions[0].trigger()
    assert form == [ChooseForm(459, "full", "")]
    assert find_card(pane, 453) is None
    pane.filter_bar.choose(None)
    with performed(pane) as retried:
        press(pane, 453, "timeline-try-again-453")
    assert retried == [RetrySummary("turn")]


def test_the_form_of_an_output_inside_a_handover_is_not_offered_for_change(qtbot: QtBot) -> None:
    """Its card says what it is part of; after an undo, or pinned beside the handover, it can be changed."""
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.show()
    output = ToolAnswered(
        "c", "read_file", "Extract.", "0" * 64, 9_000, 40, 12, form="preview", chosen="timeout"
    )
    events: tuple[Event, ...] = (
        UserSpoke("Read it.", 3),
        AssistantSpoke("", "lab/m", 9, (ToolCall("c", "read_file", "{}"),)),
        output,
        AssistantSpoke("Done.", "lab/m", 2),
        HandoverMade(4, 0, (), "", "", 0, 50, 521, 554, 4, "m", HandoverTrigger.MANUAL),
    )
    for later, inside in (((), "Summary of 2 messages"), ((Pinned(3),), ""), ((Undone(5),), "")):
        log = [RecordedEvent(seq, 0, event) for seq, event in enumerate((*events, *later), 1)]
        cards = build_cards(log, Transcript(log))
        assert [form.inside for form in cards if isinstance(form, FormCard)] == [inside]
        pane.set_state(TimelineState(cards))
        assert has(pane, 3, "change-form") == (not inside)
        assert ("send more of it" in card(pane, 3).accessible_name) == (not inside)
        assert list(pills(pane, 3)) == (["Undo a later one first"] if inside else [])
