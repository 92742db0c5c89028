"""What changed between two requests of a session: new parts, others in another form, and those that left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from helix_desktop.context.window.window_breakdown import WindowItem, WindowItemState

_Key: TypeAlias = tuple[int, int, str, int]


class ItemChange(msgspec.Struct, frozen=True):
    """A part of the later request and what it was in the earlier one (None: it is new there)."""

    item: WindowItem
    before: WindowItem | None

    @property
    def tokens(self) -> int:
        """Return by how many tokens the request grew here; negative: it shrank."""
        return self.item.tokens - (self.before.tokens if self.before is not None else 0)

    @property
    def has_other_form(self) -> bool:
        """Whether it was there before, and is sent in another form now."""
        return self.before is not None and self.before.state != self.item.state


class RemovedItem(msgspec.Struct, frozen=True):
    """A part of the earlier request that the later one lacks, and the state of what replaces it.

    None: nothing in the request replaces it, as after a retry or an undo.
    """

    item: WindowItem
    into: WindowItemState | None


class WindowChanges(msgspec.Struct, frozen=True):
    """All parts of the later request, in its order, and what left since the earlier one."""

    items: tuple[ItemChange, ...]
    gone: tuple[RemovedItem, ...]

    @property
    def tokens(self) -> int:
        """Return by how many tokens the whole request grew; negative: it shrank."""
        return sum(change.tokens for change in self.items) - self.gone_tokens

    @property
    def gone_tokens(self) -> int:
        """Return the tokens, in the earlier request, of all that left."""
        return sum(gone.item.tokens for gone in self.gone)


def compare_windows(before: tuple[WindowItem, ...], now: tuple[WindowItem, ...]) -> WindowChanges:
    """Return what changed from the items of one request to those of a later one."""
    earlier = dict(zip(_keys(before), before, strict=True))
    items = tuple(ItemChange(item, earlier.pop(key, None)) for key, item in zip(_keys(now), now, strict=True))
    blocks = tuple(item for item in now if item.upto)
    gone = tuple(RemovedItem(item, _replaced_by(item, blocks)) for item in earlier.values())
    return WindowChanges(items, gone)


def _keys(items: Iterable[WindowItem]) -> list[_Key]:
    """Return what names each item in both requests: its event, or its place in the opening and its kind."""
    counts: Counter[tuple[int, int, str]] = Counter()
    keys: list[_Key] = []
    for item in items:
        key = (item.seq, item.part, "" if item.seq else item.kind)
        keys.append((*key, counts[key]))
        counts[key] += 1
    return keys


def _replaced_by(item: WindowItem, blocks: Iterable[WindowItem]) -> WindowItemState | None:
    """Return the state of the note or handover that stands for an item; a note's place is its last event."""
    place = item.upto or item.seq
    return next((block.state for block in blocks if block.after < place <= block.upto), None)
