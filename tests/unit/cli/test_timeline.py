"""How the command line describes the rewrites of a session."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.cli.rewrite_lines import Rewrite, counted_rewrites, rewrite_line, rewrite_lines
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    HandoverTrigger,
    PlacementReason,
    SweepMade,
    SweepReason,
    Undone,
)
from helix_desktop.domain.events.summary import (
    Bullet,
    HandoverDiscarded,
    HandoverMade,
    HandoverPrepared,
    ObservationsMade,
    ObservationsPlaced,
    Quote,
    Section,
)
from helix_desktop.domain.messages import Usage
from tests.support.session_simulator import SessionSimulator
from tests.support.tables import for_each
from tests.unit.domain.test_events import FILES, read


def test_the_json_has_the_tokens_of_the_lines() -> None:
    """By Helix's count, whatever the provider reports."""
    answer = AssistantSpoke("ok", "lab/m", 1, usage=Usage(1_500, 1), estimate=1_000)
    sweep = SweepMade((1,), 800, SweepReason.BATCH)
    events: tuple[Event, ...] = (UserSpoke("Go.", 1), answer, sweep)
    log = [RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)]
    (recorded,) = counted_rewrites(log)
    assert isinstance(recorded.event, SweepMade)
    assert (recorded.seq, recorded.event.saved) == (3, 800)
    assert "800 tokens saved" in next(rewrite_lines(log))


def test_the_handover_that_a_session_starts_with_has_the_tokens_of_the_inspector() -> None:
    """Those of its message with all its quotes."""
    quotes = (Quote("user", "Which port?", 30), Quote("agent", "It is 8080.", 50))
    handover = HandoverMade(
        1, 0, (), "", "", 0, 120, 0, 200, 2, "lab/m", HandoverTrigger.CONTINUED, origin="abc", quotes=quotes
    )
    (line,) = rewrite_lines([RecordedEvent(1, 0, handover)])
    assert line.endswith(f": {120 + 30 + 50 + 3 * 4} tokens")


_HANDOVER = HandoverMade(
    9, 0, (), "", "", 0, 10, 100, 50, 8, "lab/m", HandoverTrigger.THRESHOLD, threshold=0.6
)


def lines(*events: Rewrite) -> list[str]:
    return list(map(rewrite_line, events))


@pytest.mark.parametrize(
    ("trigger", "text"),
    [
        (HandoverTrigger.THRESHOLD, "to make room"),
        (HandoverTrigger.MANUAL, "by you"),
        (HandoverTrigger.OVERFLOW, "to make room"),
    ],
)
def test_a_handover_names_its_trigger(trigger: HandoverTrigger, text: str) -> None:
    handover = msgspec.structs.replace(_HANDOVER, trigger=trigger)
    assert lines(handover) == [f"compacted ({text}): 8 messages, 100 → 50 tokens in context, lab/m"]


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
    assert first.startswith("e2  compacted (to make room): ")
    assert below == gist
    first, *below = list(rewrite_lines(log[:3]))[7:]
    assert first == "e3  summary of 8 messages, to compact them later: read 880 tokens, lab/m"
    assert below == gist
    assert list(rewrite_lines(log))[14:17] == [
        "e4  summary e3 edited by you",
        "    TODO Items",
        "    - Ask Ann",
    ]


def test_reflections_and_observations_are_distinguished() -> None:
    observed = ObservationsMade(0, 3, (), (), "", "", 0, 40, 300, 5, "lab/m")
    refined = msgspec.structs.replace(observed, reflection=True, replaces=(1,), tokens=20)
    placement = ObservationsPlaced(1, PlacementReason.THRESHOLD, 260, 0.38)
    averting = ObservationsPlaced(3, PlacementReason.COLD, 20, averted_handover_at=0.85)
    cold = msgspec.structs.replace(averting, averted_handover_at=0.0)
    assert lines(observed, placement, refined, cold, averting) == [
        "summary written: 5 messages, 40 tokens, lab/m",
        "compacted, summary e1 (to save tokens): 260 tokens saved",
        "summaries shortened: 5 messages, 20 tokens, lab/m",
        "compacted, summary e3 (to save tokens): 20 tokens saved",
        "compacted, summary e3 (to make room): 20 tokens saved",
    ]


def test_sweeps_and_folds_are_described() -> None:
    fold = FoldMade(0, 9, "", 10, "", 0, 4, 900)
    assert lines(
        SweepMade((2,), 70, SweepReason.BATCH),
        SweepMade((2,), 70, SweepReason.OVERFLOW),
        fold,
        msgspec.structs.replace(fold, how="condense"),
        msgspec.structs.replace(fold, how="truncate"),
        Undone(2),
    ) == [
        "cached (to save tokens): content of 1 message, 70 tokens saved",
        "cached (to make room): content of 1 message, 70 tokens saved",
        "compacted without a model: 4 steps, 900 tokens saved",
        "summaries shortened: 4 steps, 900 tokens saved",
        "compacted (to make room): 4 steps, 900 tokens saved",
        "undone: e2",
    ]


@for_each("name", FILES)
def test_every_stored_rewrite_has_a_line(name: str) -> None:
    """Also those of older logs: a line for each, none empty."""
    events = [read(row).event for row in FILES[name]]
    assert all(rewrite_line(event).strip() for event in events if isinstance(event, Rewrite))


def test_messages_and_tokens_are_those_of_the_window() -> None:
    """Messages as the chat shows them, tokens by Helix's count."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Begin.")
    for step in range(40):
        simulator.step("Next." if step % 2 else "", 1, usage_ratio=1.5)
        simulator.answer_call(0, f"{step} line of output\n" * 100)
    handover = simulator.hand_over(100)
    assert handover is not None
    sweep_seq, sweep = next(
        (recorded.seq, recorded.event) for recorded in simulator.log if isinstance(recorded.event, SweepMade)
    )
    lines = dict(line.split(maxsplit=1) for line in rewrite_lines(simulator.log))
    texts = [
        recorded.seq
        for recorded in simulator.log
        if isinstance(recorded.event, UserSpoke | AssistantSpoke) and recorded.event.text.strip()
    ]
    messages = sum(seq <= handover.upto and seq != handover.kept for seq in texts)
    (line,) = (line for line in lines.values() if line.startswith("compacted ("))
    assert f": {messages} messages, " in line
    assert lines[f"e{sweep_seq}"].endswith(f" {sweep.saved:,} tokens saved")
