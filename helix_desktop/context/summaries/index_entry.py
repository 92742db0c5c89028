"""Index entries: the way back from a fold, observations or a handover to everything they cover."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.digest import format_bytes
from helix_desktop.domain.events.session import AssistantSpoke, Attachment, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade

HEAD = (
    "Index of cached outputs, oldest first. A line that begins with a hash names content for "
    "recall_cached_content; the others are what was said."
)
_FURTHER = "| "  # begins each further line of what was said, so that none can pass for an entry


def index_text(items: Iterable[LogItem], previous_indexes: Sequence[str] = ()) -> tuple[str, int]:
    """The text of an index entry over these messages, and how many contents it names.

    One line per output and large argument: digest, event, tool, target, size; and what was said, verbatim.
    `former` are the digests of the index entries of what is covered with them: following those reaches
    everything that was ever covered.
    """
    lines: list[str] = []
    named = 0
    for item in items:
        found = _lines(item)
        named += sum(1 for digest, _ in found if digest)
        lines += [line for _, line in found]
    parts = (
        [""] if len(previous_indexes) == 1 else [f", part {n}" for n in range(1, len(previous_indexes) + 1)]
    )
    before = [
        f"{digest} the index of everything before this one{part}"
        for digest, part in zip(previous_indexes, parts, strict=True)
    ]
    return "\n".join([HEAD, *before, *lines]), named


def build_index_entry(transcript: Transcript, after: int, upto: int, kept_seq: int = 0) -> tuple[str, int]:
    """The index entry of the events behind `after`, up to and with `upto` but `kept`, and all it leads to.

    What a cover in force already stands for is named by that cover's own index entry.
    """
    inside = [one for one in transcript.covers if after <= one.after and one.upto <= upto]
    edges = [after, *(edge for one in inside for edge in (one.after, one.upto)), upto]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    raw = [item for low, high in gaps for item in transcript.between(low, high) if item.seq != kept_seq]
    freed = [one.event.kept for one in inside if isinstance(one.event, HandoverMade)]
    raw = [item for seq in freed if seq and (item := transcript.item(seq)) and seq != kept_seq] + raw
    text, named = index_text(raw, [one.event.index for one in inside if one.event.index])
    return text, named + sum(one.event.index_entries for one in inside)


def _lines(item: LogItem) -> list[tuple[str, str]]:
    match item.event:
        case ToolAnswered() as answer if answer.digest:
            return [(answer.digest, _answer_line(item.seq, answer))]
        case UserSpoke(text=text, attachments=attachments):
            said = [("", f"e{item.seq} user: {_continued_lines(text)}")]
            return said + [(one.digest, _attachment_line(item.seq, one)) for one in attachments]
        case AssistantSpoke() as spoke:
            said = [("", f"e{item.seq} agent: {_continued_lines(spoke.text)}")] if spoke.text.strip() else []
            called = [("", f"e{item.seq} call {_continued_lines(line)}") for line in _calls(spoke)]
            return said + called + _argument_lines(item.seq, spoke)
        case _:
            return []


def _answer_line(seq: int, answer: ToolAnswered) -> str:
    said = f' "{answer.first_line}"' if answer.first_line else ""
    target = f" {_one_line(answer.target)[:100]}" if answer.target else ""
    return f"{answer.digest} e{seq} {_one_line(answer.name)}{target}, {format_bytes(answer.size)}{said}"


def _calls(spoke: AssistantSpoke) -> list[str]:
    """Each call with its arguments, the large values of which have lines of their own."""
    short = {one.call_id: one.arguments for one in spoke.short}
    return [f"{call.name} {short.get(call.id, call.arguments)}" for call in spoke.calls]


def _argument_lines(seq: int, spoke: AssistantSpoke) -> list[tuple[str, str]]:
    names = {call.id: _one_line(call.name) for call in spoke.calls}
    return [
        (digest, f"{digest} e{seq} argument of {names.get(short.call_id, 'a call')}, {format_bytes(size)}")
        for short in spoke.short
        for digest, size in zip(short.digests, short.sizes, strict=True)
    ]


def _attachment_line(seq: int, attachment: Attachment) -> str:
    label, size = _one_line(attachment.label), format_bytes(attachment.size)
    return f"{attachment.digest} e{seq} recalled by the user: {label}, {size}"


def _continued_lines(text: str) -> str:
    """The words, every sign of them: also how their lines end."""
    return _FURTHER.join(text.splitlines(keepends=True))


def _one_line(text: str) -> str:
    """A line break in a command must not begin a line that looks like an entry."""
    return " ".join(text.split())
