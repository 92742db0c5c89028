"""Anchors: the identifiers that a rewrite takes out of the window, kept in one line beside it.

The line is made when the rewrite is recorded and never changes, so that the prefix holds. It names each
identifier under the entry it was last seen in, from where a recall brings it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy, SummaryBlock, WindowEntry
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.identifiers import identifiers_in

FOLD_TITLE = "[Names last seen in earlier entries]"
SWEEP_TITLE = "[Names in the outputs cached here]"
SWEEP_SHARE = 0.4  # of the policy's tokens, for each sweep until its outputs are folded
_CHARS_PER_TOKEN = 3  # of identifiers, a low estimate
_MAX_GROUPS, _LABEL_CHARS = 8, 14  # of names that share a label with their first and last entry
_NAME_OVERHEAD = 6  # characters
_USED_FACTOR = 6  # as in recorded sessions: a used name comes back as often as a seen one a sixth as old
_LOOK_BACK = 4_000  # newest messages whose identifiers are known: older ones have had their turn


class Sighting(msgspec.Struct):
    """Where an identifier was last seen, and whether the agent has ever used it in a call."""

    seq: int
    step: int
    used: bool


class IdentifierIndex:
    """The identifiers of one session, each with its last sighting; reads only what is new in the log."""

    def __init__(self) -> None:
        self._sightings: dict[str, Sighting] = {}
        self._last: LogItem | None = None
        self._texts: dict[
            int, tuple[str, ...]
        ] = {}  # identifiers of messages and notes that store none, by seq

    def update(self, transcript: Transcript) -> None:
        """Read the messages that were added since the last time; all again if some were dropped."""
        items = transcript.items
        start = max(0, len(items) - _LOOK_BACK)
        if self._last is not None:
            position = transcript.position(self._last.seq)
            if position and items[position - 1] is self._last:
                start = max(start, position)
            else:
                self._sightings.clear()
        for item in items[start:]:
            used = isinstance(item.event, AssistantSpoke)
            for identifier in self.of_item(item):
                sighting = self._sightings.get(identifier)
                if sighting is None:
                    self._sightings[identifier] = Sighting(item.seq, item.step, used)
                else:
                    sighting.seq, sighting.step, sighting.used = item.seq, item.step, sighting.used or used
        self._last = items[-1] if items else None

    def of_item(self, item: LogItem) -> tuple[str, ...]:
        """Return the identifiers of a message."""
        match item.event:
            case ToolAnswered(identifiers=identifiers) | AssistantSpoke(identifiers=identifiers):
                return identifiers
            case UserSpoke(text=text):
                return self._of_text(item.seq, text)

    def _of_text(self, seq: int, text: str) -> tuple[str, ...]:
        if seq not in self._texts:
            self._texts[seq] = identifiers_in(text)
        return self._texts[seq]

    def visible_in(self, entries: Iterable[WindowEntry], masked: Set[int]) -> set[str]:
        """Return the identifiers that stand in these entries, where the content of `masked` ones is gone."""
        visible: set[str] = set()
        for entry in entries:
            match entry:
                case PinnedCopy(item=item):
                    visible.update(self.of_item(item))
                case SummaryBlock(event=FoldMade(text=text)):
                    visible.update(self._of_text(entry.seq, text))
                case SummaryBlock():
                    pass
                case LogItem() if entry.seq not in masked:
                    visible.update(self.of_item(entry))
                case LogItem(event=ToolAnswered(target=target, about=about)):
                    visible.update(identifiers_in(f"{target}\n{about}"))
                case LogItem(event=AssistantSpoke(text=text)):
                    visible.update(self._of_text(-entry.seq, text))
        return visible

    def anchor_line(
        self, title: str, visible: Set[str], max_tokens: int, among: Iterable[str] | None = None
    ) -> str:
        """Return the line that keeps what is not visible, in about `max_tokens`; empty if there is nothing.

        Names that the agent has used in its calls come before those it only saw, newer ones before older.
        With `among` only these identifiers.
        """
        names = self._sightings if among is None else {name for name in among if name in self._sightings}
        hidden = [(name, self._sightings[name]) for name in names if name not in visible]
        now = self._last.step if self._last else 0
        hidden.sort(key=lambda pair: (_price(pair[0], pair[1], now), pair[0]))
        chars_left = max_tokens * _CHARS_PER_TOKEN - len(title) - _MAX_GROUPS * _LABEL_CHARS
        fitting: list[tuple[int, str]] = []
        for name, sighting in hidden:
            if len(name) + 2 <= chars_left:
                chars_left -= len(name) + 2
                fitting.append((sighting.seq, name))
        fitting.sort(key=lambda pair: (-pair[0], pair[1]))
        size = max(1, -(-len(fitting) // _MAX_GROUPS))
        groups = [_group(fitting[start : start + size]) for start in range(0, len(fitting), size)]
        return f"{title} {'; '.join(groups)}" if groups else ""


def _group(names: Sequence[tuple[int, str]]) -> str:
    first, last = names[-1][0], names[0][0]
    label = f"e{first}" if first == last else f"e{first}-e{last}"
    return f"{label}: {', '.join(name for _, name in names)}"


def _price(name: str, sighting: Sighting, now: int) -> float:
    """Return what a name costs for what it is worth: its length and age, less if the agent used it."""
    age = now - sighting.step + 1
    return (len(name) + _NAME_OVERHEAD) * age / (_USED_FACTOR if sighting.used else 1)
