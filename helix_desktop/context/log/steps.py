"""The steps of a session: one for each model call; where it can be branched, and questions that it missed.

No call is open where a session can be branched, so that the window is valid as it is, and what was recorded
at once stays together.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    MessageEvent,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import ATTACHED_SWEEP_REASONS, SweepMade
from helix_desktop.domain.events.session import ChangesRecorded, SessionBranched, SessionRenamed
from helix_desktop.domain.question import Question, parse_question
from helix_desktop.domain.store import PLACE_EVENTS
from helix_desktop.domain.translatable_text import OptionalText, TextContext

_text = TextContext("Context")


class Step(msgspec.Struct, frozen=True):
    """A step: its answer's event, its turn, its number in that turn, and when it was recorded.

    `tokens` are those of its request, as the provider reported them, else by our count (`is_estimated`); 0:
    not recorded. `outputs` are the events of those of its calls.
    """

    seq: int
    turn: int
    number: int
    at_ms: int
    tokens: int = 0
    is_estimated: bool = False
    outputs: tuple[int, ...] = ()


def read_steps(log: Sequence[RecordedEvent]) -> tuple[Step, ...]:
    """Return the steps of a log, oldest first; a step that was retried and its repetition have one number."""
    steps: list[Step] = []
    turn = number = 0
    for recorded in log:
        match recorded.event:
            case UserSpoke(steered=False):
                turn = turn + 1
                number = 0
            case AssistantSpoke(usage=usage, estimate=estimate):
                number += 1
                reported = usage.input if usage else 0
                steps.append(
                    Step(recorded.seq, turn, number, recorded.at, reported or estimate, not reported)
                )
            case ToolAnswered() if steps:
                outputs = (*steps[-1].outputs, recorded.seq)
                steps[-1] = msgspec.structs.replace(steps[-1], outputs=outputs)
            case TurnRetried(after=after):
                before = (step for step in reversed(steps) if step.seq <= after)
                step = next(before, None)
                number = step.number if step is not None and step.turn == turn else 0
    return tuple(steps)


Log = Sequence[RecordedEvent]
_BEGINNINGS = (
    SessionBranched,
    SessionRenamed,
    *PLACE_EVENTS,
)  # what a branch records for itself: another one begins before it
_ENDINGS = (*_BEGINNINGS, TurnEnded, TurnRetried)  # the same for what a turn that is repeated ended with


def point_after(log: Log, seq: int = 0) -> int:
    """Return the event up to which a log goes with event `seq` (0: its last) and the step it is part of.

    Raise InvalidInput if there is no such event, or calls of that step still run.
    """
    _require_event(log, seq or len(log))
    return _without(log, _turn_end(log, _step_end(log, seq or len(log))), (SessionBranched,))


def point_before_message(log: Log, seq: int) -> int:
    """Return the last event before the user's message `seq`. Raise InvalidInput if that is none."""
    _require_event(log, seq)
    if seq == 1 or not isinstance(_event(log, seq), UserSpoke):
        raise _refusal(_text("Event e{event} isn't a message of the user.", event=str(seq)))
    return _without(log, seq - 1, _BEGINNINGS)


def point_of_retry(log: Log, seq: int) -> int:
    """Return the last event before the turn of event `seq` was first answered, at least its message.

    Raise InvalidInput if the event is in no turn.
    """
    _require_event(log, seq)
    message = next((number for number in range(seq, 0, -1) if _begins_turn(_event(log, number))), 0)
    if not message:
        raise _refusal(_text("Event e{event} comes before the first message.", event=str(seq)))
    following = range(message + 1, len(log) + 1)
    ends = (number for number in following if isinstance(_event(log, number), AssistantSpoke | UserSpoke))
    return _without(log, next(ends, len(log) + 1) - 1, _ENDINGS)


def holder_of(transcript: Transcript, session_id: str, seq: int) -> str:
    """Return the session that holds event `seq` of a session's log itself: an ancestor, or the session."""
    return next((ancestor for ancestor, end in transcript.ancestors.items() if seq <= end), session_id)


def _begins_turn(event: Event) -> bool:
    return isinstance(event, UserSpoke) and not event.steered


def _event(log: Log, seq: int) -> Event:
    return log[seq - 1].event


def _step_end(log: Log, seq: int) -> int:
    """Return the first event from `seq` on at which no call is open and no rewrite is recorded in part."""
    start = next((n for n in range(seq, 0, -1) if isinstance(_event(log, n), AssistantSpoke)), 0)
    open_calls: set[str] = set()
    for number in range(max(1, start), len(log) + 1):
        match _event(log, number):
            case AssistantSpoke(calls=calls):
                open_calls = {call.id for call in calls}
            case ToolAnswered(call_id=call_id):
                open_calls.discard(call_id)
        if number >= seq and not open_calls and not _is_attached(log, number + 1):
            return number
    raise _refusal(
        _text("The step at event e{event} is still running.", event=str(seq)),
        _text("Wait until its tools have finished, or stop the turn. Earlier events can be used at once."),
    )


def _is_attached(log: Log, seq: int) -> bool:
    """Return True if event `seq` belongs to the one before it.

    So does a sweep that holds and falls with the rewrite before it, and what a call changed of files.
    """
    match _event(log, seq) if seq <= len(log) else None:
        case SweepMade(reason=reason):
            return reason in ATTACHED_SWEEP_REASONS
        case ChangesRecorded(call_id=call_id):
            return bool(call_id)
    return False


def _turn_end(log: Log, seq: int) -> int:
    """Return the end of a turn that nothing more was said in after `seq`; else `seq`."""
    for number in range(seq + 1, len(log) + 1):
        event = _event(log, number)
        if isinstance(event, TurnEnded):
            return number
        if isinstance(event, MessageEvent):
            break
    return seq


def _without(log: Log, seq: int, omitted: tuple[type[Event], ...]) -> int:
    """Return `seq`, or the event before those of the `omitted` kinds that end there."""
    while seq > 1 and isinstance(_event(log, seq), omitted):
        seq -= 1
    return seq


def _require_event(log: Log, seq: int) -> None:
    if not 1 <= seq <= len(log):
        raise _refusal(
            _text(
                "The session has no event e{event}; its last is e{last}.", event=str(seq), last=str(len(log))
            )
        )


def _refusal(why: OptionalText, fix: OptionalText = "") -> InvalidInput:
    return InvalidInput(
        _text("The session can't be branched there."), why, fix or _text("Choose another event.")
    )


def missed_questions(transcript: Transcript) -> list[Question]:
    """Return the questions that the newest turn ended without a reply to, oldest first.

    A message of the user closes them, and so does a step after them.
    """
    unanswered: set[str] = set()
    for item in reversed(() if transcript.turn_open else transcript.messages.items):
        match item.event:
            case ToolAnswered(call_id=call_id, outcome="interrupted"):
                unanswered.add(call_id)
            case AssistantSpoke(calls=calls) if calls:
                questions = [parse_question(call) for call in calls if call.id in unanswered]
                return [question for question in questions if question is not None]
            case AssistantSpoke() | UserSpoke():
                return []
            case _:
                pass
    return []
