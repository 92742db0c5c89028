"""The answer to a pattern on an index: hits grouped by content, the best lines first, in few tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.tools import CountTokens
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.cache.entry_search import EntryHit, Spot
from helix_desktop.tools.cache.origins import SHORT_DIGITS, Origin

MAX_GROUPS = 40
"""Groups whose tokens are counted: more never fit."""

_SPOTS = 3  # lines of one group, as long as others have none
_FIRST_SHARE = 0.7  # of the tokens for the first line of each group, the rest for further lines
_ELSEWHERE = 6  # other contents with the same lines, or left out, that are named
_NAME_CAP = 160  # characters


@dataclass
class HitGroup:
    """A hit with the lines that no newer one has, and the hits that have nothing but its lines."""

    hit: EntryHit
    spots: list[Spot]
    equal: list[EntryHit] = field(default_factory=list)


def group_hits(hits: Sequence[EntryHit]) -> list[HitGroup]:
    """Return the hits as groups in their order: with whole words, with parts of words, by description only.

    Lines that a newer content has too are left out; a content that has no others joins the newer one.
    """
    groups: list[HitGroup] = []
    by_key: dict[bytes, HitGroup] = {}
    for hit in sorted(hits, key=lambda hit: not hit.has_words):
        if not hit.spots or hit.entry.line.label == "call":
            continue
        new_spots = [spot for spot in hit.spots if spot.key not in by_key]
        if not new_spots:
            by_key[hit.spots[0].key].equal.append(hit)
            continue
        groups.append(HitGroup(hit, new_spots))
        by_key |= {spot.key: groups[-1] for spot in new_spots}
    rest = [hit for hit in hits if not hit.spots or hit.entry.line.label == "call"]
    return groups + [HitGroup(hit, list(hit.spots[:1])) for hit in rest]


async def render_groups(
    groups: Sequence[HitGroup], origins: Sequence[Origin], max_tokens: int, count_tokens: CountTokens
) -> str:
    """Return the groups in at most `max_tokens`; what does not fit is named or counted in the last line.

    `origins` tells where the hit of each group arose.
    """
    blocks = [_block(group, origins[place]) for place, group in enumerate(groups[:MAX_GROUPS])]
    counts = iter(await count_tokens([f"{line}\n" for block in blocks for lines in block for line in lines]))
    sizes = [[[next(counts) for _ in lines] for lines in block] for block in blocks]
    foot_tokens = 12 * min(len(groups), _ELSEWHERE + 1)
    left = max_tokens - foot_tokens
    first_left = left * _FIRST_SHARE
    parts = [0] * len(blocks)  # how many parts of each block are in the answer: the first has its name
    for place, size in enumerate(sizes):
        cost = sum(map(sum, size[:2]))
        if place and cost > first_left:
            break
        parts[place], left, first_left = min(2, len(size)), left - cost, first_left - cost
    for depth in (*range(2, _SPOTS + 1), *range(_SPOTS + 1, 1 + max(map(len, blocks), default=0))):
        for place, size in enumerate(sizes):
            if parts[place] == depth < len(size) and sum(size[depth]) <= left:
                parts[place], left = depth + 1, left - sum(size[depth])
    texts = [_fit(block[: parts[place]], sizes[place], max_tokens) for place, block in enumerate(blocks)]
    return "\n".join([*filter(None, texts), *_rest([group.hit for group in groups[sum(map(bool, parts)) :]])])


def _fit(block: Sequence[Sequence[str]], sizes: Sequence[Sequence[int]], max_tokens: int) -> str:
    """Return the lines of a block as one text, as many as fit."""
    lines = [line for lines in block for line in lines]
    counts = [count for counts in sizes for count in counts]
    while len(lines) > 1 and sum(counts[: len(lines)]) > max_tokens:
        lines.pop()
    return "\n".join(lines)


def _block(group: HitGroup, origin: Origin) -> list[Sequence[str]]:
    """Return the parts of a group: its name, then each spot."""
    entry, count = group.hit.entry, group.hit.count
    if entry.line.label == "call":
        row = group.spots[0].rows[0].partition(":")[2] if group.spots else ""
        return [[f"e{entry.seq} call: {row}"]]
    about = [escape_hidden_name(entry.line.label)[:_NAME_CAP], origin.time, origin.change]
    name = ", ".join(
        part for part in (" ".join(filter(None, (_handle(group.hit), about[0]))), *about[1:]) if part
    )
    others = count - len(group.spots)
    more = f": {pluralize(count, 'line')}" if others > 0 else ":" if count else ""
    lines: list[Sequence[str]] = [[f"{name}{more}{_equal(group.equal)}"]]
    return lines + [spot.rows for spot in group.spots]


def _equal(hits: Sequence[EntryHit]) -> str:
    if not hits:
        return ""
    more = f" and {len(hits) - _ELSEWHERE} more" if len(hits) > _ELSEWHERE else ""
    return f" (the same in {', '.join(_handle(hit) for hit in hits[:_ELSEWHERE])}{more})"


def _rest(hits: Sequence[EntryHit]) -> list[str]:
    """Return the line that names what did not fit."""
    if not hits:
        return []
    handles = ", ".join(f"{_handle(hit)} ({hit.count})" for hit in hits[:_ELSEWHERE])
    more = f" and {len(hits) - _ELSEWHERE} more" if len(hits) > _ELSEWHERE else ""
    return [f"Also in {handles}{more}."]


def _handle(hit: EntryHit) -> str:
    """Return how a hit is recalled: the event, and the first digits of a content."""
    entry = hit.entry
    return f"{entry.digest[:SHORT_DIGITS]} e{entry.seq}" if entry.digest else f"e{entry.seq}"
