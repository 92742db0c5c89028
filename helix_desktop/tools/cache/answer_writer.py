"""The answer to a pattern on an index, in few tokens, by content or as a table: the best lines first."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from helix_desktop.context.summaries.index_entry import IndexLine
from helix_desktop.domain.digest import CACHE_TOOLS, SHORT_DIGITS
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.files.file_use import call_target, tool_kind
from helix_desktop.domain.text_format import ellipsize, format_bytes, pluralize
from helix_desktop.domain.tools import CountTokens
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.cache.entry_search import CoveredEntry, EntryHit, HitLine
from helix_desktop.tools.cache.lines import SMALL_BYTES, ContextLines, clean_line, is_tiny, split_content
from helix_desktop.tools.cache.origins import Origin, Origins

_COMMAND_CAP = 80  # characters


def table_rows(lines: Sequence[IndexLine], session_id: str, origins: Origins) -> list[str]:
    """Return the rows: earlier indexes first, then entry number, hash and description of each content.

    Answers of the cache's own tools are left out: they repeat what others are the origin of.
    """
    earlier = [f"{line.digest[:SHORT_DIGITS]} {line.label}" for line in lines if line.digest and not line.seq]
    of_caller = origins.is_of_caller(session_id)
    rows = [
        _row(line, origins if of_caller else None)
        for line in lines
        if line.digest and line.seq and not line.label.startswith(CACHE_TOOLS)
    ]
    return [f"{row}\n" for row in (*earlier, *rows)]


def _row(line: IndexLine, origins: Origins | None) -> str:
    label = line.label
    change = ""
    if origins is not None and origins.transcript is not None:
        item = origins.transcript.messages.item(line.seq)
        if item is not None and isinstance(item.event, ToolAnswered) and item.event.digest == line.digest:
            label = _description(item.event)
        change = origins.of_event(line.seq, line.digest).change
    text = f"e{line.seq} {line.digest[:SHORT_DIGITS]} {escape_hidden_name(label)}"
    return f"{text}, {change}" if change else text


def _description(output: ToolAnswered) -> str:
    """Return tool, whole target, exit code, size and what an output holds."""
    target = " ".join(output.target.split())
    if tool_kind(output.name) == "command":
        target = ellipsize(target, _COMMAND_CAP)
    exit_text = "" if output.ok else "failed"
    if output.exit_code:
        exit_text = f"exit {output.exit_code}"
    holds = output.about or (f'"{output.first_line}"' if output.first_line else "")
    parts = (f"{output.name} {target}".strip(), exit_text, format_bytes(output.size), holds)
    return ", ".join(part for part in parts if part)


MAX_NAMED = 6
"""Other contents with the same lines, or left out, that are named."""

_LABEL_CAP = 160  # characters
_NAME_CAP = 32  # characters of a name among others
_NAME_START = 10  # how many of these are from its beginning
_NAMES_CAP = 180  # characters of a line up to which entries are named
_NUMBERS_CAP = 240  # characters of a line up to which they are numbered


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
    entry = group.hit.entry
    count = group.hit.count
    if entry.line.label == "call":
        return [[f"e{entry.seq} call: {group.spots[0].text if group.spots else ''}"]]
    rows = _rows(group, around) if uncut_reach is None else [_uncut_rows(group.hit, uncut_reach)]
    label = "agent concluded" if entry.is_conclusion else escape_hidden_name(entry.line.label)[:_LABEL_CAP]
    name = f"{handle(group.hit)} {label}".strip()
    name = ", ".join(part for part in (name, origin.time, origin.change) if part)
    more = ":" if rows else ""
    if count > count_matching(rows):
        more = f": {pluralize(count, 'line')}"
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
            line = spot.row(offset)
            number = spot.number + offset
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


_MAX_GROUPS = 40  # groups whose tokens are counted: more never fit
_SPOTS = 3  # lines of one group, as long as others have none
_UNCUT_SHARE = 0.5  # of the tokens for the agent's conclusions, but for the first one
_REACHES = (1_000, 8, 3, 1, 0)  # lines from a matching one that stand uncut, tried in this order
_NEAR_REACHES = (2, 0)  # of an entry that was named of an index
_FIRST_SHARE = 0.7  # of the tokens for the first line of each group, the rest for further lines
_ENDING = "Recall one of these alone, with the pattern, for all its lines."
_ENDING_TOKENS = 45
_MAX_LEFT_OUT = 8  # contents without a line that are named, and as many more whose number stands there
_MAX_CUT = 3  # contents with lines left out that are named
_MIN_NAMED = 3  # of what is left out, as long as more than one group has lines
_MIN_LINES = 2  # where a group arose, and a line of it
_Block = list[Sequence[str]]


class AnswerWriter:
    """Writes hits in at most `max_tokens`, with the most context lines that fit."""

    def __init__(
        self,
        max_tokens: int,
        count_tokens: CountTokens,
        origin_of: Callable[[CoveredEntry], Awaitable[Origin]],
        is_near: bool,
    ) -> None:
        """`origin_of` tells where an entry arose; with `is_near` conclusions aren't whole."""
        self._reaches = _NEAR_REACHES if is_near else _REACHES
        self._max_tokens = max_tokens
        self._count_tokens = count_tokens
        self._origin_of = origin_of
        self._room = max_tokens
        self._tokens: dict[str, int] = {}
        self._origins: dict[CoveredEntry, Origin] = {}
        self._uncut: dict[CoveredEntry, int] = {}

    async def write(self, hits: Sequence[EntryHit], widths: Sequence[ContextLines]) -> str:
        """Return the hits; with the first of `widths` what does not fit is named or counted at the end.

        The agent's conclusions come first, and whole where there is room: they say in a sentence what others
        only show. A wider one is taken while all of the answer fits; then for single groups, as long as what
        they stand for is the same in it.
        """
        if any(hit.count > len(hit.spots) for hit in hits):
            self._room = self._max_tokens - _ENDING_TOKENS
        groups = group_hits(hits, widths[0])
        await self._choose_uncut(groups, widths[0])
        blocks = await self._blocks(groups[:_MAX_GROUPS], widths[0])
        size = self._size(blocks)
        if size > self._room or len(groups) > _MAX_GROUPS:
            best = [hit.best() for hit in hits]
            if len(groups) > 1 and best != [*hits]:
                return await self.write(best, widths)
            return await self._fit_all(groups, self._best_lines(groups, blocks))
        left = list(widths[1:])
        while left:
            wider = group_hits(hits, left[0])
            wider_blocks = await self._blocks(wider[:_MAX_GROUPS], left[0])
            wider_size = self._size(wider_blocks)
            if wider_size > self._room or len(wider) > _MAX_GROUPS:
                break
            groups = wider
            blocks = wider_blocks
            size = wider_size
            left.pop(0)
        for width in left:
            size = await self._widen_some(groups, blocks, width, size)
        cut = _cut(groups, blocks)
        return "\n".join([_text(blocks), f"{cut} {_ENDING}"] if cut else [_text(blocks)])

    async def _choose_uncut(self, groups: Sequence[HitGroup], around: ContextLines) -> None:
        """Choose how much of the agent's conclusions stands in the answer uncut: all where there is room.

        They take what the first lines of all groups leave, and their share at least; together no more than
        that, but for the first one.
        """
        room = float(self._room_for_lines(groups))
        blocks = await self._blocks(groups[:_MAX_GROUPS], around)
        left = max(room - sum(self._size([block[:2]]) for block in blocks), room * _UNCUT_SHARE)
        for group in groups[:_MAX_GROUPS]:
            entry = group.hit.entry
            if left <= 0 or not entry.is_conclusion or not group.spots:
                continue
            for reach in self._reaches:
                self._uncut[entry] = reach
                size = self._size(await self._blocks([group], around))
                if size <= left:
                    left = min(left, room * _UNCUT_SHARE) - size
                    break
            else:
                del self._uncut[entry]

    def _room_for_lines(self, groups: Sequence[HitGroup]) -> int:
        """Return the tokens that are left when the end of the answer names what is left out."""
        return self._max_tokens - _ENDING_TOKENS - 20 * min(len(groups), MAX_NAMED + 1)

    async def _widen_some(
        self, groups: Sequence[HitGroup], blocks: list[_Block], width: ContextLines, size: int
    ) -> int:
        """Widen the groups that still fit, in their order; return the tokens of all."""
        for place, group in enumerate(groups):
            if not group.is_same_within(width):
                continue
            (wider,) = await self._blocks([group], width)
            more = self._size([wider]) - self._size([blocks[place]])
            if size + more <= self._room:
                blocks[place] = wider
                size = size + more
        return size

    async def _blocks(self, groups: Sequence[HitGroup], around: ContextLines) -> list[_Block]:
        """Return the groups as text, with the tokens of each line counted."""
        blocks = []
        for group in groups:
            entry = group.hit.entry
            if entry not in self._origins:
                self._origins[entry] = await self._origin_of(entry)
            blocks.append(hit_group_lines(group, self._origins[entry], around, self._uncut.get(entry)))
        new = {line for block in blocks for part in block for line in part} - self._tokens.keys()
        lines = sorted(new)
        counts = await self._count_tokens([f"{line}\n" for line in lines]) if lines else []
        self._tokens.update(zip(lines, counts, strict=True))
        return blocks

    def _size(self, blocks: Sequence[_Block]) -> int:
        return sum(self._tokens[line] for block in blocks for part in block for line in part)

    def _best_lines(self, groups: Sequence[HitGroup], blocks: Sequence[_Block]) -> list[_Block]:
        """Return the best lines of as many groups as fit, then further lines."""
        orders = [_by_rank(group, block) for group, block in zip(groups, blocks, strict=False)]
        sizes = [
            [sum(self._tokens[line] for line in block[number]) for number in order]
            for order, block in zip(orders, blocks, strict=True)
        ]
        left = self._room_for_lines(groups)
        uncut = [place for place in range(len(sizes)) if groups[place].hit.entry in self._uncut]
        first_left = (left - sum(sum(sizes[place]) for place in uncut)) * _FIRST_SHARE
        parts = [0] * len(blocks)  # how many parts of each block are in the answer: the first has its name
        for place, size in enumerate(sizes):
            cost = sum(size[:2])
            is_uncut = place in uncut
            if place and cost > (left if is_uncut else first_left):
                break
            first_left -= 0 if is_uncut else cost
            parts[place] = min(2, len(size))
            left = left - cost
        for depth in (*range(2, _SPOTS + 1), *range(_SPOTS + 1, 1 + max(map(len, blocks), default=0))):
            for place, size in enumerate(sizes):
                if parts[place] == depth < len(size) and size[depth] <= left:
                    parts[place] = depth + 1
                    left = left - size[depth]
        return [
            self._fit([block[number] for number in sorted(orders[place][: parts[place]])])
            for place, block in enumerate(blocks)
            if parts[place]
        ]

    async def _fit_all(self, groups: Sequence[HitGroup], blocks: list[_Block]) -> str:
        """Return the answer with what is left out, which a small one has no room to name in full.

        Most names go first, then groups and lines, then the other names; where the best line arose stays.
        """
        max_named = _MAX_LEFT_OUT
        while True:
            rest = _rest([group.hit for group in groups[len(blocks) :]], max_named)
            ending = [*rest, f"{_cut(groups, blocks)} {_ENDING}".strip()]
            ending_tokens = sum(await self._count_tokens([f"{line}\n" for line in ending]))
            if self._size(blocks) + ending_tokens <= self._max_tokens:
                break
            (lines,) = blocks[-1]
            if rest and max_named > _MIN_NAMED:
                max_named = max(max_named // 2, _MIN_NAMED)
            elif len(blocks) > 1:
                blocks.pop()
            elif len(lines) > _MIN_LINES or (len(lines) > 1 and not (rest and max_named)):
                blocks[-1] = [lines[:-1]]
            elif rest and max_named:
                max_named -= 1
            else:
                break
        return "\n".join([_text(blocks), *ending])

    def _fit(self, block: _Block) -> _Block:
        """Return as many lines of a block as fit the whole answer; one at least."""
        lines = [line for part in block for line in part]
        while len(lines) > 1 and sum(self._tokens[line] for line in lines) > self._max_tokens:
            lines.pop()
        return [lines]


def _by_rank(group: HitGroup, block: _Block) -> list[int]:
    """Return the numbers of the parts of a block: its name, then those with the best lines."""
    spots = group.spots
    if len(spots) != len(block) - 1:
        return list(range(len(block)))
    return [0, *sorted(range(1, len(block)), key=lambda number: spots[number - 1].rank)]


def _text(blocks: Sequence[_Block]) -> str:
    return "\n".join(line for block in blocks for part in block for line in part)


def _cut(groups: Sequence[HitGroup], blocks: Sequence[_Block]) -> str:
    """Return which of the groups that have a block lack how many lines there; empty: none does."""
    left = []
    for group, block in zip(groups, blocks, strict=False):
        elsewhere = len(group.hit.spots) - len(group.spots)
        count = group.hit.count - elsewhere - count_matching(block)
        if count > 0 and group.hit.entry.line.label != "call":
            left.append(f"{count} of e{group.hit.entry.seq}")
    more = [f"some of {len(left) - _MAX_CUT} more"] if len(left) > _MAX_CUT else []
    return f"Lines left out: {', '.join([*left[:_MAX_CUT], *more])}." if left else ""


def _rest(hits: Sequence[EntryHit], max_named: int) -> list[str]:
    """Return the line that names what did not fit, so many of them, as many by number, and counts others."""
    if not hits:
        return []
    ordered = files_first(hits)
    names = [f"{name_hit(hit)} ({hit.count})" for hit in ordered[:max_named]]
    names += [f"e{hit.entry.seq}" for hit in ordered[max_named : 2 * max_named]]
    more = [f"{len(hits) - 2 * max_named} more"] if len(hits) > 2 * max_named else []
    return [f"Also in {' and '.join([part for part in (', '.join(names), *more) if part])}."]
