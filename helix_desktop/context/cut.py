"""Legal cut points: where a handover may end (CONTEXT.md 3.3)."""

from __future__ import annotations

import msgspec

from helix_desktop.context.event import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.context.transcript import Item, Transcript


class Cut(msgspec.Struct, frozen=True):
    """What a handover would cover: events up to `upto` but the user message `kept` (0: none).

    `messages` counts the messages covered now for the first time, `tokens` what they take in the window.
    """

    upto: int
    kept: int
    messages: int
    tokens: int


def legal(items: list[Item]) -> list[int]:
    """Positions p such that items[:p] is closed: no open call before it, no answer right behind it."""
    found, waiting = [], set[str]()
    for position, item in enumerate(items):
        if position and not waiting and not isinstance(item.event, ToolAnswered):
            found.append(position)
        match item.event:
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
    live = transcript.live()
    newest = max((n for n, item in enumerate(live) if isinstance(item.event, UserSpoke)), default=None)
    if newest is None:
        return None
    last = len(live) if transcript.turn_open else newest
    shown = [transcript.shown_tokens(item) for item in live]
    held = transcript.handover
    for position in reversed(legal(live)):
        if position <= last and sum(shown[position:]) >= keep_tokens:
            cut = _at(position, newest, live, shown, held[1].upto if held else 0)
            if cut is not None:
                return cut
    return None


def _at(position: int, newest: int, live: list[Item], shown: list[int], covered_already: int) -> Cut | None:
    inside = position > newest
    covered = [n for n in range(position) if not (inside and n == newest)]
    if not covered:
        return None
    kept = live[newest].seq if inside else 0
    upto = max(
        live[position - 1].seq, covered_already
    )  # a user message kept back lies before what is covered
    return Cut(upto, kept, len(covered), sum(shown[n] for n in covered))
