"""Legal cut points: where a handover may end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import msgspec

from helix_desktop.context.event import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.context.event_summary import HandoverMade
from helix_desktop.context.layout import Block, Entry, Item, PinnedCopy
from helix_desktop.context.transcript import Transcript


class Cut(msgspec.Struct, frozen=True):
    """What a handover would cover: events up to `upto` but the user message `kept` (0: none).

    `messages` counts the messages covered now for the first time, `tokens` what they take in the window.
    """

    upto: int
    kept: int
    messages: int
    tokens: int


def legal(entries: Sequence[Entry]) -> list[int]:
    """Positions p such that entries[:p] is closed: no open call before it, no answer right behind it."""
    found, waiting = [], set[str]()
    for position, entry in enumerate(entries):
        event = entry.event if isinstance(entry, Item) else None
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


def choose(transcript: Transcript, keep_tokens: int) -> Cut | None:
    """The furthest legal cut that leaves at least `keep_tokens` behind it, or None.

    Between turns the newest complete turn stays whole. Inside a turn its user message stays and the cut may
    lie between its closed steps.
    """
    return next(iter(possible(transcript, keep_tokens)), None)


def possible(transcript: Transcript, keep_tokens: int) -> list[Cut]:
    """All legal cuts that leave at least `keep_tokens` behind them, the furthest first."""
    live = [one for one in transcript.live() if not isinstance(one, PinnedCopy)]
    live = [one for one in live if not isinstance(one.event, HandoverMade)]
    newest = _newest(live, steered=transcript.turn_open)
    if newest is None:
        return []
    last = len(live) if transcript.turn_open else newest
    shown = [transcript.shown_tokens(one) for one in live]
    held = transcript.handover
    behind, found = 0, []
    positions = _in_order(live) & set(legal(live))
    for position in range(len(live) - 1, 0, -1):
        behind += shown[position]
        if position <= last and position in positions and behind >= keep_tokens:
            cut = _at(position, newest, live, shown, held[1].upto if held else 0, transcript)
            if cut is not None:
                found.append(cut)
    return found


def _newest(live: Sequence[Item | Block], steered: bool) -> int | None:
    """Where the person's newest message stands; one that steered a turn counts only if it may."""
    said = [(n, one.event) for n, one in enumerate(live) if isinstance(one.event, UserSpoke)]
    counting = [n for n, event in said if steered or not event.steered]
    return counting[-1] if counting else next((n for n, _ in said), None)


def _in_order(live: Sequence[Item | Block]) -> set[int]:
    """Positions where all before them ends before anything behind begins.

    What came back between observations does not: these stand together, before it.
    """
    ends = list(accumulate((one.upto for one in live), max))
    begins = list(accumulate((one.after for one in reversed(live)), min))[::-1]
    return {position for position in range(1, len(live)) if ends[position - 1] <= begins[position]}


def _at(
    position: int,
    newest: int,
    live: Sequence[Item | Block],
    shown: Sequence[int],
    covered_already: int,
    transcript: Transcript,
) -> Cut | None:
    inside = position > newest
    covered = [n for n in range(position) if not (inside and n == newest)]
    if not covered:
        return None
    kept = live[newest].seq if inside else 0
    # A message kept back lies before what is covered; observations may reach behind what follows them.
    upto = max(covered_already, *(one.upto for one in live[:position]))
    return Cut(
        upto, kept, sum(_messages(live[n], transcript) for n in covered), sum(shown[n] for n in covered)
    )


def _messages(entry: Item | Block, transcript: Transcript) -> int:
    if isinstance(entry, Item):
        return 1
    return sum(len(transcript.between(cover.after, cover.upto)) for cover in entry.covers)
