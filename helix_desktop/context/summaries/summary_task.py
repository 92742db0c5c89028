"""Briefs: what a model is asked to write from a record, whole, in parts, or cut down until it fits."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.context.summaries.handover import render_handover
from helix_desktop.context.summaries.transcript_lines import FULL_CHARS, TranscriptLine
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import Message, ModelRequest

OPENING = "[Write a handover]"
_RECORD = "The messages to hand over:"
_PARTS = "The handovers of the parts of a long record, oldest first, to be merged into one:"
_PART_CHARS = 4 * FULL_CHARS  # characters shown of the text of a part
_CAPS = (
    _PART_CHARS,
    FULL_CHARS,
    3_000,
    1_500,
    800,
    400,
    200,
    120,
)  # characters per message, tried in this order
_MAX_PARTS = 12  # a longer record is shortened first, so that the number of calls stays bounded


class SummaryTask(msgspec.Struct, frozen=True):
    """What to write, and from what.

    `opening` is the mark by which the request is known, `wishes` stand in every part of it, `former` only
    where all of the record is seen. `merging` begins the merging of parts; without it they are joined.
    """

    prompt: str
    opening: str
    title: str
    lines: tuple[TranscriptLine, ...]
    instructions: tuple[str, ...] = ()
    previous: tuple[str, ...] = ()
    merge_title: str = ""

    @property
    def header(self) -> tuple[str, ...]:
        """What stands before the record."""
        return (self.opening, *self.instructions, *self.previous, self.title)

    @property
    def fixed_chars(self) -> int:
        """Characters of all but the record."""
        return len(self.prompt) + sum(len(line) + 1 for line in self.header)


def handover_task(
    prompt: str, lines: tuple[TranscriptLine, ...], previous: HandoverMade | None, focus: str
) -> SummaryTask:
    """Ask for a handover of these messages that updates the former one."""
    wishes = (f"Pay special attention to: {' '.join(focus.split())}",) if focus.strip() else ()
    known: tuple[str, ...] = ()
    if previous is not None:
        known = (
            "The former handover, to be updated (still true, changed, dropped):",
            render_handover(previous, ()),
        )
    return SummaryTask(prompt, OPENING, _RECORD, lines, wishes, known, _PARTS)


def full_request(task: SummaryTask) -> ModelRequest:
    """The request with all of the record."""
    return _build_request(task, [line.text for line in task.lines])


def truncated_request(task: SummaryTask, max_chars: int) -> ModelRequest | None:
    """The request in at most about `room` characters; None when nothing of the record would be left.

    Long messages keep head and tail; when even short ones do not fit, the middle of the record is left out
    and said to be.
    """
    space = max(0, max_chars - task.fixed_chars)
    lines = _shorten_lines(task.lines, space)
    texts = [line.text for line in lines]
    if _total_chars(texts) > space:
        texts = _drop_middle(texts, space)
    return _build_request(task, texts) if len(texts) > 1 or len(lines) == 1 else None


def split_task(task: SummaryTask, max_chars: int) -> list[SummaryTask]:
    """The brief in parts of at most `room` characters each, in order; none when that would not help."""
    apart = msgspec.structs.replace(task, previous=())
    space = max_chars - apart.fixed_chars
    if space < _CAPS[-1]:
        return []
    found: list[list[TranscriptLine]] = [[]]
    used = 0
    for line in _shorten_lines(task.lines, space * _MAX_PARTS):
        fits = msgspec.structs.replace(
            line, max_chars=min(line.max_chars, max(1, space - _frame_chars(line) - 4))
        )
        size = len(fits.text) + 1
        if size > space + 1:
            return []
        if found[-1] and used + size > space:
            found.append([])
            used = 0
        found[-1].append(fits)
        used += size
    if len(found) > 2 * _MAX_PARTS:
        return []
    return [msgspec.structs.replace(apart, lines=tuple(lines)) for lines in found]


def merge_task(task: SummaryTask, texts: Sequence[str]) -> SummaryTask:
    """The brief that makes one text of those of the parts."""
    lines = tuple(
        TranscriptLine(f"part {n}: ", text, max_chars=_PART_CHARS) for n, text in enumerate(texts, 1)
    )
    return msgspec.structs.replace(task, title=task.merge_title, lines=lines)


def _build_request(task: SummaryTask, texts: Sequence[str]) -> ModelRequest:
    return ModelRequest((Message("system", task.prompt), Message("user", "\n".join([*task.header, *texts]))))


def _frame_chars(line: TranscriptLine) -> int:
    return len(line.start) + len(line.end)


def _total_chars(texts: Sequence[str]) -> int:
    return sum(len(text) + 1 for text in texts)


def _shorten_lines(lines: Sequence[TranscriptLine], space: int) -> list[TranscriptLine]:
    """The lines with as much of each message as lets all of them fit, if anything does."""
    kept = list(lines)
    for cap in _CAPS:
        kept = [msgspec.structs.replace(line, max_chars=min(line.max_chars, cap)) for line in lines]
        if _total_chars([line.text for line in kept]) <= space:
            break
    return kept


def _drop_middle(lines: Sequence[str], space: int) -> list[str]:
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
