"""The record: messages as data lines, the form in which a model reads what it is to summarise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from datetime import UTC, datetime

import msgspec

from helix_desktop.context.event import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.context.event_rewrite import FoldMade
from helix_desktop.context.event_summary import Observation, ObservationsMade
from helix_desktop.context.layout import Cover, Item

FULL = 6_000  # characters shown of a message that stands in the window as it came
_CACHED, _FOLDED = 600, 600  # the same of one whose output is a marker there, and of one in a note
_CALLS = 300
_FURTHER = "\n| "  # begins each further line of a message, so that none can pass for a message of its own
_MARKS = re.compile(
    r"\[(write a handover|write observations|refine observations|conversation history summary|observations"
    r"|folded steps|cached)\]|\[(?=pinned output, for reference|recalled from the cache|image(?: left out)?: "
    r"|image in the answer)",
    re.IGNORECASE,
)


class Line(msgspec.Struct, frozen=True):
    """One entry of the record: how it begins, what was said, what follows.

    Shown are at most `most` characters of what was said, head and tail.
    """

    start: str
    said: str
    end: str = ""
    most: int = FULL

    @property
    def text(self) -> str:
        """The entry as it stands in the record."""
        return f"{self.start}{shortened(self.said, self.most)}{self.end}"


def record_of(
    items: Iterable[Item], covers: Sequence[Cover] = (), masked: Set[int] = frozenset()
) -> tuple[Line, ...]:
    """The record of these messages.

    What observations in force stand for is told by them and by the person's own words. Little is shown of
    folded steps and of outputs that are markers in the window.
    """
    lines: list[Line] = []
    told: set[int] = set()
    for item in items:
        cover = next((one for one in covers if one.after < item.seq <= one.upto), None)
        if cover is None or not isinstance(cover.event, ObservationsMade | FoldMade):
            lines.append(_line(item, _CACHED if item.seq in masked else FULL))
        elif isinstance(cover.event, FoldMade):
            lines.append(_folded(item))
        else:
            if cover.seq not in told:
                told.add(cover.seq)
                lines += [fact(one) for one in cover.event.observations]
            if isinstance(item.event, UserSpoke):
                lines.append(_line(item, _FOLDED))
    return tuple(lines)


def fact(one: Observation) -> Line:
    """An observation as an entry: priority, date, text, sources."""
    cited = f" [{', '.join(f'e{seq}' for seq in one.sources)}]" if one.sources else ""
    return Line(f"observed ({one.priority}) {day_of(one.at)}: ", one.text, cited)


def day_of(at: int) -> str:
    """The UTC date of a time in milliseconds since 1970."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d")


def _line(item: Item, most: int) -> Line:
    match item.event:
        case UserSpoke(text=text, attachments=attachments):
            recalled = "".join(f" (recalled: {' '.join(one.label.split())})" for one in attachments)
            return Line(f"e{item.seq} user: ", text, defused(recalled), most)
        case AssistantSpoke(text=text, calls=calls):
            made = "; ".join(f"{call.name} {shortened(call.arguments, _CALLS)}" for call in calls)
            return Line(f"e{item.seq} assistant: ", text, f" -> calls {made}" if made else "", most)
        case ToolAnswered() as answer:
            return Line(_opening(item.seq, answer), answer.text, "", most)


def _folded(item: Item) -> Line:
    match item.event:
        case ToolAnswered() as answer:
            return Line(_opening(item.seq, answer), answer.first_line)
        case AssistantSpoke(text=text):
            return Line(f"e{item.seq} assistant: ", text, "", _FOLDED)
        case _:
            return _line(item, _FOLDED)


def _opening(seq: int, answer: ToolAnswered) -> str:
    code = "" if answer.exit_code is None else f" exit {answer.exit_code}"
    state = "" if answer.ok else " FAILED"
    target = shortened(" ".join(answer.target.split()), _CALLS)
    return f"e{seq} tool {answer.name} {target}{code}{state}: "


def shortened(text: str, cap: int) -> str:
    """Head and tail of a text, `cap` characters and a few, as data: no line of it can begin an entry."""
    if len(text) <= cap and len(plain := _plain(text)) <= cap:
        return plain
    head, tail = _plain(text[:cap]), _plain(text[-cap:])
    return f"{head[: cap * 2 // 3]} … {tail[len(tail) - cap // 3 :]}"


def _plain(text: str) -> str:
    return _FURTHER.join(defused(text).splitlines())


def defused(text: str) -> str:
    """The text with look-alikes of our own marks in round brackets."""
    return _MARKS.sub(lambda found: f"({found[1]})" if found[1] else "(", text)
