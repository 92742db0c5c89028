"""Anchors: the identifiers that a rewrite takes out of the window, kept in one line beside it.

The line is made when the rewrite is recorded and never changes, so that the prefix holds. It names each
identifier under the entry it was last seen in, from where a recall brings it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import islice
from typing import NamedTuple

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import (
    AddedInstructions,
    LogItem,
    PinnedCopy,
    SummaryBlock,
    WindowEntry,
)
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.identifiers import identifiers_in

FOLD_TITLE = "[Names last seen in earlier entries]"
SWEEP_TITLE = "[Names in the outputs cached here]"
FOLD_SHARE = 0.25  # of the policy's tokens, for each note until it is condensed with others
SWEEP_SHARE = 0.4  # of the policy's tokens, for each sweep until its outputs are folded
_CHARS_PER_TOKEN = 3  # of identifiers, a low estimate
_MAX_GROUPS, _LABEL_CHARS = 8, 14  # of names that share a label with their first and last entry
_NAME_OVERHEAD = 6  # characters
_USED_FACTOR = 6  # as in recorded sessions: a used name comes back as often as a seen one a sixth as old
_MAX_USED, _MAX_SEEN = 500, 300  # newest names from which a line is chosen: it holds about 350
_LOOK_BACK = 4_000  # newest messages whose identifiers are known: older ones have had their turn


class Sighting(NamedTuple):
    """Where an identifier was last seen: an event, and its model call."""

    seq: int
    step: int


class IdentifierIndex:
    """The identifiers of one session, each with its last sighting; reads only what is new in the log."""

    def __init__(self) -> None:
        self._used: dict[str, Sighting] = {}  # what the agent used in its calls, newest sighting last
        self._unused: dict[str, Sighting] = {}  # what it only saw
        self._last: LogItem | None = None
        self._by_text: dict[str, tuple[str, ...]] = {}  # of notes and messages that store none

    def update(self, transcript: Transcript) -> None:
        """Read the messages that were added since the last time; all again if some were dropped."""
        items = transcript.items
        start = max(0, len(items) - _LOOK_BACK)
        if self._last is not None:
            position = transcript.position(self._last.seq)
            if position and items[position - 1] is self._last:
                start = max(start, position)
            else:
                self._used.clear()
                self._unused.clear()
        for item in items[start:]:
            sighting = Sighting(item.seq, item.step)
            if isinstance(item.event, AssistantSpoke):
                for name in item.event.identifiers:
                    self._unused.pop(name, None)
                    self._used.pop(name, None)
                    self._used[name] = sighting
                continue
            for name in self.of_item(item):
                names = self._used if name in self._used else self._unused
                names.pop(name, None)
                names[name] = sighting
        self._last = items[-1] if items else None

    def of_item(self, item: LogItem) -> tuple[str, ...]:
        """Return the identifiers of a message."""
        match item.event:
            case ToolAnswered(identifiers=identifiers) | AssistantSpoke(identifiers=identifiers):
                return identifiers
            case UserSpoke(text=text):
                return self.of_text(text)

    def of_text(self, text: str) -> tuple[str, ...]:
        """Return the identifiers of a text that stands in the window for long."""
        if text not in self._by_text:
            self._by_text[text] = identifiers_in(text)
        return self._by_text[text]

    def visible_in(self, entries: Iterable[WindowEntry], masked: Set[int]) -> set[str]:
        """Return the identifiers that stand in these entries, where the content of `masked` ones is gone."""
        visible: set[str] = set()
        for entry in entries:
            match entry:
                case PinnedCopy(item=item):
                    visible.update(self.of_item(item))
                case AddedInstructions(event=added):
                    visible.update(self.of_text(added.text.text))
                case SummaryBlock(event=FoldMade(text=text)):
                    visible.update(self.of_text(text))
                case SummaryBlock():
                    pass
                case LogItem() if entry.seq not in masked:
                    visible.update(self.of_item(entry))
                case LogItem(event=ToolAnswered(target=target, about=about)):
                    visible.update(self.of_text(target), self.of_text(about))
                case LogItem(event=AssistantSpoke(text=text)):
                    visible.update(self.of_text(text))
        return visible

    def anchor_line(
        self, title: str, visible: Set[str], max_tokens: int, among: Iterable[str] | None = None
    ) -> str:
        """Return the line that keeps what is not visible, in about `max_tokens`; empty if there is nothing.

        Chosen are the names that cost least for what they are worth. With `among` only these identifiers.
        """
        fitting = self._cheapest(
            self._newest_hidden(visible) if among is None else self._hidden_among(among, visible),
            max_tokens * _CHARS_PER_TOKEN - len(title) - _MAX_GROUPS * _LABEL_CHARS,
        )
        size = max(1, -(-len(fitting) // _MAX_GROUPS))
        groups = [_group(fitting[start : start + size]) for start in range(0, len(fitting), size)]
        return f"{title} {'; '.join(groups)}" if groups else ""

    def _newest_hidden(self, visible: Set[str]) -> list[tuple[float, str, int]]:
        """Return price, name and event of the newest names that are not visible."""
        now = self._last.step if self._last else 0
        used = ((name, place) for name, place in reversed(self._used.items()) if name not in visible)
        unused = ((name, place) for name, place in reversed(self._unused.items()) if name not in visible)
        return [
            *(_priced(name, place, now, _USED_FACTOR) for name, place in islice(used, _MAX_USED)),
            *(_priced(name, place, now, 1) for name, place in islice(unused, _MAX_SEEN)),
        ]

    def _hidden_among(self, names: Iterable[str], visible: Set[str]) -> list[tuple[float, str, int]]:
        now = self._last.step if self._last else 0
        hidden = [name for name in dict.fromkeys(names) if name not in visible]
        return [
            *(_priced(name, self._used[name], now, _USED_FACTOR) for name in hidden if name in self._used),
            *(_priced(name, self._unused[name], now, 1) for name in hidden if name in self._unused),
        ]

    def _cheapest(self, priced: list[tuple[float, str, int]], max_chars: int) -> list[tuple[int, str]]:
        """Return events and names that fit, cheapest first chosen, newest first in order."""
        fitting: list[tuple[int, str]] = []
        for _, name, seq in sorted(priced):
            if len(name) + 2 <= max_chars:
                max_chars -= len(name) + 2
                fitting.append((-seq, name))
        return sorted(fitting)


def _group(names: Sequence[tuple[int, str]]) -> str:
    first, last = -names[-1][0], -names[0][0]
    label = f"e{first}" if first == last else f"e{first}-e{last}"
    return f"{label}: {', '.join(name for _, name in names)}"


def _priced(name: str, place: Sighting, now: int, factor: int) -> tuple[float, str, int]:
    """Return what a name costs for what it is worth (its length and age, by the factor less), and itself."""
    return (len(name) + _NAME_OVERHEAD) * (now - place.step + 1) / factor, name, place.seq
