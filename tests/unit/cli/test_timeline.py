"""How the command line describes the rewrites of a session."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.cli.rewrite_lines import Rewrite, rewrite_lines
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade, Undone
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger, PlacementReason, SweepReason
from helix_desktop.domain.events.session import Event, RecordedEvent
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced
from tests.unit.domain.events.test_stored_events import FILES, read

_HANDOVER = HandoverMade(
    9, 0, (), "", "", 0, 10, 100, 50, 8, "lab/m", HandoverTrigger.THRESHOLD, threshold=0.6
)


def lines(*events: Event) -> list[str]:
    """Return the timeline lines of a log of these events."""
    return list(rewrite_lines([RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)]))


@pytest.mark.parametrize(
    ("trigger", "threshold", "text"),
    [
        (HandoverTrigger.THRESHOLD, 0.6, "automatic at 60 %"),
        (HandoverTrigger.THRESHOLD, 0.575, "automatic at 57.5 %"),
        (HandoverTrigger.THRESHOLD, 0.0, "automatic"),
        (HandoverTrigger.MANUAL, 0.0, "manual"),
        (HandoverTrigger.OVERFLOW, 0.0, "context was full"),
    ],
)
def test_a_handover_names_its_trigger(trigger: HandoverTrigger, threshold: float, text: str) -> None:
    """The policy's own threshold; none where an older log did not record it."""
    handover = msgspec.structs.replace(_HANDOVER, trigger=trigger, threshold=threshold)
    assert lines(handover) == [f"e1  summarized ({text}): 8 messages, 100 → 50 tokens, lab/m"]


def test_reflections_and_observations_are_distinguished() -> None:
    """When they are generated, and when they are placed."""
    observed = ObservationsMade(0, 3, (), (), "", "", 0, 40, 300, 5, "lab/m")
    refined = msgspec.structs.replace(observed, reflection=True, replaces=(1,), tokens=20)
    placement = ObservationsPlaced(1, PlacementReason.THRESHOLD, 260, 0.38)
    assert lines(observed, placement, refined, ObservationsPlaced(3, PlacementReason.COLD, 20)) == [
        "e1  facts noted: 5 messages, 40 tokens, lab/m",
        "e2  noted facts e1 added to the context (context reached 38 %): 260 tokens saved",
        "e3  noted facts merged: 5 messages, 20 tokens, lab/m",
        "e4  noted facts e3 added to the context (provider cache had expired): 20 tokens saved",
    ]


def test_sweeps_and_folds_are_described() -> None:
    """A sweep with its reason, a note with its kind."""
    fold = FoldMade(0, 9, "", 10, "", 0, 4, 900)
    assert lines(
        SweepMade((2,), 70, SweepReason.BATCH),
        SweepMade((2,), 70, SweepReason.OVERFLOW),
        fold,
        msgspec.structs.replace(fold, how="condense"),
        msgspec.structs.replace(fold, how="truncate"),
        Undone(2),
    ) == [
        "e1  cached: content of 1 message, 70 tokens saved",
        "e2  cached (context was full): content of 1 message, 70 tokens saved",
        "e3  noted: 4 steps, 900 tokens saved",
        "e4  notes shortened: 4 steps, 900 tokens saved",
        "e5  removed to fit the context window: 4 steps, 900 tokens saved",
        "e6  undone: e2",
    ]


@pytest.mark.parametrize("name", FILES)
def test_every_stored_rewrite_has_a_line(name: str) -> None:
    """Also those of older logs: a line for each, none empty."""
    log = [read(row) for row in FILES[name]]
    described = list(rewrite_lines(log))
    assert len(described) == sum(isinstance(recorded.event, Rewrite) for recorded in log)
    assert all(line.split(maxsplit=1)[1:] for line in described)
