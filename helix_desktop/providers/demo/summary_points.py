"""Extract the points of a history by the sections of a handover: sentences with their sources.

Nothing is composed but the frame of a sentence: every path, number, decision and result comes from an entry
of the record, and the entry's id stands behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from helix_desktop.context.summaries.conclusions import main_statement, only_announces
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.typed_text import typed_text
from helix_desktop.providers.demo.position import newest_position
from helix_desktop.providers.demo.script import Script
from helix_desktop.providers.demo.summary_input import HistoryLine, SummaryPoint

FIRST_REQUEST = "The user asked first:"
"""The beginning of the point that says what a session is about."""

TEST_RUN, NEWEST_RUN, FAILING = "Test run:", "The newest test run", "Failing test:"
LEFT_TO_USER = "Left to the user:"
_PASSED = "OK."
_REQUEST = "The user asked:"
_BEGINNING = 9  # events up to which a request is a session's first: later records begin in its middle
MAX_POINTS = 8
"""Maximum points per section."""

_PREFERENCE = re.compile(
    r"\b(do not|don't|without|keep|please|always|never|prefer|only|small)\b", re.IGNORECASE
)
_DETAIL = re.compile(r"\d|`")
_TEST_COUNT = re.compile(r"Ran (\d+) tests?")
_VERDICT = re.compile(r"(?m)(?:^|: )(OK|FAILED \([^)\n]*\))\s*$")
_CHANGE = re.compile(r"Edited |Wrote |Lines: ")  # of a file: Completed Work says it
_LEFT = re.compile(r"\b(?:yours to decide|left for you)\b", re.IGNORECASE)
_LEFT_OPENING = re.compile(r"left for you: ", re.IGNORECASE)
_CHANGED = re.compile(r"(Edited|Wrote)(?: [\d,]+ bytes to)? ([^\s:]+)")
_SAID_OF_CHANGE = re.compile(
    r"(Edited [^\s:]+|Wrote [\d,]+ bytes to \S+)(?=[: ])"
    r".*?(?:Lines: \d+(?: (?:->|→) \d+)?|\([^)]*\))[.:] (?!Lines: )(.+)"
)
"""What an answer says of a change, behind the line of the tool."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_MIN_CHARS, _MAX_CHARS = 30, 240  # characters of a bullet's sentence: a longer one is left out, none is cut
_REQUEST_CHARS = 180  # characters of a quoted request: whole sentences, the first in any case
_CONCLUSION_CHARS = 320  # characters of what an answer came to, which may be several sentences
_MAX_TYPED = 1_500  # characters of a message: a longer one was pasted, and its rules are a template's
_MAX_CONCLUSIONS = 3  # newest that stand for work of which no call is known
_CALLS = " -> calls "


def extract_points(
    lines: Sequence[HistoryLine], scripts: Sequence[Script] = (), request: SummaryPoint | None = None
) -> dict[str, list[SummaryPoint]]:
    """Return the points of a history, by section; its place in one of the scripts is one of them.

    The newest request may be one after this history.
    """
    points = {title: write(lines) for title, write in _WRITERS.items()}
    points["TODO Items"] += _newest_request(lines, request)
    points["TODO Items"] += _place(lines, scripts)
    return points


def _background(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    requests = _requests(lines)
    points = [
        SummaryPoint(
            f"{FIRST_REQUEST if line.seq <= _BEGINNING else _REQUEST} {_quoted(line.text)}", (line.seq,)
        )
        for line in requests[:1]
    ]
    for line in _tool_lines(lines, "read_file README"):
        blocks = [" ".join(block.split()) for block in line.text.split("\n\n")[1:]]
        prose = [block for block in blocks if block and block[0].isalnum()]
        points += [SummaryPoint(f"The README says: {_quoted(prose[0])}", (line.seq,))] if prose else []
    for line in _tool_lines(lines, "list_directory"):
        match = re.search(r"\(([\d,]+) entr", line.text)
        points += (
            [SummaryPoint(f"The workspace was listed: {match[1]} entries.", (line.seq,))] if match else []
        )
    return points[:3]


def _requests(lines: Iterable[HistoryLine]) -> list[HistoryLine]:
    """Return what the user said, without commands of the terminal that a message holds."""
    users = (HistoryLine(line.seq, line.role, typed_text(line.text)) for line in lines if line.role == "user")
    return [line for line in users if line.text]


def _details(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    points: list[SummaryPoint] = []
    for line in lines:
        if line.role != "assistant":
            continue
        points += [SummaryPoint(sentence, (line.seq,)) for sentence in _sentences(_answer_text(line))]
    return points


def _sentences(text: str) -> list[str]:
    plain_lines = [_plain(line) for line in text.splitlines()]
    parts = [
        part
        for line in plain_lines
        if not line.startswith("|")
        for part in re.split(r"(?<=[.;])\s+(?=[A-Z`])", line)
    ]
    return [" ".join(part.split()) for part in parts if _is_detail(part)]


def _plain(line: str) -> str:
    """Return a line without the signs of a list and of bold text."""
    return re.sub(r"^[-*\d.]+ |\*\*", "", line).strip()


def _is_detail(sentence: str) -> bool:
    return (
        _MIN_CHARS < len(sentence) <= _MAX_CHARS
        and bool(_DETAIL.search(sentence))
        and not only_announces(sentence)
        and not _CHANGE.search(sentence)
        and not _LEFT.search(sentence)
    )


def _completed(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    reads = [line for line in lines if line.role == "tool" and line.text.startswith("read_file ")]
    points: list[SummaryPoint] = []
    if reads and not any(_is_change(line) for line in lines):
        names = list(dict.fromkeys(line.text.split()[1].rstrip(":") for line in reads))
        rest = f" and {len(names) - 4} more" if len(names) > 4 else ""  # noqa: PLR2004 - names that fit a line
        text = f"Read {len(names)} files: {', '.join(names[:4])}{rest}."
        points.append(SummaryPoint(text, tuple(line.seq for line in reads[:4])))
    changed: dict[str, SummaryPoint] = {}
    for line in lines:
        match = re.search(r"((?:Wrote|Edited) [^\n\"]+)", line.text) if _is_change(line) else None
        if match:
            place = match[1].partition(" Lines: ")[0]
            changed[changed_path(place)] = SummaryPoint(place, (line.seq,))
        elif line.role == "assistant":
            changed.update(_said_of_changes(line))
    passed = [run for run in _runs(lines)[-1:] if _PASSED in run.text]
    done = [*points, *changed.values(), *passed]
    return done or _conclusions(lines)[-_MAX_CONCLUSIONS:]


def _said_of_changes(line: HistoryLine) -> dict[str, SummaryPoint]:
    """Return what an answer says that it changed, by path."""
    said: dict[str, SummaryPoint] = {}
    for text in map(_plain, _answer_text(line).splitlines()):
        match = _SAID_OF_CHANGE.search(text)
        if match and (path := changed_path(match[1])):
            said[path] = SummaryPoint(f"{match[1].split()[0]} {path}: {match[2]}", (line.seq,))
    return said


def changed_path(text: str) -> str:
    """Return the path that a point reports as changed; empty if it reports something else."""
    match = _CHANGED.match(text)
    return match[2] if match else ""


def _conclusions(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    """Return what each message without calls came to."""
    answers = (line for line in lines if line.role == "assistant" and _CALLS not in f" {line.text}")
    statements = ((line, main_statement(line.text, _CONCLUSION_CHARS)) for line in answers)
    return [
        SummaryPoint(" ".join(statement.split()), (line.seq,)) for line, statement in statements if statement
    ]


def _runs(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    points = []
    for line in _tool_lines(lines, "run_command"):
        test_count, verdict = _TEST_COUNT.search(line.text), _VERDICT.search(line.text)
        if verdict:
            count = f"{test_count[1]} tests, " if test_count else ""
            points.append(SummaryPoint(f"{TEST_RUN} {count}{verdict[1]}.", (line.seq,)))
    return points


def _issues(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    points = [
        SummaryPoint(f"Not allowed by the user: {_first_line(line)}", (line.seq,))
        for line in lines
        if _is_denied(line)
    ]
    failed = [line for line in lines if line.role == "tool" and " FAILED: " in line.text.split("\n", 1)[0]]
    points += [
        SummaryPoint(f"Failed: {_first_line(line)}", (line.seq,))
        for line in failed
        if not line.text.startswith("run_command") and not _is_denied(line)
    ]
    points += [SummaryPoint(state, sources) for state, _, sources in _left_to_user(lines) if state]
    runs = _runs(lines)
    if runs and _PASSED not in runs[-1].text:
        failed_run = f"{NEWEST_RUN} fails: {runs[-1].text.removeprefix(TEST_RUN).strip()}"
        points.append(SummaryPoint(failed_run, runs[-1].sources))
        names = {
            name: line.seq
            for line in _tool_lines(lines, "run_command")
            for name in re.findall(r"FAIL: (\w+)", line.text)
        }
        points += [SummaryPoint(f"{FAILING} {name}.", (seq,)) for name, seq in names.items()]
    return points[-MAX_POINTS:]


def _left_to_user(lines: Sequence[HistoryLine]) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return what answers left to the user: how it is now, where they say it, and what is to be done."""
    found: list[tuple[str, str, tuple[int, ...]]] = []
    for line in lines:
        for text in _answer_text(line).splitlines() if line.role == "assistant" else ():
            if not _LEFT.search(text):
                continue
            plain = _LEFT_OPENING.sub("", _plain(text)).removeprefix("Note: ")
            sentences = [part for part in _SENTENCE_END.split(plain) if not _LEFT.search(part)]
            state, _, action = " ".join(sentences).rpartition("; ")
            if action:
                found.append((f"{state[:1].upper()}{state[1:]}." if state else "", action, (line.seq,)))
    return found


def _todo(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    """Return what an answer left to the user."""
    return [SummaryPoint(f"{LEFT_TO_USER} {action}", sources) for _, action, sources in _left_to_user(lines)]


def _newest_request(lines: Sequence[HistoryLine], request: SummaryPoint | None) -> list[SummaryPoint]:
    if request is not None:
        return [SummaryPoint(f"Newest request: {_quoted(request.text)}", request.sources)]
    return [
        SummaryPoint(f"Newest request in this record: {_quoted(line.text)}", (line.seq,))
        for line in _requests(lines)[-1:]
    ]


def _place(lines: Sequence[HistoryLine], scripts: Sequence[Script]) -> list[SummaryPoint]:
    for line in reversed(lines):
        position = newest_position([_answer_text(line)], scripts) if line.role == "assistant" else None
        if position is not None:
            return [SummaryPoint(position.place, (line.seq,))]
    return []


def _answer_text(line: HistoryLine) -> str:
    return f" {line.text}".partition(_CALLS)[0].lstrip()  # a line may have calls only


def _preferences(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    typed = (line for line in _requests(lines) if len(line.text) <= _MAX_TYPED)
    return [
        SummaryPoint(f"The user wants: {_as_sentence(_quoted(part.removeprefix('but ')))}", (line.seq,))
        for line in typed
        for part in re.split(r"(?<=[.!?,])\s+", line.text)
        if _PREFERENCE.search(part) and " " in part and not part.endswith("?")
    ]


_WRITERS: dict[str, Callable[[Sequence[HistoryLine]], list[SummaryPoint]]] = {
    "Project Background": _background,
    "Technical Details": _details,
    "Completed Work": _completed,
    "Current Issues": _issues,
    "TODO Items": _todo,
    "User Preferences": _preferences,
}


def _tool_lines(lines: Iterable[HistoryLine], start: str) -> list[HistoryLine]:
    return [line for line in lines if line.role == "tool" and line.text.startswith(start)]


def _is_change(line: HistoryLine) -> bool:
    return line.role == "tool" and line.text.startswith(("write_file ", "edit_file "))


def _is_denied(line: HistoryLine) -> bool:
    return line.role == "tool" and "The user did not allow this call" in line.text


def _first_line(line: HistoryLine) -> str:
    return _quoted(line.text.split("\n", 1)[0])


def _as_sentence(part: str) -> str:
    """Return a part of a sentence with a capital letter and without the comma at its end."""
    return part[:1].upper() + (f"{part[1:-1]}." if part.endswith(",") else part[1:])


def _quoted(text: str) -> str:
    """Return the first sentences of a text; only a first one that is too long is cut."""
    first, *others = _SENTENCE_END.split(" ".join(text.split()))
    quoted = ellipsize(first, _REQUEST_CHARS)
    for sentence in others:
        if len(quoted) + len(sentence) >= _REQUEST_CHARS:
            break
        quoted = f"{quoted} {sentence}"
    return quoted
