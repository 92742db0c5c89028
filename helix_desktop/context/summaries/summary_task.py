"""Summary tasks: what a model writes from messages as transcript lines, and how many summaries failed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from itertools import accumulate

import msgspec

from helix_desktop.context.intake.descriptions import defined_names
from helix_desktop.context.log.file_notes import revert_lines
from helix_desktop.context.log.message_log import user_decision
from helix_desktop.context.log.window_layout import Cover, LogItem, ended_observations
from helix_desktop.context.summaries.artifact_ledger import (
    described_result,
    error_line,
)
from helix_desktop.context.summaries.handover import render_handover
from helix_desktop.context.summaries.sections import TITLES, name_sections
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.summary import HandoverMade, Observation, ObservationsMade
from helix_desktop.domain.failed_tests import lines_on_tests
from helix_desktop.domain.files.file_use import file_use, is_todo_tool, tool_kind
from helix_desktop.domain.identifiers import argument_text
from helix_desktop.domain.messages import Message, ModelRequest, ToolCall
from helix_desktop.domain.text_format import utc_day
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.typed_text import program_texts, typed_text

_text = TextContext("Context")

FULL_CHARS = 6_000  # characters shown of a message that stands in the window as it came
_CACHED = 600  # the same of one whose output is a marker there
_FOLDED = 600  # the same of one in a note
_SMALL = 1_500  # characters of an output that is shown whole, a marker or not: each line may be a result
_CONCLUSION = 3_000  # the same of one in a note with which the agent ended a turn
_CALLS = 300  # characters of a call's arguments, and of an output's target
_TEST_LINE = 120  # characters of a line about tests that stands between head and tail
_NEW_NAMES = 600  # characters of the names that a change of a file defines
_FURTHER = "\n| "  # begins each further line of a message, so that none can pass for a message of its own
_WORD_END = re.compile(r"(?<=\s)\S{1,40}\Z")
"""A word at the end of a part, which may be half of one; nothing longer is a word."""
_WORD_START = re.compile(r"\A\S{1,40}\s")
"""The same at the beginning of a part."""
_MARKS = re.compile(
    r"\[(write a handover|write observations|refine observations|conversation history summary|observations"
    r"|folded steps|summary of older (?:steps|messages)|cached)\]"
    r"|\[(?=pinned output, for reference|recalled from the cache|attached (?:file|pdf) "
    r"|pasted text, |image(?: left out)?: |image in the answer)",
    re.IGNORECASE,
)


class TranscriptLine(msgspec.Struct, frozen=True):
    """A line of the transcript: its start, the message's body, and its end.

    At most `max_chars` characters of the body are shown: head and tail.
    """

    start: str
    body: str
    end: str = ""
    max_chars: int = FULL_CHARS

    @property
    def text(self) -> str:
        return f"{self.start}{truncate_middle(self.body, self.max_chars)}{self.end}"


def transcript_lines(
    items: Iterable[LogItem], covers: Sequence[Cover] = (), swept: Set[int] = frozenset()
) -> tuple[TranscriptLine, ...]:
    """Return the transcript lines of these messages.

    Observed messages are represented by their active observations that are not over, and the user's own
    messages. Folded steps are shown in part; so are outputs that are markers in the window, or recalled: what
    they were recalled for is in the agent's words.
    """
    ended = ended_observations(cover.event for cover in covers if isinstance(cover.event, ObservationsMade))
    lines: list[TranscriptLine] = []
    listed_covers: set[int] = set()
    for item in items:
        cover = next((cover for cover in covers if cover.after < item.seq <= cover.upto), None)
        if cover is None or not isinstance(cover.event, ObservationsMade | FoldMade):
            lines.append(_item_line(item, _shown_chars(item, swept)))
        elif isinstance(cover.event, FoldMade):
            lines.append(_folded_line(item))
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


def _shown_chars(item: LogItem, swept: Set[int]) -> int:
    output = item.event if isinstance(item.event, ToolAnswered) else None
    if output is not None and len(output.text) <= _SMALL:
        return _SMALL
    return _CACHED if item.seq in swept or (output is not None and output.recalled) else FULL_CHARS


def brief_lines(items: Iterable[LogItem]) -> tuple[TranscriptLine, ...]:
    """Return these messages as lines that say what was done, not what the outputs hold."""
    return tuple(map(_folded_line, items))


def short_lines(items: Iterable[LogItem]) -> tuple[TranscriptLine, ...]:
    """Return these messages in their short form: words verbatim, calls in one line each, results in part."""
    return tuple(map(_short_line, items))


def observation_line(observation: Observation) -> TranscriptLine:
    """Return an observation as a line: priority, date, text, sources."""
    cited = f" [{', '.join(f'e{seq}' for seq in observation.sources)}]" if observation.sources else ""
    return TranscriptLine(
        f"observed ({observation.priority}) {utc_day(observation.at)}: ", observation.text, cited
    )


def _item_line(item: LogItem, max_chars: int) -> TranscriptLine:
    match item.event:
        case UserSpoke(text=text, attachments=attachments, note=note):
            words = typed_text(text)
            programs = program_texts(text)
            by = "user:" if words or not programs else "program, not the user:"
            before = " ".join([f"e{item.seq} {by}", *map(escape_markers, revert_lines(note)), ""])
            attached = "".join(
                f" ({'recalled' if each.kind == 'cached' else 'attached'}: {' '.join(each.label.split())})"
                for each in attachments
            )
            said = "; ".join(program.line for program in programs)
            if programs and words:
                attached += f" (put in by a program, not by the user: {said})"
            body = text
            if programs:
                body = words or said
            return TranscriptLine(before, body, escape_markers(attached), max_chars)
        case AssistantSpoke(text=text, calls=calls):
            call_text = "; ".join(map(_call_text, calls))
            return TranscriptLine(
                f"e{item.seq} assistant: ", text, f" -> calls {call_text}" if call_text else "", max_chars
            )
        case ToolAnswered() as output if decision := user_decision(output):
            by = "user" if output.outcome == "denied" else "user, asked by the agent"
            return TranscriptLine(f"e{item.seq} {by}: ", decision, "", FULL_CHARS)
        case ToolAnswered() as output:
            return TranscriptLine(_output_opening(item.seq, output), output.text, "", max_chars)


def _folded_line(item: LogItem) -> TranscriptLine:
    """Return what a note says of a message."""
    match item.event:
        case ToolAnswered() as output if user_decision(output):
            return _item_line(item, FULL_CHARS)
        case ToolAnswered() as output:
            described = described_result(output.about, output.exit_code)
            body = described if output.about else output.first_line
            if is_todo_tool(output.name) and output.ok:
                body = output.text  # what is still to be done, in the list's own words
            elif not output.ok and (error := error_line(output.text)) not in body:
                body = f"{body}\n{error}"
            return TranscriptLine(_output_opening(item.seq, output), body)
        case AssistantSpoke(text=text, calls=calls):
            end, max_chars = (f" -> calls {_brief_calls(calls)}", _FOLDED) if calls else ("", _CONCLUSION)
            return TranscriptLine(f"e{item.seq} assistant: ", text, end, max_chars)
        case _:
            return _item_line(item, _FOLDED)


def _short_line(item: LogItem) -> TranscriptLine:
    """Return what the short form says of a message: of a larger file that was read, what it defines."""
    line = msgspec.structs.replace(_folded_line(item), max_chars=FULL_CHARS)
    output = item.event
    if not isinstance(output, ToolAnswered) or user_decision(output) or is_todo_tool(output.name):
        return line
    if len(output.text) <= _CACHED:
        return TranscriptLine(line.start, output.text)
    if tool_kind(output.name) in ("command", "search", "other"):
        return TranscriptLine(f"{line.start}{_as_data(line.body)}{_FURTHER}", output.text, "", _CACHED)
    return line


def _call_text(call: ToolCall) -> str:
    """Return a call with its arguments, of long ones head and tail, and the names that these do not show."""
    is_small = len(call.arguments) <= _SMALL
    shown = truncate_middle(call.arguments, _SMALL if is_small else _CALLS)
    hidden = _new_names([name for name in _names_defined_by(call) if name not in shown])
    return f"{call.name} {shown}{hidden}"


def _brief_calls(calls: Iterable[ToolCall]) -> str:
    """Return the tools of calls, each once, with the names that they defined in files."""
    names: dict[str, list[str]] = {}
    for call in calls:
        names.setdefault(call.name, []).extend(_names_defined_by(call))
    return ", ".join(f"{tool}{_new_names(new)}" for tool, new in names.items())


def _names_defined_by(call: ToolCall) -> list[str]:
    """Return what a call adds to a file, such as tests: nothing else in the record may name it."""
    use = file_use(call)
    if use is None or use.action == "read":
        return []
    known = defined_names("\n".join(use.old_texts))
    added = "\n".join(use.new_texts) or argument_text(call.arguments)
    return [name for name in defined_names(added) if name not in known]


def _new_names(names: Sequence[str]) -> str:
    return f" (defines {truncate_middle(', '.join(dict.fromkeys(names)), _NEW_NAMES)})" if names else ""


def _output_opening(seq: int, output: ToolAnswered) -> str:
    code = "" if output.exit_code is None else f" exit {output.exit_code}"
    state = "" if output.ok else " FAILED"
    target = truncate_middle(" ".join(output.target.split()), _CALLS)
    return f"e{seq} tool {output.name} {target}{code}{state}: "


def truncate_middle(text: str, cap: int) -> str:
    """Return head and tail of a text in about `cap` characters, as data: no line of it can begin an entry.

    Both are cut between words. They stand on one line only if they are of one: two items of a list would
    read as one statement. Lines between them that say how tests went stay.
    """
    if len(text) <= cap and len(plain := _as_data(text)) <= cap:
        return plain
    head, gap, tail = _head_and_tail(text, cap)
    on_tests = [escape_markers(line.strip())[:_TEST_LINE] for line in lines_on_tests(text)]
    if any(line not in head and line not in tail for line in on_tests):
        ends = accumulate(len(line) + len(f"…{_FURTHER}") for line in on_tests)
        shown = {line: end for line, end in zip(on_tests, ends, strict=True) if end <= cap * 2 // 3}
        head, gap, tail = _head_and_tail(text, cap - max(shown.values(), default=0))
        between = [line for line in shown if line not in head and line not in tail]
        between = [line if len(line) < _TEST_LINE else f"{line}…" for line in between]
        gap = _FURTHER.join(["…", *between, "…"]) if between else gap
    return f"{head} {gap} {tail}"


def _head_and_tail(text: str, cap: int) -> tuple[str, str, str]:
    """Return the head of a text, what stands for the rest, and the tail, in about `cap` characters."""
    between = text[cap:-cap] if len(text) > 2 * cap else ""
    joint = "\n" if "\n" in between else ""
    data = _as_data(f"{text[:cap]}{joint}{text[-cap:]}" if between else text)
    start = cap * 2 // 3
    end = len(data) - cap // 3
    gap = f"…{_FURTHER}…" if "\n" in data[start:end] else "…"
    head = _WORD_END.sub("", data[:start]).removesuffix("|").removesuffix("\n")  # of a line that is cut
    return head, gap, _WORD_START.sub("", data[end:])


def _as_data(text: str) -> str:
    return _FURTHER.join(escape_markers(text).splitlines())


def escape_markers(text: str) -> str:
    """Return the text with look-alikes of our own marks in round brackets."""
    return _MARKS.sub(lambda match: f"({match[1]})" if match[1] else "(", text)


OPENING = "[Write a handover]"
_RECORD = "The messages to hand over:"
_CITING = "Below each stand bullets that end with the entries they come from, as [e12, e14]."
_FOLLOWING = "What came after, and stays beside your text:"
FOLLOWING_MESSAGES = 40  # newest messages after those of a task that are shown, in brief
_FOLLOWING_CHARS = 240
MERGE_TITLE = "The handovers of the parts of a long record, oldest first, to be merged into one:"
_PART_CHARS = 4 * FULL_CHARS  # characters shown of the text of a part
_CAPS = (_PART_CHARS, FULL_CHARS, 3_000, 1_500, 800, 400, 200, 120)  # characters of a message, in this order
_MAX_PARTS = 12  # a longer record is shortened first, so that the number of calls stays bounded


class SummaryTask(msgspec.Struct, frozen=True):
    """A task for a model: what to write, and from what.

    `opening` is the mark that identifies the request, `instructions` are in every part of it, `previous` only
    where all lines are seen. `merge_title` begins the merging of parts; if empty they are joined. `form` says
    in a sentence what the answer looks like. The `correction` ends the request: why an answer was not used.
    """

    prompt: str
    opening: str
    title: str
    lines: tuple[TranscriptLine, ...]
    instructions: tuple[str, ...] = ()
    previous: tuple[str, ...] = ()
    merge_title: str = ""
    form: str = ""
    correction: str = ""

    def corrected(self, why: str) -> SummaryTask:
        """Return the task to write it again: the last answer was not used, for this reason."""
        correction = f"[Your last answer could not be used. {why} Write the whole answer again. {self.form}]"
        return msgspec.structs.replace(self, correction=correction)

    @property
    def header(self) -> tuple[str, ...]:
        """Return the lines before the transcript."""
        return (self.opening, *self.instructions, *self.previous, self.title)

    @property
    def fixed_chars(self) -> int:
        header_chars = sum(len(line) + 1 for line in self.header)
        return len(self.prompt) + header_chars + len(self.correction) + 1


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
    system = name_sections(prompt)
    headings = ", ".join(f"## {title}" for title in TITLES)
    return SummaryTask(
        system,
        OPENING,
        _RECORD,
        lines,
        instructions=tuple(instructions),
        previous=previous_lines,
        merge_title=MERGE_TITLE,
        form=f"It has these headings, each on a line of its own: {headings}. {_CITING}",
    )


def following_lines(lines: Sequence[TranscriptLine]) -> tuple[str, ...]:
    """Return the newest of the messages after those of a task, in brief, under a title; empty if none."""
    newest = [
        msgspec.structs.replace(line, max_chars=min(line.max_chars, _FOLLOWING_CHARS))
        for line in lines[-FOLLOWING_MESSAGES:]
    ]
    return (_FOLLOWING, *(f"later {line.text}" for line in newest)) if newest else ()


def full_request(task: SummaryTask) -> ModelRequest:
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
    alone = msgspec.structs.replace(task, previous=(), correction="")
    max_part_chars = max_chars - alone.fixed_chars
    if max_part_chars < _CAPS[-1]:
        return []
    parts: list[list[TranscriptLine]] = [[]]
    used = 0
    for line in _shorten_lines(task.lines, max_part_chars * _MAX_PARTS):
        shortened = msgspec.structs.replace(
            line, max_chars=min(line.max_chars, max(1, max_part_chars - len(line.start) - len(line.end) - 4))
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
    lines = tuple(
        TranscriptLine(f"part {n}: ", text, max_chars=_PART_CHARS) for n, text in enumerate(texts, 1)
    )
    return msgspec.structs.replace(task, title=task.merge_title, lines=lines)


def _build_request(task: SummaryTask, texts: Sequence[str]) -> ModelRequest:
    parts = [*task.header, *texts]
    if task.correction:
        parts.append(task.correction)
    return ModelRequest((Message("system", task.prompt), Message("user", "\n".join(parts))))


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
    front = 0
    back = len(lines) - 1
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
