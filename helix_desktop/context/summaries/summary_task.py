"""Summary tasks: what a model writes from transcript lines, in full, in parts, or truncated to fit."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.context.summaries.handover import render_handover
from helix_desktop.context.summaries.transcript_lines import FULL_CHARS, TranscriptLine
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import Message, ModelRequest

OPENING = "[Write a handover]"
_RECORD = "The messages to hand over:"
_FOLLOWING = "What came after, not to be noted:"
FOLLOWING_MESSAGES = 40  # newest messages after those of a task that are shown, in brief
_FOLLOWING_CHARS = 240
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
    """A task for a model: what to write, and from what.

    `opening` is the mark that identifies the request, `instructions` are in every part of it, `previous` only
    where all lines are seen. `merge_title` begins the merging of parts; if empty they are joined.
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
        """Return the lines before the transcript."""
        return (self.opening, *self.instructions, *self.previous, self.title)

    @property
    def fixed_chars(self) -> int:
        """Return the characters of all but the transcript."""
        return len(self.prompt) + sum(len(line) + 1 for line in self.header)


def handover_task(
    prompt: str,
    lines: tuple[TranscriptLine, ...],
    previous: HandoverMade | None,
    focus: str,
    quoted_from: int = 0,
    following: Sequence[TranscriptLine] = (),
) -> SummaryTask:
    """Return the task to write a handover of these messages that updates the previous one.

    The user's messages from event `quoted_from` on (0: none) stand verbatim below it. The messages
    `following` them, which stay in the window, tell what is done by now.
    """
    instructions: list[str] = []
    if focus.strip():
        instructions.append(f"Pay special attention to: {' '.join(focus.split())}")
    if quoted_from:
        instructions.append(f"The user's messages from e{quoted_from} on stand verbatim below your text.")
    previous_lines: tuple[str, ...] = ()
    if previous is not None:
        previous_lines = (
            "The former handover, to be updated (still true, changed, dropped):",
            render_handover(previous, ()),
        )
    previous_lines += following_lines(following)
    return SummaryTask(prompt, OPENING, _RECORD, lines, tuple(instructions), previous_lines, _PARTS)


def following_lines(lines: Sequence[TranscriptLine]) -> tuple[str, ...]:
    """Return the newest of the messages after those of a task, in brief, under a title; empty if none."""
    newest = [
        msgspec.structs.replace(line, max_chars=min(line.max_chars, _FOLLOWING_CHARS))
        for line in lines[-FOLLOWING_MESSAGES:]
    ]
    return (_FOLLOWING, *(f"later {line.text}" for line in newest)) if newest else ()


def full_request(task: SummaryTask) -> ModelRequest:
    """Return the request with all lines."""
    return _build_request(task, [line.text for line in task.lines])


def truncated_request(task: SummaryTask, max_chars: int) -> ModelRequest | None:
    """Return the request in at most about `max_chars` characters; None if no line would be left.

    Long messages keep head and tail; if even short ones do not fit, the middle lines are left out, with a
    line that says so.
    """
    space = max(0, max_chars - task.fixed_chars)
    lines = _shorten_lines(task.lines, space)
    texts = [line.text for line in lines]
    if _total_chars(texts) > space:
        texts = _drop_middle(texts, space)
    return _build_request(task, texts) if len(texts) > 1 or len(lines) == 1 else None


def split_task(task: SummaryTask, max_chars: int) -> list[SummaryTask]:
    """Return the task in parts of at most `max_chars` each, in order; empty if that would not help."""
    alone = msgspec.structs.replace(task, previous=())
    max_part_chars = max_chars - alone.fixed_chars
    if max_part_chars < _CAPS[-1]:
        return []
    parts: list[list[TranscriptLine]] = [[]]
    used = 0
    for line in _shorten_lines(task.lines, max_part_chars * _MAX_PARTS):
        shortened = msgspec.structs.replace(
            line, max_chars=min(line.max_chars, max(1, max_part_chars - _frame_chars(line) - 4))
        )
        size = len(shortened.text) + 1
        if size > max_part_chars + 1:
            return []
        if parts[-1] and used + size > max_part_chars:
            parts.append([])
            used = 0
        parts[-1].append(shortened)
        used += size
    if len(parts) > 2 * _MAX_PARTS:
        return []
    return [msgspec.structs.replace(alone, lines=tuple(lines)) for lines in parts]


def merge_task(task: SummaryTask, texts: Sequence[str]) -> SummaryTask:
    """Return the task that merges the texts of the parts."""
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
    """Return the lines with as much of each message as lets all of them fit, if possible."""
    shortened = list(lines)
    for cap in _CAPS:
        shortened = [msgspec.structs.replace(line, max_chars=min(line.max_chars, cap)) for line in lines]
        if _total_chars([line.text for line in shortened]) <= space:
            break
    return shortened


def _drop_middle(lines: Sequence[str], space: int) -> list[str]:
    head: list[str] = []
    tail: list[str] = []
    front, back = 0, len(lines) - 1
    while front <= back:
        line = lines[back] if len(tail) <= 2 * len(head) else lines[front]
        space -= len(line) + 1
        if space < 0:
            break
        if line is lines[back]:
            tail.append(line)
            back -= 1
        else:
            head.append(line)
            front += 1
    left_out = f"(… {back - front + 1} messages left out here …)"
    return [*head, left_out, *reversed(tail)]
