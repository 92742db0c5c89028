"""Transcript lines: messages as data, the form in which a model reads what it summarizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set

import msgspec

from helix_desktop.context.intake.descriptions import describe_edits
from helix_desktop.context.log.message_log import user_decision
from helix_desktop.context.log.notes import revert_lines
from helix_desktop.context.log.rewrite_state import ended_observations
from helix_desktop.context.log.window_layout import Cover, LogItem
from helix_desktop.context.summaries.informative_lines import (
    UNCACHED,
    OutputExtracts,
    described_result,
    error_line,
    failure_lines,
    last_informative_line,
    reports_failure,
    shorten_output,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, Attachment, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.summary import Observation, ObservationsMade
from helix_desktop.domain.files.file_use import is_todo_tool
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.text_format import ellipsize, utc_day
from helix_desktop.domain.tool_call_target import tool_kind

FULL_CHARS = 6_000  # characters shown of a message that stands in the window as it came
_CACHED, _FOLDED = 600, 600  # the same of one whose output is a marker there, and of one in a note
_CONCLUSION = 1_500  # the same of one in a note with which the agent ended a turn
_OF_SOURCE = 300  # of source that was read, in a note: its constants and limits
_CALLS = 300  # characters of a call's arguments, and of an output's target
_EDITS = 180  # characters of the first new lines of a call's edits
_INFORMATIVE_CAP = 120  # characters of an output's informative line in a note
_FURTHER = "\n| "  # begins each further line of a message, so that none can pass for a message of its own
_WORD_END, _WORD_START = re.compile(r"(?<=\s)\S{1,40}\Z"), re.compile(r"\A\S{1,40}\s")
"""A word at the end or the beginning of a part, which may be half of one; nothing longer is a word."""
_MARKS = re.compile(
    r"\[(write a handover|write observations|refine observations|conversation history summary|observations"
    r"|folded steps|cached)\]|\[(?=pinned output, for reference|recalled from the cache"
    r"|attached (?:file|pdf) |pasted text, |image(?: left out)?: |image in the answer)",
    re.IGNORECASE,
)


class TranscriptLine(msgspec.Struct, frozen=True):
    """A line of the transcript: its start, the message's body, and its end.

    At most `max_chars` characters of the body are shown: head and tail, of an output also the lines between
    that carry facts.
    """

    start: str
    body: str
    end: str = ""
    max_chars: int = FULL_CHARS
    is_output: bool = False
    shorten: Callable[[str, int], str] = shorten_output

    @property
    def text(self) -> str:
        """Return the line as text."""
        if not self.is_output:
            return f"{self.start}{truncate_middle(self.body, self.max_chars)}{self.end}"
        body = self.shorten(self.body, self.max_chars)  # the signs before its further lines come on top
        return f"{self.start}{truncate_middle(body, self.max_chars * 3 // 2)}{self.end}"


def transcript_lines(
    items: Iterable[LogItem],
    covers: Sequence[Cover] = (),
    masked: Set[int] = frozenset(),
    extracts: OutputExtracts = UNCACHED,
) -> tuple[TranscriptLine, ...]:
    """Return the transcript lines of these messages.

    Observed messages are represented by their active observations that are not over, and the user's own
    messages. Folded steps and outputs that are markers in the window are shown in part.
    """
    ended = ended_observations(cover.event for cover in covers if isinstance(cover.event, ObservationsMade))
    lines: list[TranscriptLine] = []
    listed_covers: set[int] = set()
    for item in items:
        cover = next((cover for cover in covers if cover.after < item.seq <= cover.upto), None)
        if cover is None or not isinstance(cover.event, ObservationsMade | FoldMade):
            lines.append(_item_line(item, _CACHED if item.seq in masked else FULL_CHARS, extracts))
        elif isinstance(cover.event, FoldMade):
            lines.append(_folded_line(item, _OF_SOURCE, extracts))
        else:
            if cover.seq not in listed_covers:
                listed_covers.add(cover.seq)
                holding = (fact for fact in cover.event.observations if fact not in ended)
                lines += [observation_line(fact) for fact in holding]
            if isinstance(item.event, UserSpoke) or (
                isinstance(item.event, ToolAnswered) and user_decision(item.event)
            ):
                lines.append(_item_line(item, _FOLDED))
    return tuple(lines)


def brief_lines(items: Iterable[LogItem]) -> tuple[TranscriptLine, ...]:
    """Return these messages as lines that say what was done, not what the outputs hold."""
    return tuple(map(_folded_line, items))


def short_lines(items: Iterable[LogItem]) -> tuple[TranscriptLine, ...]:
    """Return these messages in their short form: words verbatim, calls and results in one line each."""
    return tuple(map(_short_line, items))


def _short_line(item: LogItem) -> TranscriptLine:
    match item.event:
        case UserSpoke():
            return _item_line(item, FULL_CHARS)
        case _:
            return msgspec.structs.replace(_folded_line(item), max_chars=FULL_CHARS)


def observation_line(observation: Observation) -> TranscriptLine:
    """Return an observation as a line: priority, date, text, sources."""
    cited = f" [{', '.join(f'e{seq}' for seq in observation.sources)}]" if observation.sources else ""
    return TranscriptLine(
        f"observed ({observation.priority}) {utc_day(observation.at)}: ", observation.text, cited
    )


def _item_line(item: LogItem, max_chars: int, extracts: OutputExtracts = UNCACHED) -> TranscriptLine:
    match item.event:
        case UserSpoke(text=text, attachments=attachments, note=note):
            along = "".join(map(_attached, attachments)) + "".join(f" {line}" for line in revert_lines(note))
            return TranscriptLine(f"e{item.seq} user: ", text, escape_markers(along), max_chars)
        case AssistantSpoke(text=text, calls=calls):
            call_text = "; ".join(f"{call.name} {truncate_middle(call.arguments, _CALLS)}" for call in calls)
            return TranscriptLine(
                f"e{item.seq} assistant: ", text, f" -> calls {call_text}" if call_text else "", max_chars
            )
        case ToolAnswered() as output if decision := user_decision(output):
            return TranscriptLine(f"e{item.seq} user, asked by the agent: ", decision, "", FULL_CHARS)
        case ToolAnswered() as output:
            opening, body = _output_opening(item.seq, output), extracts.shorten(output.text, max_chars)
            return TranscriptLine(opening, body, "", max_chars, is_output=True, shorten=extracts.shorten)


def _attached(attachment: Attachment) -> str:
    verb = "recalled" if attachment.kind == "cached" else "attached"
    return f" ({verb}: {' '.join(attachment.label.split())})"


def _folded_line(item: LogItem, of_source: int = 0, extracts: OutputExtracts = UNCACHED) -> TranscriptLine:
    """Return what a note says of a message; of source that was read `of_source` characters of facts, too."""
    match item.event:
        case ToolAnswered() as output if user_decision(output):
            return _item_line(item, FULL_CHARS)
        case ToolAnswered() as output:
            described = described_result(output.about, output.exit_code)
            body = described if output.about else _first_and_informative_line(output)
            if of_source and tool_kind(output.name) == "read":
                body = "\n".join(filter(None, (body, extracts.source_lines(output.text, of_source))))
            elif tool_kind(output.name) == "command" and _says_failure(output, body):
                body = "\n".join([body, *(line for line in failure_lines(output.text) if line not in body)])
            elif is_todo_tool(output.name) and output.ok:
                body = output.text  # what is still to be done, in the list's own words
            return TranscriptLine(_output_opening(item.seq, output), body)
        case AssistantSpoke(text=text, calls=calls):
            names = ", ".join(dict.fromkeys(map(_call_with_edits, calls)))
            end, max_chars = (f" -> calls {names}", _FOLDED) if calls else ("", _CONCLUSION)
            return TranscriptLine(f"e{item.seq} assistant: ", text, end, max_chars)
        case _:
            return _item_line(item, _FOLDED)


def _says_failure(output: ToolAnswered, body: str) -> bool:
    """Return True for a command that failed, or that says of tests that some did, whatever its exit code."""
    return not output.ok or bool(output.exit_code) or reports_failure(body)


def _call_with_edits(call: ToolCall) -> str:
    """Return the name of a call, of one that edits files with the first new lines of some edits."""
    edits = describe_edits(call.arguments)
    return f"{call.name} ({escape_markers(ellipsize(edits, _EDITS))})" if edits else call.name


def _first_and_informative_line(output: ToolAnswered) -> str:
    informative = error_line(output.text) if not output.ok else last_informative_line(output.text)
    return (
        output.first_line
        if informative[:_INFORMATIVE_CAP] in output.first_line
        else f"{output.first_line} … {informative[:_INFORMATIVE_CAP]}"
    )


def _output_opening(seq: int, output: ToolAnswered) -> str:
    code = "" if output.exit_code is None else f" exit {output.exit_code}"
    state = "" if output.ok else " FAILED"
    target = truncate_middle(" ".join(output.target.split()), _CALLS)
    return f"e{seq} tool {output.name} {target}{code}{state}: "


def truncate_middle(text: str, cap: int) -> str:
    """Return head and tail of a text in about `cap` characters, as data: no line of it can begin an entry.

    Both are cut between words. They stand on one line only if they are of one: two items of a list would
    read as one statement.
    """
    if len(text) <= cap and len(plain := _as_data(text)) <= cap:
        return plain
    between = text[cap:-cap] if len(text) > 2 * cap else ""
    joint = "\n" if "\n" in between else ""
    data = _as_data(f"{text[:cap]}{joint}{text[-cap:]}" if between else text)
    start, end = cap * 2 // 3, len(data) - cap // 3
    gap = f"…{_FURTHER}…" if "\n" in data[start:end] else "…"
    return f"{_WORD_END.sub('', data[:start])} {gap} {_WORD_START.sub('', data[end:])}"


def _as_data(text: str) -> str:
    return _FURTHER.join(escape_markers(text).splitlines())


def escape_markers(text: str) -> str:
    """Return the text with look-alikes of our own marks in round brackets."""
    return _MARKS.sub(lambda match: f"({match[1]})" if match[1] else "(", text)
