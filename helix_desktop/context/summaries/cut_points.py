"""Legal cut points: where a handover may end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy, SummaryBlock, WindowEntry
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade


class CutPoint(msgspec.Struct, frozen=True):
    """What a handover would cover: events up to `upto` but the user message `kept` (0: none).

    `messages` counts the messages covered now for the first time, `tokens` what they take in the window.
    """

    upto: int
    kept_seq: int
    messages: int
    tokens: int


def legal_cuts(entries: Sequence[WindowEntry]) -> list[int]:
    """Positions p such that entries[:p] is closed: no open call before it, no answer right behind it."""
    found, waiting = [], set[str]()
    for position, entry in enumerate(entries):
        event = entry.event if isinstance(entry, LogItem) else None
        if position and not waiting and not isinstance(event, ToolAnswered):
            found.append(position)
        match event:
            case AssistantSpoke(calls=calls):
                waiting = {call.id for call in calls}
            case ToolAnswered(call_id=call_id):
                waiting.discard(call_id)
            case _:
                pass
    return found


def choose_cut(transcript: Transcript, keep_tokens: int) -> CutPoint | None:
    """The furthest legal cut that leaves at least `keep_tokens` behind it, or None.

    Between turns the newest complete turn stays whole. Inside a turn its user message stays and the cut may
    lie between its closed steps.
    """
    return next(iter(available_cuts(transcript, keep_tokens)), None)


def available_cuts(transcript: Transcript, keep_tokens: int) -> list[CutPoint]:
    """All legal cuts that leave at least `keep_tokens` behind them, the furthest first."""
    live = [one for one in transcript.window_entries() if not isinstance(one, PinnedCopy)]
    live = [one for one in live if not isinstance(one.event, HandoverMade)]
    newest = _newest_user_position(live, include_steered=transcript.turn_open)
    if newest is None:
        return []
    last = len(live) if transcript.turn_open else newest
    shown = [transcript.entry_tokens(one) for one in live]
    held = transcript.handover
    behind, found = 0, []
    positions = _ordered_positions(live) & set(legal_cuts(live))
    for position in range(len(live) - 1, 0, -1):
        behind += shown[position]
        if position <= last and position in positions and behind >= keep_tokens:
            cut = _cut_at(position, newest, live, shown, held[1].upto if held else 0, transcript)
            if cut is not None:
                found.append(cut)
    return found


def _newest_user_position(entries: Sequence[LogItem | SummaryBlock], include_steered: bool) -> int | None:
    """Where the person's newest message stands; one that steered a turn counts only if it may."""
    said = [(n, one.event) for n, one in enumerate(entries) if isinstance(one.event, UserSpoke)]
    counting = [n for n, event in said if include_steered or not event.steered]
    return counting[-1] if counting else next((n for n, _ in said), None)


def _ordered_positions(entries: Sequence[LogItem | SummaryBlock]) -> set[int]:
    """Positions where all before them ends before anything behind begins.

    What came back between observations does not: these stand together, before it.
    """
    ends = list(accumulate((one.upto for one in entries), max))
    begins = list(accumulate((one.after for one in reversed(entries)), min))[::-1]
    return {position for position in range(1, len(entries)) if ends[position - 1] <= begins[position]}


def _cut_at(
    position: int,
    newest: int,
    entries: Sequence[LogItem | SummaryBlock],
    entry_tokens: Sequence[int],
    covered_upto: int,
    transcript: Transcript,
) -> CutPoint | None:
    inside = position > newest
    covered = [n for n in range(position) if not (inside and n == newest)]
    if not covered:
        return None
    kept = entries[newest].seq if inside else 0
    # A message kept back lies before what is covered; observations may reach behind what follows them.
    upto = max(covered_upto, *(one.upto for one in entries[:position]))
    return CutPoint(
        upto,
        kept,
        sum(_message_count(entries[n], transcript) for n in covered),
        sum(entry_tokens[n] for n in covered),
    )


def _message_count(entry: LogItem | SummaryBlock, transcript: Transcript) -> int:
    if isinstance(entry, LogItem):
        return 1
    return sum(len(transcript.between(cover.after, cover.upto)) for cover in entry.covers)
