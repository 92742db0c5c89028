"""The record: messages as data lines, the form in which a model reads what it is to summarise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from datetime import UTC, datetime

import msgspec

from helix_desktop.context.log.window_layout import Cover, LogItem
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import Observation, ObservationsMade

FULL_CHARS = 6_000  # characters shown of a message that stands in the window as it came
_CACHED, _FOLDED = 600, 600  # the same of one whose output is a marker there, and of one in a note
_CALLS = 300
_FURTHER = "\n| "  # begins each further line of a message, so that none can pass for a message of its own
_MARKS = re.compile(
    r"\[(write a handover|write observations|refine observations|conversation history summary|observations"
    r"|folded steps|cached)\]|\[(?=pinned output, for reference|recalled from the cache|image(?: left out)?: "
    r"|image in the answer)",
    re.IGNORECASE,
)


class TranscriptLine(msgspec.Struct, frozen=True):
    """One entry of the record: how it begins, what was said, what follows.

    Shown are at most `most` characters of what was said, head and tail.
    """

    start: str
    body: str
    end: str = ""
    max_chars: int = FULL_CHARS

    @property
    def text(self) -> str:
        """The entry as it stands in the record."""
        return f"{self.start}{truncate_middle(self.body, self.max_chars)}{self.end}"


def transcript_lines(
    items: Iterable[LogItem], covers: Sequence[Cover] = (), masked: Set[int] = frozenset()
) -> tuple[TranscriptLine, ...]:
    """The record of these messages.

    What observations in force stand for is told by them and by the person's own words. Little is shown of
    folded steps and of outputs that are markers in the window.
    """
    lines: list[TranscriptLine] = []
    told: set[int] = set()
    for item in items:
        cover = next((one for one in covers if one.after < item.seq <= one.upto), None)
        if cover is None or not isinstance(cover.event, ObservationsMade | FoldMade):
            lines.append(_item_line(item, _CACHED if item.seq in masked else FULL_CHARS))
        elif isinstance(cover.event, FoldMade):
            lines.append(_folded_line(item))
        else:
            if cover.seq not in told:
                told.add(cover.seq)
                lines += [observation_line(one) for one in cover.event.observations]
            if isinstance(item.event, UserSpoke):
                lines.append(_item_line(item, _FOLDED))
    return tuple(lines)


def observation_line(observation: Observation) -> TranscriptLine:
    """An observation as an entry: priority, date, text, sources."""
    cited = f" [{', '.join(f'e{seq}' for seq in observation.sources)}]" if observation.sources else ""
    return TranscriptLine(
        f"observed ({observation.priority}) {utc_day(observation.at)}: ", observation.text, cited
    )


def utc_day(at_ms: int) -> str:
    """The UTC date of a time in milliseconds since 1970."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")


def _item_line(item: LogItem, max_chars: int) -> TranscriptLine:
    match item.event:
        case UserSpoke(text=text, attachments=attachments):
            recalled = "".join(f" (recalled: {' '.join(one.label.split())})" for one in attachments)
            return TranscriptLine(f"e{item.seq} user: ", text, escape_markers(recalled), max_chars)
        case AssistantSpoke(text=text, calls=calls):
            made = "; ".join(f"{call.name} {truncate_middle(call.arguments, _CALLS)}" for call in calls)
            return TranscriptLine(
                f"e{item.seq} assistant: ", text, f" -> calls {made}" if made else "", max_chars
            )
        case ToolAnswered() as answer:
            return TranscriptLine(_output_opening(item.seq, answer), answer.text, "", max_chars)


def _folded_line(item: LogItem) -> TranscriptLine:
    match item.event:
        case ToolAnswered() as answer:
            return TranscriptLine(_output_opening(item.seq, answer), answer.first_line)
        case AssistantSpoke(text=text):
            return TranscriptLine(f"e{item.seq} assistant: ", text, "", _FOLDED)
        case _:
            return _item_line(item, _FOLDED)


def _output_opening(seq: int, answer: ToolAnswered) -> str:
    code = "" if answer.exit_code is None else f" exit {answer.exit_code}"
    state = "" if answer.ok else " FAILED"
    target = truncate_middle(" ".join(answer.target.split()), _CALLS)
    return f"e{seq} tool {answer.name} {target}{code}{state}: "


def truncate_middle(text: str, cap: int) -> str:
    """Head and tail of a text, `cap` characters and a few, as data: no line of it can begin an entry."""
    if len(text) <= cap and len(plain := _as_data(text)) <= cap:
        return plain
    head, tail = _as_data(text[:cap]), _as_data(text[-cap:])
    return f"{head[: cap * 2 // 3]} … {tail[len(tail) - cap // 3 :]}"


def _as_data(text: str) -> str:
    return _FURTHER.join(escape_markers(text).splitlines())


def escape_markers(text: str) -> str:
    """The text with look-alikes of our own marks in round brackets."""
    return _MARKS.sub(lambda found: f"({found[1]})" if found[1] else "(", text)
