"""Index entries: the way back from a handover to every output it covers."""

from __future__ import annotations

from collections.abc import Iterable

from helix_desktop.context.digest import size_text
from helix_desktop.context.event import Attachment, ToolAnswered, UserSpoke
from helix_desktop.context.transcript import Item


def index_text(items: Iterable[Item], former: str) -> tuple[str, int]:
    """The text of an index entry over these messages, and how many outputs it names.

    One line per output: digest, tool, target, size, event. `former` is the digest of the index entry before
    this one: following that chain reaches every output that was ever covered.
    """
    lines = [line for item in items for line in _lines(item)]
    head = ["Index of cached outputs, oldest first. Each line begins with a hash for recall_cached_content."]
    if former:
        head.append(f"{former} the index of everything before this one")
    return "\n".join([*head, *lines]), len(lines)


def _lines(item: Item) -> list[str]:
    match item.event:
        case ToolAnswered() as answer if answer.digest:
            return [_answer_line(item.seq, answer)]
        case UserSpoke(attachments=attachments):
            return [_attachment_line(item.seq, one) for one in attachments]
        case _:
            return []


def _answer_line(seq: int, answer: ToolAnswered) -> str:
    said = f' "{answer.first_line}"' if answer.first_line else ""
    target = f" {_one_line(answer.target)[:100]}" if answer.target else ""
    return f"{answer.digest} e{seq} {answer.name}{target}, {size_text(answer.size)}{said}"


def _attachment_line(seq: int, one: Attachment) -> str:
    return f"{one.digest} e{seq} recalled by the user: {_one_line(one.label)}, {size_text(one.size)}"


def _one_line(text: str) -> str:
    """A line break in a command must not begin a line that looks like an entry."""
    return " ".join(text.split())
