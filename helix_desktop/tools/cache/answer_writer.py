"""The answer to a pattern on an index, in few tokens: the best lines first, then what stands around them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from helix_desktop.domain.tools import CountTokens
from helix_desktop.tools.cache.context_lines import ContextLines
from helix_desktop.tools.cache.covered_entries import CoveredEntry
from helix_desktop.tools.cache.entry_search import EntryHit
from helix_desktop.tools.cache.hit_groups import (
    MAX_NAMED,
    HitGroup,
    count_matching,
    files_first,
    group_hits,
    hit_group_lines,
    name_hit,
)
from helix_desktop.tools.cache.origins import Origin

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
        self._max_tokens, self._count_tokens, self._origin_of = max_tokens, count_tokens, origin_of
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
            groups, blocks, size = wider, wider_blocks, wider_size
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
                blocks[place], size = wider, size + more
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
            cost, is_uncut = sum(size[:2]), place in uncut
            if place and cost > (left if is_uncut else first_left):
                break
            first_left -= 0 if is_uncut else cost
            parts[place], left = min(2, len(size)), left - cost
        for depth in (*range(2, _SPOTS + 1), *range(_SPOTS + 1, 1 + max(map(len, blocks), default=0))):
            for place, size in enumerate(sizes):
                if parts[place] == depth < len(size) and size[depth] <= left:
                    parts[place], left = depth + 1, left - size[depth]
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
