"""The steps of a session: one for each model call that answered, with the turn that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.domain.events.conversation import AssistantSpoke, TurnRetried, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent


class Step(msgspec.Struct, frozen=True):
    """A step: its answer's event, its turn, its number in that turn, and when it was recorded.

    `tokens` are those of its request, as the provider reported them, else by our count (`is_estimated`); 0:
    not recorded.
    """

    seq: int
    turn: int
    number: int
    at_ms: int
    tokens: int = 0
    is_estimated: bool = False


def read_steps(log: Sequence[RecordedEvent]) -> tuple[Step, ...]:
    """Return the steps of a log, oldest first; a step that was retried and its repetition have one number."""
    steps: list[Step] = []
    turn = number = 0
    for recorded in log:
        match recorded.event:
            case UserSpoke(steered=False):
                turn, number = turn + 1, 0
            case AssistantSpoke(usage=usage, estimate=estimate):
                number += 1
                reported = usage.input if usage else 0
                steps.append(
                    Step(recorded.seq, turn, number, recorded.at, reported or estimate, not reported)
                )
            case TurnRetried(after=after):
                before = (step for step in reversed(steps) if step.seq <= after)
                step = next(before, None)
                number = step.number if step is not None and step.turn == turn else 0
    return tuple(steps)
