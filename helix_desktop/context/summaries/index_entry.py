"""Index entries: the lists that lead from a fold, observations or a handover to everything they cover."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.index_lines import FURTHER
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.session import AssistantSpoke, Attachment, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.store.entries import Content
from helix_desktop.domain.text_format import first_line, format_bytes

HEAD = (
    "Index of cached outputs, oldest first. A line that begins with a hash names content for "
    "recall_cached_content; the others are what was said."
)
_CHARS_PER_TOKEN = 3.1  # the mean of 73 indexes of recorded sessions, of which nine in ten have 2.7 to 3.6


def index_text(items: Iterable[LogItem], previous_indexes: Sequence[str] = ()) -> tuple[str, int]:
    """Return the text of an index entry over these messages, and how many contents it names.

    One line per output and large argument: digest, event, tool, target, size; and message texts, verbatim.
    `previous_indexes` are the digests of the index entries of covers inside: following those reaches
    everything that was ever covered.
    """
    lines: list[str] = []
    count = 0
    for item in items:
        entries = _lines(item)
        count += sum(1 for digest, _ in entries if digest)
        lines += [line for _, line in entries]
    parts = (
        [""] if len(previous_indexes) == 1 else [f", part {n}" for n in range(1, len(previous_indexes) + 1)]
    )
    previous = [
        f"{digest} the index of everything before this one{part}"
        for digest, part in zip(previous_indexes, parts, strict=True)
    ]
    return "\n".join([HEAD, *previous, *lines]), count


def build_index_entry(transcript: Transcript, after: int, upto: int, kept_seq: int = 0) -> tuple[str, int]:
    """Return the index entry of the events after `after` up to `upto` but `kept_seq`, and its count.

    The count is of all contents it leads to. What an active cover already replaces is named by that cover's
    own index entry.
    """
    inside = [cover for cover in transcript.covers if after <= cover.after and cover.upto <= upto]
    edges = [after, *(edge for cover in inside for edge in (cover.after, cover.upto)), upto]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    raw = [item for low, high in gaps for item in transcript.between(low, high) if item.seq != kept_seq]
    kept_seqs = [cover.event.kept for cover in inside if isinstance(cover.event, HandoverMade)]
    raw = [item for seq in kept_seqs if seq and (item := transcript.item(seq)) and seq != kept_seq] + raw
    text, count = index_text(raw, [cover.event.index for cover in inside if cover.event.index])
    return text, count + sum(cover.event.index_entries for cover in inside)


def index_content(text: str, maker: str, label: str) -> Content:
    """Return an index entry as it is stored. Its tokens are an estimate: nothing is decided by them."""
    data = text.encode("utf-8", "surrogatepass")
    tokens = round(len(text) / _CHARS_PER_TOKEN)
    return Content(digest_of(data), data, maker, label, first_line(HEAD), tokens, "index")


def _lines(item: LogItem) -> list[tuple[str, str]]:
    match item.event:
        case ToolAnswered() as answer if answer.digest:
            return [(answer.digest, _answer_line(item.seq, answer))]
        case UserSpoke(text=text, attachments=attachments):
            entries = [("", f"e{item.seq} user: {_continued_lines(text)}")]
            return entries + [
                (attachment.digest, _attachment_line(item.seq, attachment)) for attachment in attachments
            ]
        case AssistantSpoke() as spoke:
            entries = (
                [("", f"e{item.seq} agent: {_continued_lines(spoke.text)}")] if spoke.text.strip() else []
            )
            calls = [("", f"e{item.seq} call {_continued_lines(line)}") for line in _calls(spoke)]
            return entries + calls + _argument_lines(item.seq, spoke)
        case _:
            return []


def _answer_line(seq: int, answer: ToolAnswered) -> str:
    first_line = f' "{answer.first_line}"' if answer.first_line else ""
    about = f", {answer.about}" if answer.about else first_line
    target = f" {_one_line(answer.target)[:100]}" if answer.target else ""
    return f"{answer.digest} e{seq} {_one_line(answer.name)}{target}, {format_bytes(answer.size)}{about}"


def _calls(spoke: AssistantSpoke) -> list[str]:
    """Return each call with its arguments; large values have lines of their own."""
    short = {masked_call.call_id: masked_call.arguments for masked_call in spoke.short}
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
    verb = "recalled" if attachment.kind == "cached" else "attached"
    return f"{attachment.digest} e{seq} {verb} by the user: {label}, {size}"


def _continued_lines(text: str) -> str:
    """Return the text with every character, line endings included, and further lines prefixed."""
    return FURTHER.join(text.splitlines(keepends=True))


def _one_line(text: str) -> str:
    """Join lines: a line break in a command must not begin a line that looks like an entry."""
    return " ".join(text.split())
