"""Anchors: the identifiers that a rewrite takes out of the window, kept in one line beside it.

The line is made when the rewrite is recorded and never changes, so that the prefix holds. It names each
identifier under the entry it was last seen in, from where a recall brings it back. As replayed, such lines
keep more of what the next calls use in sight than a longer tail does, and cost less; one line for all notes,
always at the newest, bills 0.7 points more. Spaces part the names: commas were a fifth of their price.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain, filterfalse, groupby, islice, repeat
from operator import itemgetter

from helix_desktop.context.intake.marker import WHOLE_TARGET
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import (
    AddedInstructions,
    LogItem,
    PinnedCopy,
    SummaryBlock,
    ended_observations,
)
from helix_desktop.context.rewrites.early_compaction import FoldPlan
from helix_desktop.context.rewrites.step_notes import note_lines, render_fold_note, target_in_note
from helix_desktop.domain.events.conversation import AssistantSpoke, MessageEvent, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.summary import HandoverMade, Observation, ObservationsMade
from helix_desktop.domain.identifiers import identifiers_in, names_in_line

FOLD_TITLE = "[Where to recall these names from]"
SWEEP_TITLE = "[Where to recall names of these outputs]"
FOLD_SHARE = 0.25  # of the policy's tokens, for each note until it is condensed with others
NAMED_GAIN = 5_500  # tokens that a note frees; one that frees more names more in proportion
SWEEP_SHARE = 0.3  # of the policy's tokens, for each sweep until its outputs are folded
_CHARS_PER_TOKEN = 3  # of identifiers, a low estimate
_MAX_GROUPS = 8  # of names that share a label
_LABEL_CHARS = 14  # of such a label: the first and the last entry
_NAME_OVERHEAD = 6  # characters
_USED_FACTOR = 6  # as in recorded sessions: a used name comes back as often as a seen one a sixth as old
_MAX_USED = 500  # newest used names that a line is chosen from: one of 1,000 tokens holds 350
_MAX_SEEN = 300  # the same of names that were only seen
_SEEN_PER_TOKEN = 0.6  # of a shorter line, from as many names that were used as it has tokens
_LEAST_CHARS = 5  # of a name and its space
_READ_AHEAD = 50  # newest messages whose markers are read before they are needed
_SHORT_CHARS = 1_000  # characters of a text whose names are remembered
_SHORT_TEXTS = 16_384  # such texts, of all sessions
_READ_AT_ENDS = 500_000  # characters at each end of a text that is longer than both: more stalls the window
_LOOK_BACK = 4_000  # newest messages whose identifiers are known: older ones have had their turn


_names_in_short = lru_cache(maxsize=_SHORT_TEXTS)(identifiers_in)


_Priced = tuple[float, str, int]
"""What a name costs for what it is worth, the name, and the event it was last seen in."""


class IdentifierIndex:
    """The identifiers of one session, each with its last sighting; reads only what is new in the log."""

    def __init__(self) -> None:
        self._used: dict[str, LogItem] = {}  # what the agent used in its calls, each by its newest message
        self._unused: dict[str, LogItem] = {}  # what it only saw; newest last
        self._times: Counter[str] = Counter()  # the messages that each was in
        self._last: LogItem | None = None
        self._by_text: dict[str, tuple[str, ...]] = {}  # of notes, markers and messages that store none
        self._of_markers: dict[int, tuple[str, ...]] = {}  # of what stands for a message that is swept
        self._in_notes: dict[int, tuple[str, ...]] = {}  # of what a fold's note says of a message

    def update(self, transcript: Transcript) -> None:
        """Read the messages that were added since the last time; all again if some were dropped."""
        items = transcript.messages.items
        start = max(0, len(items) - _LOOK_BACK)
        if self._last is not None:
            position = transcript.messages.position(self._last.seq)
            if position and items[position - 1] is self._last:
                start = max(start, position)
            else:
                self._used.clear()
                self._unused.clear()
                self._times.clear()
                self._of_markers.clear()
                self._in_notes.clear()
        for item in items[start:]:
            self._add(item)
        for item in items[max(start, len(items) - _READ_AHEAD) :]:
            self._names_in_markers(item)
            self._names_in_note(item)
        self._last = items[-1] if items else None

    def _add(self, item: LogItem) -> None:
        names = self._of_item(item)
        self._times.update(names)
        if isinstance(item.event, AssistantSpoke):
            for name in names:
                self._unused.pop(name, None)
            _put_last(self._used, names, item)
        else:
            _put_last(self._used, tuple(filter(self._used.__contains__, names)), item)
            _put_last(self._unused, tuple(filterfalse(self._used.__contains__, names)), item)

    def _of_item(self, item: LogItem) -> tuple[str, ...]:
        event = item.event
        return self._read(event.text) if isinstance(event, UserSpoke) else event.identifiers

    def _names_in_markers(self, item: LogItem) -> tuple[str, ...]:
        names = self._of_markers.get(item.seq)
        if names is None:
            names = tuple(chain.from_iterable(map(self._read, _texts_when_swept(item.event))))
            _remember(self._of_markers, item.seq, names)
        return names

    def _names_in_note(self, item: LogItem) -> tuple[str, ...]:
        names = self._in_notes.get(item.seq)
        if names is None:
            event = item.event
            names = self._read(target_in_note(event) if isinstance(event, ToolAnswered) else event.text)
            _remember(self._in_notes, item.seq, names)
        return names

    def _read(self, text: str) -> tuple[str, ...]:
        if len(text) <= _SHORT_CHARS:
            return _names_in_short(text)
        if len(text) > 2 * _READ_AT_ENDS:
            text = f"{text[:_READ_AT_ENDS]}\n{text[-_READ_AT_ENDS:]}"
        names = self._by_text.get(text)
        if names is None:
            names = self._by_text[text] = identifiers_in(text)
        return names

    def visible_in(self, transcript: Transcript, plan: FoldPlan, note: str) -> Set[str]:
        """Return the identifiers in the window once this plan's note stands for what it covers."""
        return set().union(*self._names_in_window(transcript, plan=plan, note=note))

    def _names_in_window(
        self,
        transcript: Transcript,
        also_swept: Set[int] = frozenset(),
        plan: FoldPlan | None = None,
        note: str = "",
        before: int = 1 << 62,
    ) -> list[Iterable[str]]:
        """Return the identifiers of each part of the window, without content that is or will be swept.

        With a `plan` its `note` stands for what it covers. Messages from event `before` on are left out.
        """
        names: list[Iterable[str]] = [self._of_note(transcript, plan, note)] if plan is not None else []
        after, upto = (plan.after, plan.upto) if plan else (0, 0)
        anchors = transcript.rewrites.anchors
        swept = transcript.window.swept
        excluded = transcript.rewrites.excluded
        for entry in transcript.window.entries():
            if isinstance(entry, LogItem):
                seq = entry.seq
                if after < seq <= upto or seq >= before:
                    continue
                is_excluded = seq in excluded
                if seq not in swept and seq not in also_swept and not is_excluded:
                    names.append(self._of_item(entry))
                    continue
                if not is_excluded:
                    names.append(self._names_in_markers(entry))
                if seq in anchors:
                    names.append(names_in_line(anchors[seq].anchors))
            elif isinstance(entry, PinnedCopy):
                names.append(self._of_item(entry.item))
            elif isinstance(entry, AddedInstructions):
                names.append(self._read(entry.event.text.text))
            elif not after < entry.upto <= upto:
                names += self._of_block(transcript, entry)
        return names

    def _of_block(self, transcript: Transcript, block: SummaryBlock) -> list[Iterable[str]]:
        if isinstance(block.event, FoldMade):
            return [self._of_note(transcript, block.event, block.event.text)]
        summaries = [cover.event for cover in transcript.window.included_covers(block)]
        ended = ended_observations(event for event in summaries if isinstance(event, ObservationsMade))
        texts = chain.from_iterable(_texts_of_summary(event, ended) for event in summaries)
        return [*map(self._read, texts)]

    def _of_note(self, transcript: Transcript, fold: FoldPlan | FoldMade, note: str) -> Iterable[str]:
        names = self._by_text.get(note)
        if names is None:
            if fold.how == "fold":
                in_line = names_in_line(note.rpartition(FOLD_TITLE)[2]) if FOLD_TITLE in note else ()
                parts = map(self._names_in_note, transcript.messages.between(fold.after, fold.upto))
            else:  # most of its lines stood in the condensed note before it
                in_line = ()
                parts = map(self._read, note.split("\n"))
            names = self._by_text[note] = tuple({*in_line, *chain.from_iterable(parts)})
        return names

    def only_in(self, items: Sequence[LogItem]) -> Set[str]:
        """Return the identifiers of messages that no other one has."""
        if not items:
            return frozenset()
        times = Counter(chain.from_iterable(map(self._of_item, items)))
        return {name for name, count in times.items() if self._times[name] <= count}

    def anchor_line(self, title: str, visible: Set[str], max_tokens: int) -> str:
        """Return the line that keeps what is not visible, in about `max_tokens`; empty if there is nothing.

        Chosen are those of the newest names that cost least for what they are worth.
        """
        used = filterfalse(visible.__contains__, reversed(self._used))
        unused = filterfalse(visible.__contains__, reversed(self._unused))
        max_used = min(_MAX_USED, max_tokens)
        max_seen = min(_MAX_SEEN, int(max_tokens * _SEEN_PER_TOKEN))
        prices = self._prices(self._used, islice(used, max_used), _USED_FACTOR)
        prices += self._prices(self._unused, islice(unused, max_seen))
        return self._line(title, prices, max_tokens)

    def sweep_line(self, transcript: Transcript, seqs: Iterable[int], max_tokens: int) -> str:
        """Return the same line of the identifiers that a sweep of these messages takes out of the window.

        Every message of the log must have been read.
        """
        also_swept = set(seqs)
        items = (item for seq in also_swept if (item := transcript.messages.item(seq)) is not None)
        hidden = set(chain.from_iterable(map(self._of_item, items)))
        left_out = self.only_in(transcript.window.excluded_items())
        # The newest messages are most of the window: what they name was last seen in them.
        newest = _whole_from(transcript, also_swept)
        hidden.difference_update(left_out, *self._names_in_window(transcript, also_swept, before=newest))
        prices = self._prices(self._used, self._used.keys() & hidden, _USED_FACTOR, newest)
        prices += self._prices(self._unused, self._unused.keys() & hidden, before=newest)
        return self._line(SWEEP_TITLE, prices, max_tokens)

    def _prices(
        self, places: Mapping[str, LogItem], names: Iterable[str], factor: int = 1, before: int = 1 << 62
    ) -> list[_Priced]:
        """Return what these names cost that were last seen before an event: their length, more with age.

        Each is worth the more the more messages it was in.
        """
        now = self._last.step + 1 if self._last else 1
        times = self._times
        return [
            ((len(name) + _NAME_OVERHEAD) * (now - item.step) / (factor * times[name]), name, item.seq)
            for name in names
            if (item := places[name]).seq < before
        ]

    def _line(self, title: str, prices: list[_Priced], max_tokens: int) -> str:
        """Return the line with the cheapest names in about `max_tokens`; empty if there are none."""
        max_chars = max_tokens * _CHARS_PER_TOKEN - len(title) - _MAX_GROUPS * _LABEL_CHARS
        names = [*_cheapest(prices, max_chars)]
        return f"{title} {'; '.join(_groups(sorted(names)))}" if names else ""


def _put_last(places: dict[str, LogItem], names: Sequence[str], item: LogItem) -> None:
    for name in names:
        places.pop(name, None)
    places.update(zip(names, repeat(item)))


def _whole_from(transcript: Transcript, also_swept: Set[int]) -> int:
    """Return the event from which on each message stands in the window with its content."""
    upto = max((cover.upto for cover in transcript.window.covers), default=0)
    swept = transcript.window.swept
    excluded = transcript.rewrites.excluded
    start = 1 << 62
    for item in reversed(transcript.messages.items):
        seq = item.seq
        if seq <= upto or seq in swept or seq in also_swept or seq in excluded:
            break
        start = seq
    return start


def _texts_when_swept(event: MessageEvent) -> tuple[str, ...]:
    """Return what still stands in the window of a message whose content is gone."""
    if isinstance(event, ToolAnswered):
        return event.target[:WHOLE_TARGET], event.about
    if isinstance(event, UserSpoke) and event.short is not None:
        return (event.short.text,)
    return (event.text,)


def _texts_of_summary(
    event: HandoverMade | ObservationsMade | FoldMade, ended: Container[Observation]
) -> Iterator[str]:
    """Yield what a handover or observations say, but for the words that they quote and for ended facts."""
    match event:
        case HandoverMade():
            yield event.ledger
            yield from (bullet.text for section in event.sections for bullet in section.bullets)
        case ObservationsMade():
            yield event.ledger
            yield from (fact.text for fact in event.observations if fact not in ended)


def _cheapest(hidden: list[_Priced], max_chars: int) -> Iterator[tuple[int, str]]:
    """Yield the names that fit, cheapest first, each behind its event, the newest of which is the least.

    Of two with one price the first by the alphabet.
    """
    for _, name, seq in sorted(hidden):
        if len(name) < max_chars:
            max_chars -= len(name) + 1
            yield -seq, name
            if max_chars < _LEAST_CHARS:
                break


def _remember(names: dict[int, tuple[str, ...]], seq: int, found: tuple[str, ...]) -> None:
    if len(names) >= _LOOK_BACK:
        names.clear()
    names[seq] = found


def _groups(names: Sequence[tuple[int, str]]) -> list[str]:
    """Return the names of an entry, or of some that follow one another, behind their label."""
    size = -(-len(names) // _MAX_GROUPS)
    groups: list[list[tuple[int, str]]] = []
    for _, of_entry in groupby(names, key=itemgetter(0)):
        if groups and (len(groups[-1]) < size or len(groups) == _MAX_GROUPS):
            groups[-1] += of_entry
        else:
            groups.append(list(of_entry))
    labeled = ((-group[-1][0], -group[0][0], " ".join(name for _, name in group)) for group in groups)
    return [
        f"e{first}: {words}" if first == last else f"e{first}-e{last}: {words}"
        for first, last, words in labeled
    ]


_LINE_END = re.compile(r"\n(?=[^\s/])")
"""Where lines can be cut without changing the tokens: no piece of a vocabulary's pattern goes on behind a
line break but with further white space, or with a slash behind punctuation."""
_LISTS = ("did: ", "did e", "[")
"""How the lines begin whose words come again in others: calls, headings, names."""
_WORD = re.compile(
    r" e(?=\d+[-: ])|-e(?=\d+:)|\d+(?=[-: ])"  # the events of a group of names, and the entries of calls
    r"| ?\S*[0-9A-Za-z](?=[!-/:-@[-`{-~]*(?: |\n?\Z))"  # up to the last letter or digit
    r"|(?<=[0-9A-Za-z])(?:[!-/:-@[-`{-~]+(?:(?= )|\n?\Z)|\n\Z)"  # the punctuation behind it, its own piece
    r"| ?\S+(?:\n\Z)?"
)


def note_parts(text: str) -> list[str]:
    """Return the parts of a text: its lines, of those that list something the words."""
    *lines, last = _LINE_END.split(text)
    parts: list[str] = []
    for line in lines:
        _add_parts(parts, f"{line}\n")
    _add_parts(parts, last)
    return parts


def _add_parts(parts: list[str], line: str) -> None:
    words = _WORD.findall(line) if line.startswith(_LISTS) else ()
    if sum(map(len, words)) == len(line):  # else there is more than one space between two words
        parts += words
    else:
        parts.append(line)


_HEADINGS = (*note_parts(f"{render_fold_note((), '', 0)}\n{FOLD_TITLE}"), *note_parts(f"\n{SWEEP_TITLE}"))


def parts_of_message(item: LogItem) -> tuple[str, ...]:
    """Return the parts that notes and lines of names have of a message; of the user's also their headings."""
    lines = note_parts("\n".join([*note_lines([item]), ""]))
    if isinstance(item.event, UserSpoke):
        return *_HEADINGS, *lines
    return f"{item.seq}", *(f" {name}" for name in item.event.identifiers), *lines
