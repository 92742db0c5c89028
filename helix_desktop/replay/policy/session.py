"""The session that policies are replayed on: its facts, and its events without what its own policy did."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from helix_desktop.agent.session_window import SessionWindow
from helix_desktop.domain.events.rewrite import FoldMade, FormChosen, Redone, SweepMade, Undone
from helix_desktop.domain.events.session import MessageQueued, QueueChanged, RecordedEvent
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.request_extras import NO_EXTRAS

_OF_POLICY = (SweepMade, FoldMade, HandoverFailed, ObservationsFailed, ObservationsMade, ObservationsPlaced)
_OF_QUEUE = (MessageQueued, QueueChanged)  # they change no window, and name events by their number


class SessionFacts(msgspec.Struct, frozen=True):
    """What a replay has to know besides the log: the model, and what stands in every request.

    `fixed_tokens` are those of system prompt and tools, `ratio` the model's tokens per token of ours, from
    earlier sessions.
    """

    info: ModelInfo
    fixed_tokens: int = 0
    ratio: float = 1.0


def facts_of(window: SessionWindow) -> SessionFacts:
    """Return the facts of an open session."""
    frame = window.frame
    info = msgspec.structs.replace(frame.info, extras=NO_EXTRAS)  # headers are no business of a replay
    return SessionFacts(info, frame.fixed_tokens, frame.ratio)


def events_to_replay(log: Iterable[RecordedEvent]) -> list[RecordedEvent]:
    """Return the events that any policy would have met: messages, and what the user did to single outputs.

    Left out is what the session's own policy did, with undo and redo of that; handovers by hand too. The
    handover by which the session continues another one stays.
    """
    form_seqs: set[int] = set()
    events = []
    for recorded in log:
        event = recorded.event
        if isinstance(event, FormChosen):
            form_seqs.add(recorded.seq)
        if isinstance(event, _OF_POLICY + _OF_QUEUE) or (
            isinstance(event, HandoverMade) and not event.origin
        ):
            continue
        if isinstance(event, Undone | Redone) and event.target not in form_seqs:
            continue
        events.append(recorded)
    return events
