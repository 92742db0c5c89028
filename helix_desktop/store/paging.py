"""Which keys a page of entries covers: the same for both stores. A cursor is the last key shown, in hex."""

from __future__ import annotations

from dataclasses import dataclass

from helix_desktop.context.content import Order
from helix_desktop.store import keys


@dataclass(frozen=True, slots=True)
class Stretch:
    """A range of keys and the direction it is read in."""

    span: keys.Span
    backwards: bool = False


def stretch(cursor: str, limit: int, order: Order, prefix: str) -> Stretch:
    """What is left to show after `cursor`. With a prefix entries come by digest, whatever the order.

    Raises ValueError for a limit below 1, a prefix that is none, a cursor of another list.
    """
    if limit < 1:
        raise ValueError(f"a page has at least one entry, not {limit}")
    first, stop = keys.records_of(prefix) if prefix else keys.NEWEST
    backwards = order == "oldest" and not prefix
    if cursor:
        shown = _key(cursor)
        if not first <= shown < stop:
            raise ValueError("the cursor belongs to another list")
        first, stop = (first, shown) if backwards else (shown + b"\0", stop)
    return Stretch((first, stop), backwards)


def cursor_after(key: bytes) -> str:
    """The cursor of the page that follows this key."""
    return key.hex()


def _key(cursor: str) -> bytes:
    try:
        return bytes.fromhex(cursor)
    except ValueError as error:
        raise ValueError("not a cursor of this store") from error
