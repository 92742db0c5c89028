"""Hits of a pattern as groups of contents with the same lines, and each group as text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from helix_desktop.domain.digest import SHORT_DIGITS
from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.tool_call_target import call_target, tool_kind
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.cache.context_lines import (
    SMALL_BYTES,
    ContextLines,
    clean_line,
    is_tiny,
    split_content,
)
from helix_desktop.tools.cache.entry_search import EntryHit, HitLine
from helix_desktop.tools.cache.origins import Origin

MAX_NAMED = 6
"""Other contents with the same lines, or left out, that are named."""

_LABEL_CAP = 160  # characters
_NAME_CAP, _NAME_START = 32, 10  # characters of a name among others, and of them at its beginning
_NAMES_CAP, _NUMBERS_CAP = 180, 240  # characters of a line up to which entries are named, and numbered


_ARGUMENT = re.compile(r"argument (?:\S+ )?of ")


@dataclass
class HitGroup:
    """A hit with the lines that no newer one has, and the hits that have nothing but its lines.

    `joined` are its spots that others have too: its own, the other one, and whose that is.
    """

    hit: EntryHit
    spots: list[HitLine]
    equal: list[EntryHit] = field(default_factory=list)
    joined: list[tuple[HitLine, HitLine, EntryHit]] = field(default_factory=list)

    def is_same_within(self, around: ContextLines) -> bool:
        """Return True if everything that was joined is still the same with these context lines."""
        if around.has_all and self.hit.all_lines:
            return all(other.all_lines == self.hit.all_lines for _, _, other in self.joined)
        return all(own.key(around) == other.key(around) for own, other, _ in self.joined)


def group_hits(hits: Sequence[EntryHit], around: ContextLines) -> list[HitGroup]:
    """Return the hits as groups in their order: with whole words, with parts of words, by description only.

    Of the first two those with a rare alternative come first, of these the agent's conclusions, then what
    defines something. Lines that one before it
    has too, with the same context lines, are left out; a content that has no others joins that one.
    """
    groups: list[HitGroup] = []
    by_key: dict[object, tuple[HitGroup, HitLine]] = {}
    for hit in sorted(
        hits,
        key=lambda hit: (not hit.has_words, -hit.rarity, not hit.entry.is_conclusion, not hit.defines),
    ):
        if _is_last(hit):
            continue
        all_lines = hit.all_lines if around.has_all else ()
        found = {
            spot: by_key.get((all_lines, spot.number) if all_lines else spot.key(around))
            for spot in hit.spots
        }
        new_spots = [spot for spot, newer in found.items() if newer is None]
        for spot, newer in found.items():
            if newer is not None:
                newer[0].joined.append((newer[1], spot, hit))
        if not new_spots:
            by_key[(all_lines, hit.spots[0].number) if all_lines else hit.spots[0].key(around)][
                0
            ].equal.append(hit)
            continue
        groups.append(HitGroup(hit, new_spots))
        by_key |= {spot.key(around): (groups[-1], spot) for spot in new_spots}
        by_key |= {(all_lines, spot.number): (groups[-1], spot) for spot in new_spots if all_lines}
    rest = sorted(filter(_is_last, hits), key=lambda hit: -hit.rarity)
    return groups + [HitGroup(hit, list(hit.spots[:1])) for hit in rest]


def _is_last(hit: EntryHit) -> bool:
    """Return True for a hit by its description only, or a call that defines nothing of what is looked for."""
    return not hit.spots or (hit.entry.line.label == "call" and not hit.defines)


def hit_group_lines(
    group: HitGroup, origin: Origin, around: ContextLines, uncut_reach: int | None = None
) -> list[Sequence[str]]:
    """Return the parts of a group: its name, then the lines of each spot.

    With `uncut_reach` it is a message whose lines up to so far from a matching one stand uncut.
    """
    entry, count = group.hit.entry, group.hit.count
    if entry.line.label == "call":
        return [[f"e{entry.seq} call: {group.spots[0].text if group.spots else ''}"]]
    rows = _rows(group, around) if uncut_reach is None else [_uncut_rows(group.hit, uncut_reach)]
    label = "agent concluded" if entry.is_conclusion else escape_hidden_name(entry.line.label)[:_LABEL_CAP]
    name = f"{handle(group.hit)} {label}".strip()
    name = ", ".join(part for part in (name, origin.time, origin.change) if part)
    more = f": {pluralize(count, 'line')}" if count > count_matching(rows) else ":" if rows else ""
    return [[f"{name}{more}{_others(group)}"], *rows]


def _uncut_rows(hit: EntryHit, reach: int) -> list[str]:
    """Return the lines of a message up to so far from a matching one, uncut; empty ones are left out."""
    lines = enumerate(split_content(hit.entry.line.text.encode("utf-8", "replace")), 1)
    numbers = sorted(hit.numbers)

    def is_near(number: int) -> bool:
        place = bisect_left(numbers, number - reach)
        return place < len(numbers) and numbers[place] <= number + reach

    return [
        f"{number}{':' if number in hit.numbers else '-'}{clean_line(line, len(line))}"
        for number, line in lines
        if line.strip() and is_near(number)
    ]


def count_matching(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of these lines of a group's spots match; the others stand around them."""
    return sum(row.partition(":")[0].isdigit() for part in rows for row in part)


def _rows(group: HitGroup, around: ContextLines) -> list[Sequence[str]]:
    """Return the lines of each spot, each line once; all lines together if the whole content is displayed."""
    hit = group.hit
    excerpts = {spot.number: spot.text for spot in hit.spots}
    has_room = around.has_all and 0 < sum(map(len, hit.all_lines)) <= SMALL_BYTES

    def row(number: int, line: bytes) -> str:
        text = clean_line(line, len(line)) if has_room else excerpts.get(number) or clean_line(line)
        return f"{number}{':' if number in hit.numbers else '-'}{text}"

    if hit.all_lines and (around.has_all or (not group.spots and is_tiny(hit.all_lines))):
        return [[row(number, line) for number, line in enumerate(hit.all_lines, hit.first)]]
    parts: list[Sequence[str]] = []
    last = 0
    for spot in group.spots:
        rows = []
        for offset in range(-around.before, around.after + 1):
            line, number = spot.row(offset), spot.number + offset
            if line is not None and number > last:
                rows.append(row(number, line))
                last = number
        parts.append(rows)
    return parts


def _others(group: HitGroup) -> str:
    """Return which hits have no best line that it has not: those with all its matching lines, and others."""
    own = group.hit
    same = [
        hit for hit in group.equal if hit.count == own.count == len(hit.spots) and _lines(hit) == _lines(own)
    ]
    others = [hit for hit in group.equal if hit not in same]
    parts = [
        f"{words} {name_hits(hits)}"
        for words, hits in (("these lines also in", same), ("some of them in", others))
        if hits
    ]
    return f" ({'; '.join(parts)})" if parts else ""


def _lines(hit: EntryHit) -> frozenset[bytes]:
    return frozenset(spot.line for spot in hit.spots)


def files_first(hits: Sequence[EntryHit]) -> list[EntryHit]:
    """Return hits by rarity, the agent's conclusions, then files that were read or written, commands last."""

    def rank(hit: EntryHit) -> tuple[bool, int, bool, bool, bool]:
        kind = tool_kind(_tool_and_target(hit)[0])
        is_file = bool(hit.spots) and kind in ("read", "write", "edit")
        return not hit.has_words, -hit.rarity, not hit.entry.is_conclusion, not is_file, kind == "command"

    return sorted(hits, key=rank)


def name_hits(hits: Sequence[EntryHit]) -> str:
    """Return which events hits are of, each once, as far as a line has room: names, then numbers, a count."""
    parts: list[str] = []
    size = 0
    by_seq: dict[int, EntryHit] = {}
    for hit in files_first(hits):
        by_seq.setdefault(hit.entry.seq, hit)
    for hit in by_seq.values():
        name = name_hit(hit) if size < _NAMES_CAP else f"e{hit.entry.seq}"
        size += len(name) + 2
        if size > _NUMBERS_CAP:
            break
        parts.append(name)
    more = len(by_seq) - len(parts)
    return ", ".join(parts) + (f" and {more} more" if more else "")


def name_hit(hit: EntryHit) -> str:
    """Return how a hit is recalled, and of an output or call what it is of: `e39 read_file gauge.py`."""
    label = " ".join(filter(None, _tool_and_target(hit)))
    name = " ".join(word.rpartition("/")[2] for word in escape_hidden_name(label).split())
    if len(name) > _NAME_CAP:
        name = f"{name[:_NAME_START]}…{name[1 + _NAME_START - _NAME_CAP :]}"
    return f"e{hit.entry.seq} {name}".strip()


def _tool_and_target(hit: EntryHit) -> tuple[str, str]:
    """Return what an output is of, or an argument, or a call; words are of no tool."""
    line = hit.entry.line
    if line.label == "call":
        tool, _, arguments = line.text.partition(" ")
        return tool, call_target(arguments)
    if not line.digest:
        return "", ""
    tool, _, target = _ARGUMENT.sub("", line.label.split(",")[0]).partition(" ")
    return tool, target


def handle(hit: EntryHit) -> str:
    """Return how a hit is recalled: the event, and the first digits of a content."""
    entry = hit.entry
    return f"{entry.digest[:SHORT_DIGITS]} e{entry.seq}" if entry.digest else f"e{entry.seq}"
