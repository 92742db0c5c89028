"""Index entries: the lists that lead from a fold, observations or a handover to everything they cover."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from helix_desktop.context.intake.marker import WHOLE_KEY, WHOLE_TARGET
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.digest import MARKER_START, MIN_PREFIX, digest_of
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    Attachment,
    SweptCall,
    ToolAnswered,
    UserSpoke,
)
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.files.file_use import call_target, decode_arguments
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import Content
from helix_desktop.domain.text_format import first_line, format_bytes, one_line

_CONTENT = re.compile(r"([0-9a-f]{64}) (?:e(\d+) )?(.*)")
_WORDS = re.compile(r"e(\d+) (user|agent|call):? ")
FURTHER = "| "
"""Begins each further line of a message in an index, so that none can pass for an entry."""


class IndexLine(msgspec.Struct, frozen=True):
    """What a line of an index stands for: a content, by its digest, or a message or a call, by its text.

    `seq` is the event, 0 for an earlier index. `label` is a content's description, or who speaks: `user`,
    `agent`, or `call` for a call with its arguments.
    """

    seq: int
    label: str
    digest: str = ""
    text: str = ""


def parse_index(text: str) -> list[IndexLine]:
    """Return the lines of an index in its order; message texts are whole again, line ends included."""
    entries: list[IndexLine] = []
    parts: list[str] = []
    for line in f"{text}\n".splitlines(keepends=True):
        content = _CONTENT.match(line)
        words = _WORDS.match(line)
        if content or words:
            _end_message(entries, parts)
        if content:
            entries.append(IndexLine(int(content[2] or 0), content[3], content[1]))
        elif words:
            entries.append(IndexLine(int(words[1]), words[2]))
            parts = [line[words.end() :]]
        elif parts:
            parts.append(line.removeprefix(FURTHER))
    _end_message(entries, parts)
    return entries


def _end_message(entries: list[IndexLine], parts: list[str]) -> None:
    """Give the newest entry the text of its parts, if there are any, and empty them."""
    if parts:
        entries[-1] = msgspec.structs.replace(entries[-1], text="".join(parts).removesuffix("\n"))
        parts.clear()


HEAD = (
    "Index of cached outputs, oldest first. A line that begins with a hash names content for "
    "recall_cached_content; the others are what was said."
)
_MAX_LINES = 1_000  # messages whose lines are remembered
_CHARS_PER_TOKEN = 3.1  # the mean of 73 indexes of recorded sessions, of which nine in ten have 2.7 to 3.6


class IndexLines:
    """The lines of one session's messages, made when they come: when they are covered, a request waits."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[LogItem, list[str], int]] = {}

    def add(self, item: LogItem) -> None:
        if len(self._lines) >= _MAX_LINES:
            self._lines.clear()
        lines: list[str] = []
        self._lines[item.seq] = item, lines, _add_lines(lines, item)

    def copy_to(self, lines: list[str], item: LogItem) -> int:
        """Add the lines of a message, and return how many contents they name."""
        entry = self._lines.get(item.seq)
        if entry is None or entry[0] is not item:
            return _add_lines(lines, item)
        lines += entry[1]
        return entry[2]


def index_text(
    items: Iterable[LogItem], previous_indexes: Sequence[str] = (), index_lines: IndexLines | None = None
) -> tuple[str, int]:
    """Return the text of an index entry over these messages, and how many contents it names.

    One line per output and large argument: digest, event, tool, target, size; and message texts, verbatim.
    `previous_indexes` are the digests of the index entries of covers inside: following those reaches
    everything that was ever covered.
    """
    lines: list[str] = []
    add_lines = index_lines.copy_to if index_lines is not None else _add_lines
    count = sum(add_lines(lines, item) for item in items)
    parts = (
        [""] if len(previous_indexes) == 1 else [f", part {n}" for n in range(1, len(previous_indexes) + 1)]
    )
    previous = [
        f"{digest} the index of everything before this one{part}"
        for digest, part in zip(previous_indexes, parts, strict=True)
    ]
    return "\n".join([HEAD, *previous, *lines]), count


def build_index_entry(
    transcript: Transcript, after: int, upto: int, kept_seq: int = 0, index_lines: IndexLines | None = None
) -> tuple[str, int]:
    """Return the index entry of the events after `after` up to `upto` but `kept_seq`, and its count.

    The count is of all contents it leads to. What an active cover already replaces is named by that cover's
    own index entry.
    """
    inside = [cover for cover in transcript.window.covers if after <= cover.after and cover.upto <= upto]
    edges = [after, *(edge for cover in inside for edge in (cover.after, cover.upto)), upto]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    raw = [
        item for low, high in gaps for item in transcript.messages.between(low, high) if item.seq != kept_seq
    ]
    kept_seqs = [cover.event.kept for cover in inside if isinstance(cover.event, HandoverMade)]
    raw = [
        item for seq in kept_seqs if seq and (item := transcript.messages.item(seq)) and seq != kept_seq
    ] + raw
    text, count = index_text(raw, [cover.event.index for cover in inside if cover.event.index], index_lines)
    return text, count + sum(cover.event.index_entries for cover in inside)


def index_content(text: str, maker: str, label: str) -> Content:
    """Return an index entry as it is stored. Its tokens are an estimate: nothing is decided by them."""
    data = text.encode("utf-8", "surrogatepass")
    tokens = round(len(text) / _CHARS_PER_TOKEN)
    return Content(digest_of(data), data, maker, label, first_line(HEAD), tokens, "index")


def _add_lines(lines: list[str], item: LogItem) -> int:
    """Add the lines of a message, and return how many contents they name."""
    seq = item.seq
    match item.event:
        case ToolAnswered() as output:
            if not output.digest:
                return 0
            lines.append(_answer_line(seq, output))
            return 1
        case UserSpoke(text=text, attachments=attachments):
            lines.append(f"e{seq} user: {_continued_lines(text)}")
            lines += [_attachment_line(seq, attachment) for attachment in attachments]
            return sum(1 for attachment in attachments if attachment.digest)
        case AssistantSpoke(text=text, calls=calls, short=short):
            if text.strip():
                lines.append(f"e{seq} agent: {_continued_lines(text)}")
            arguments = {swept_call.call_id: swept_call.arguments for swept_call in short}
            for call in calls:
                line = f"{call.name} {arguments.get(call.id, call.arguments)}"
                lines.append(f"e{seq} call {_continued_lines(line)}")
            return _add_argument_lines(lines, seq, item.event) if short else 0


def _answer_line(seq: int, output: ToolAnswered) -> str:
    first_line = f' "{output.first_line}"' if output.first_line else ""
    about = f", {output.about}" if output.about else first_line
    target = f" {one_line(output.target)[:100]}" if output.target else ""
    return f"{output.digest} e{seq} {one_line(output.name)}{target}, {format_bytes(output.size)}{about}"


def _add_argument_lines(lines: list[str], seq: int, response: AssistantSpoke) -> int:
    """Add a line for each large value in the calls, and return how many contents they name."""
    calls = {call.id: call for call in response.calls}
    count = 0
    for short in response.short:
        for digest, size in zip(short.digests, short.sizes, strict=True):
            label = _argument_label(calls.get(short.call_id), short, digest)
            lines.append(f"{digest} e{seq} {label}, {format_bytes(size)}")
            count += bool(digest)
    return count


def _argument_label(call: ToolCall | None, swept_call: SweptCall, digest: str) -> str:
    """Return which argument of which call a content was: an edit has the old text and the new one."""
    of_call = f"of {one_line(call.name)}" if call is not None else "of a call"
    values = decode_arguments(swept_call.arguments)
    marked = f'{MARKER_START}"{digest[:MIN_PREFIX]}'
    if not digest or not isinstance(values, dict):
        return f"argument {of_call}"
    name = next((n for n, value in values.items() if isinstance(value, str) and value.startswith(marked)), "")
    argument = f"argument {one_line(name)}" if name not in ("", WHOLE_KEY) else "argument"
    target = call_target(swept_call.arguments)
    of_target = "" if target.startswith(MARKER_START) else f" {target[:WHOLE_TARGET]}"
    return f"{argument} {of_call}{of_target}"


def _attachment_line(seq: int, attachment: Attachment) -> str:
    label = one_line(attachment.label)
    size = format_bytes(attachment.size)
    verb = "recalled" if attachment.kind == "cached" else "attached"
    return f"{attachment.digest} e{seq} {verb} by the user: {label}, {size}"


def _continued_lines(text: str) -> str:
    """Return the text with every character, line endings included, and further lines prefixed."""
    return FURTHER.join(text.splitlines(keepends=True))
