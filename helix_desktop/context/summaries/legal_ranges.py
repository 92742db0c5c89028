"""Which ranges of messages a handover may cover: no call is parted from its answer, the newest turn stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock, WindowEntry
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade


class HandoverRange(msgspec.Struct, frozen=True):
    """What a handover would cover: events up to `upto` except the user message `kept_seq` (0: none).

    `messages` counts the newly covered messages, `tokens` what they take in the window.
    """

    upto: int
    kept_seq: int
    messages: int
    tokens: int


def closed_positions(entries: Sequence[WindowEntry]) -> list[int]:
    """Return positions p where entries[:p] is closed: no open call before p, no answer right after it."""
    positions = []
    waiting = set[str]()
    for position, entry in enumerate(entries):
        event = entry.event if isinstance(entry, LogItem) else None
        if position and not waiting and not isinstance(event, ToolAnswered):
            positions.append(position)
        match event:
            case AssistantSpoke(calls=calls):
                waiting = {call.id for call in calls}
            case ToolAnswered(call_id=call_id):
                waiting.discard(call_id)
            case _:
                pass
    return positions


def furthest_range(transcript: Transcript, keep_tokens: int) -> HandoverRange | None:
    """Return the furthest legal range that leaves at least `keep_tokens` after it, or None.

    Between turns the newest complete turn is kept. Inside a turn its user message is kept and the range may
    end between its closed steps.
    """
    return next(_ranges(transcript, keep_tokens, transcript.turn_open), None)


def legal_ranges(
    transcript: Transcript, keep_tokens: int, *, in_newest_turn: bool = False
) -> list[HandoverRange]:
    """Return all legal ranges that leave at least `keep_tokens` after them, the furthest first.

    With `in_newest_turn`, also those between the steps of the newest turn after it ended.
    """
    return list(_ranges(transcript, keep_tokens, in_newest_turn or transcript.turn_open))


def _ranges(transcript: Transcript, keep_tokens: int, in_newest_turn: bool) -> Iterator[HandoverRange]:
    live = [entry for entry in transcript.window.entries() if isinstance(entry, LogItem | SummaryBlock)]
    live = [entry for entry in live if not isinstance(entry.event, HandoverMade)]
    newest = _newest_user_position(live, include_steered=in_newest_turn)
    if newest is None:
        return
    max_position = len(live) if in_newest_turn else newest
    tokens_upto = list(accumulate((transcript.window.entry_tokens(entry) for entry in live), initial=0))
    messages_upto = list(accumulate((_message_count(entry, transcript) for entry in live), initial=0))
    # A kept message lies before what is covered; observations may reach past the entries after them.
    covered_upto = transcript.window.handover[1].upto if transcript.window.handover else 0
    upto = list(accumulate((entry.upto for entry in live), max, initial=covered_upto))
    positions = _ordered_positions(live) & set(closed_positions(live))
    for position in range(min(max_position, len(live) - 1), 0, -1):
        if position not in positions or tokens_upto[-1] - tokens_upto[position] < keep_tokens:
            continue
        messages = messages_upto[position]
        tokens = tokens_upto[position]
        if position <= newest:
            yield HandoverRange(upto[position], 0, messages, tokens)
        elif position > 1:  # else only the message that is kept lies before
            messages -= messages_upto[newest + 1] - messages_upto[newest]
            tokens -= tokens_upto[newest + 1] - tokens_upto[newest]
            yield HandoverRange(upto[position], live[newest].seq, messages, tokens)


def _newest_user_position(entries: Sequence[LogItem | SummaryBlock], include_steered: bool) -> int | None:
    """Return the position of the user's newest message; steering ones count only with `include_steered`."""
    messages = [(n, entry.event) for n, entry in enumerate(entries) if isinstance(entry.event, UserSpoke)]
    counting = [n for n, event in messages if include_steered or not event.steered]
    return counting[-1] if counting else next((n for n, _ in messages), None)


def _ordered_positions(entries: Sequence[LogItem | SummaryBlock]) -> set[int]:
    """Return positions where everything before ends before anything after begins.

    Messages that returned between observations break this: all observations are placed together, before.
    """
    ends = list(accumulate((entry.upto for entry in entries), max))
    begins = list(accumulate((entry.after for entry in reversed(entries)), min))[::-1]
    return {position for position in range(1, len(entries)) if ends[position - 1] <= begins[position]}


def _message_count(entry: LogItem | SummaryBlock, transcript: Transcript) -> int:
    if isinstance(entry, LogItem):
        return 1
    return sum(len(transcript.messages.between(cover.after, cover.upto)) for cover in entry.covers)
