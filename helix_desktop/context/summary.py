"""Briefs: what a model is asked to write from a record, whole, in parts, or cut down until it fits."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.context.event_summary import HandoverMade
from helix_desktop.context.handover import render
from helix_desktop.context.message import Message, Request
from helix_desktop.context.record import FULL, Line

OPENING = "[Write a handover]"
_RECORD = "The messages to hand over:"
_PARTS = "The handovers of the parts of a long record, oldest first, to be merged into one:"
_PART = 4 * FULL  # characters shown of the text of a part
_CAPS = (_PART, FULL, 3_000, 1_500, 800, 400, 200, 120)  # characters per message, tried in this order
_MOST_PARTS = 12  # a longer record is shortened first, so that the number of calls stays bounded


class Brief(msgspec.Struct, frozen=True):
    """What to write, and from what.

    `opening` is the mark by which the request is known, `wishes` stand in every part of it, `former` only
    where all of the record is seen. `merging` begins the merging of parts; without it they are joined.
    """

    prompt: str
    opening: str
    title: str
    record: tuple[Line, ...]
    wishes: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    merging: str = ""

    @property
    def head(self) -> tuple[str, ...]:
        """What stands before the record."""
        return (self.opening, *self.wishes, *self.former, self.title)

    @property
    def fixed(self) -> int:
        """Characters of all but the record."""
        return len(self.prompt) + sum(len(line) + 1 for line in self.head)


def handover_brief(prompt: str, record: tuple[Line, ...], former: HandoverMade | None, focus: str) -> Brief:
    """Ask for a handover of these messages that updates the former one."""
    wishes = (f"Pay special attention to: {' '.join(focus.split())}",) if focus.strip() else ()
    known: tuple[str, ...] = ()
    if former is not None:
        known = ("The former handover, to be updated (still true, changed, dropped):", render(former, ()))
    return Brief(prompt, OPENING, _RECORD, record, wishes, known, _PARTS)


def whole(brief: Brief) -> Request:
    """The request with all of the record."""
    return _request(brief, [line.text for line in brief.record])


def cut_down(brief: Brief, room: int) -> Request | None:
    """The request in at most about `room` characters; None when nothing of the record would be left.

    Long messages keep head and tail; when even short ones do not fit, the middle of the record is left out
    and said to be.
    """
    space = max(0, room - brief.fixed)
    lines = _shortened(brief.record, space)
    texts = [line.text for line in lines]
    if _size(texts) > space:
        texts = _middle_out(texts, space)
    return _request(brief, texts) if len(texts) > 1 or len(lines) == 1 else None


def parts(brief: Brief, room: int) -> list[Brief]:
    """The brief in parts of at most `room` characters each, in order; none when that would not help."""
    apart = msgspec.structs.replace(brief, former=())
    space = room - apart.fixed
    if space < _CAPS[-1]:
        return []
    found: list[list[Line]] = [[]]
    used = 0
    for line in _shortened(brief.record, space * _MOST_PARTS):
        fits = msgspec.structs.replace(line, most=min(line.most, max(1, space - _around(line) - 4)))
        size = len(fits.text) + 1
        if size > space + 1:
            return []
        if found[-1] and used + size > space:
            found.append([])
            used = 0
        found[-1].append(fits)
        used += size
    if len(found) > 2 * _MOST_PARTS:
        return []
    return [msgspec.structs.replace(apart, record=tuple(lines)) for lines in found]


def merged(brief: Brief, texts: Sequence[str]) -> Brief:
    """The brief that makes one text of those of the parts."""
    lines = tuple(Line(f"part {n}: ", text, most=_PART) for n, text in enumerate(texts, 1))
    return msgspec.structs.replace(brief, title=brief.merging, record=lines)


def _request(brief: Brief, texts: Sequence[str]) -> Request:
    return Request((Message("system", brief.prompt), Message("user", "\n".join([*brief.head, *texts]))))


def _around(line: Line) -> int:
    return len(line.start) + len(line.end)


def _size(texts: Sequence[str]) -> int:
    return sum(len(text) + 1 for text in texts)


def _shortened(lines: Sequence[Line], space: int) -> list[Line]:
    """The lines with as much of each message as lets all of them fit, if anything does."""
    kept = list(lines)
    for cap in _CAPS:
        kept = [msgspec.structs.replace(line, most=min(line.most, cap)) for line in lines]
        if _size([line.text for line in kept]) <= space:
            break
    return kept


def _middle_out(lines: Sequence[str], space: int) -> list[str]:
    head: list[str] = []
    tail: list[str] = []
    front, back = 0, len(lines) - 1
    while front <= back:
        taken = lines[back] if len(tail) <= 2 * len(head) else lines[front]
        space -= len(taken) + 1
        if space < 0:
            break
        if taken is lines[back]:
            tail.append(taken)
            back -= 1
        else:
            head.append(taken)
            front += 1
    left_out = f"(… {back - front + 1} messages left out here …)"
    return [*head, left_out, *reversed(tail)]
