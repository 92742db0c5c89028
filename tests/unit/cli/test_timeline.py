"""How the command line describes the rewrites of a session."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.cli.rewrite_lines import Rewrite, RewriteWords, counted_rewrites, rewrite_lines
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger, Redone, SweepMade, SweepReason, Undone
from helix_desktop.domain.events.summary import (
    Bullet,
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    HandoverPrepared,
    ObservationsFailed,
    Quote,
    Section,
)
from helix_desktop.domain.messages import Usage
from helix_desktop.ui.timeline.cards import FailureCard, ManualActionCard, SweepCard, TimelineCard
from helix_desktop.ui.timeline.cards_from_events import build_cards
from helix_desktop.ui.timeline.summary_cards import (
    CompactedCallsCard,
    CompactedMessagesCard,
    HandoverCard,
    ObservationsCard,
)
from helix_desktop.ui.timeline.usage_points import usage_points
from helix_desktop.words.context_changes import retaken_text, trigger_text
from helix_desktop.words.lines import dotted
from tests.support.histories import conversation_with
from tests.support.rewrite_histories import histories_with_rewrites
from tests.support.session_rewrites import cached_outputs, place_observations, prepare_observations
from tests.support.session_simulator import SessionSimulator
from tests.unit.domain.test_events import GOLDEN, read


def test_the_json_has_the_tokens_that_a_rewrite_saved() -> None:
    """By Helix's count, whatever the provider reports."""
    answer = AssistantSpoke("ok", "lab/m", 1, usage=Usage(1_500, 1), estimate=1_000)
    sweep = SweepMade((1,), 800, SweepReason.BATCH)
    events: tuple[Event, ...] = (UserSpoke("Go.", 1), answer, sweep)
    log = [RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)]
    (recorded,) = counted_rewrites(log)
    assert isinstance(recorded.event, SweepMade)
    assert (recorded.seq, recorded.event.saved) == (3, 800)


def test_the_handover_that_a_session_starts_with_has_the_tokens_of_the_panel() -> None:
    """Those of its message with all its quotes."""
    quotes = (Quote("user", "Which port?", 30), Quote("agent", "It is 8080.", 50))
    handover = HandoverMade(
        1, 0, (), "", "", 0, 120, 0, 200, 2, "lab/m", HandoverTrigger.CONTINUED, origin="abc", quotes=quotes
    )
    (line,) = rewrite_lines([RecordedEvent(1, 0, handover)])
    assert line.endswith(f" · {120 + 30 + 50 + 3 * 4} tokens")


_HANDOVER = HandoverMade(
    9, 0, (), "", "", 0, 10, 100, 50, 8, "lab/m", HandoverTrigger.THRESHOLD, threshold=0.6
)


def test_handovers_and_checkpoints_say_what_is_open() -> None:
    """The two sections that say most, issues before the rest; an edited checkpoint says the user's words."""
    sections = tuple(
        Section(title, (Bullet(f"First of {title}", (1,)), Bullet(f"Second of {title}", (1,))))
        for title in TITLES
        if title != "TODO Items"
    )
    handover = msgspec.structs.replace(_HANDOVER, sections=sections)
    checkpoint = HandoverDiscarded(900, prepared=HandoverPrepared(handover, 40_000, 880))
    edited = msgspec.structs.replace(
        handover, revises=3, sections=(Section("TODO Items", (Bullet("Ask Ann"),)), *sections[1:2])
    )
    discarded = HandoverDiscarded(prepared=HandoverPrepared(edited))
    events: tuple[Event, ...] = (UserSpoke("Go.", 1), handover, checkpoint, discarded)
    log = [RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)]
    gist = [
        "    Current Issues",
        "    - First of Current Issues",
        "    - Second of Current Issues",
        "    Completed Work",
        "    - First of Completed Work",
        "    - Second of Completed Work",
    ]
    first, *below = rewrite_lines(log[:2])
    assert first == "e2  Handover summary of turn 1 · Context: 100 → 50 · context reached 60 %"
    assert below == gist
    first, *below = list(rewrite_lines(log[:3]))[7:]
    assert first == "e3  Handover summary of turn 1, prepared · Not used"
    assert below == gist
    assert list(rewrite_lines(log))[14:17] == [
        "e4  Handover summary of turn 1, prepared, edited · Not used",
        "    TODO Items",
        "    - Ask Ann",
    ]


def test_every_stored_rewrite_has_a_line() -> None:
    """None is empty."""
    log = [read(row) for row in GOLDEN]
    words = RewriteWords(Transcript(log))
    assert all(
        words.line(recorded.seq, recorded.event) for recorded in log if isinstance(recorded.event, Rewrite)
    )


@given(histories_with_rewrites(), st.booleans())
def test_each_line_says_what_the_row_in_the_window_says(
    simulator: SessionSimulator, is_managed: bool
) -> None:
    """What it did, what it made of the context, why, and whether it was undone."""
    log = simulator.log
    frame = simulator.frame
    points = usage_points(log, simulator.policy, frame.info.window, frame.fixed_tokens)
    listed = [line.split("  ", 1) for line in rewrite_lines(log, is_managed=is_managed)]
    lines = {line[0]: line[1] for line in listed if line[0]}
    for card in build_cards(log, Transcript(log), points=points, is_managed=is_managed):
        if words := row_words(card):
            assert lines[f"e{card.seq}"] == words


def row_words(card: TimelineCard) -> str:
    """Return what a rewrite's row says; empty of another one, or where its size is not known."""
    match card:
        case HandoverCard(is_checkpoint=True):
            return f"{card.title} · {card.size_text}"
        case HandoverCard(event=HandoverMade(origin="") as event):
            why = trigger_text(event.trigger, event.threshold)
            words = dotted((card.title, card.size_text, why, retaken_text(card.retaken)))
        case ObservationsCard():
            return f"{card.title} · {card.unsent or 'Not used'}"
        case SweepCard() | CompactedCallsCard() | CompactedMessagesCard() if card.before:
            words = card.line
        case ManualActionCard(kind="form" | "exclude" | "pin" | "unpin") if (
            card.kind != "exclude" or card.size_text
        ):
            words = dotted((card.text, card.size_text))
        case FailureCard(event=HandoverFailed() | ObservationsFailed()):
            return " ".join(card.texts[:2])
        case _:
            return ""
    return dotted((words, "Undone" if card.is_undone else ""))


def test_an_undo_and_a_redo_name_what_they_are_about() -> None:
    simulator = conversation_with(3)
    outputs = [item.seq for item in cached_outputs(simulator)]
    (many,) = simulator.record(SweepMade((*outputs[:3],), 70, SweepReason.MANUAL))
    (one,) = simulator.record(SweepMade((outputs[3],), 70, SweepReason.MANUAL))
    simulator.record(Undone(many.seq), Redone(many.seq), Undone(one.seq))
    lines = [line.split("  ", 1)[1] for line in rewrite_lines(simulator.log)]
    assert lines[2:4] == ["Undone: Cached 3 outputs", "Redone: Cached 3 outputs"]
    assert lines[4] == "Undone: Cached 1 output"


def test_a_summary_in_whose_place_another_was_written_is_not_undone() -> None:
    simulator = conversation_with(3)
    made = simulator.hand_over(100)
    assert made is not None
    first = max(simulator.transcript.rewrites.handovers)
    simulator.record(msgspec.structs.replace(made, replaces=(first,)))
    written, again = (line for line in rewrite_lines(simulator.log) if line.startswith("e"))
    assert written.partition(" · ")[0] == f"e{first}  Handover summary of turns 1–2"
    assert again.partition(" · ")[0] == f"e{first + 1}  Handover summary of turns 1–2, written again"
    assert not written.endswith("Undone")


def test_observations_in_place_are_listed_once() -> None:
    simulator = conversation_with(6)
    made = prepare_observations(simulator)
    place_observations(simulator)
    assert [line for line in rewrite_lines(simulator.log) if line.startswith(f"e{made} ")] == []
    lines = [line for line in rewrite_lines(simulator.log) if " · by you" in line]
    assert [line.partition("  ")[2].partition(" · ")[0] for line in lines] == ["Compacted turns 1–5"]
