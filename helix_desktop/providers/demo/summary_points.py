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
_MIN_CHARS, _MAX_CHARS = 30, 150  # characters of a bullet's sentence
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
            f"{FIRST_REQUEST if line.seq <= _BEGINNING else _REQUEST} {_shorten(line.text)}", (line.seq,)
        )
        for line in requests[:1]
    ]
    for line in _tool_lines(lines, "read_file README"):
        blocks = [" ".join(block.split()) for block in line.text.split("\n\n")[1:]]
        prose = [block for block in blocks if block and block[0].isalnum()]
        points += [SummaryPoint(f"The README says: {_shorten(prose[0])}", (line.seq,))] if prose else []
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
        for part in re.split(r"(?<=[.;])\s+(?=[A-Z])", line)
    ]
    return [_shorten(part) for part in parts if _is_detail(part)]


def _plain(line: str) -> str:
    """Return a line without the signs of a list and of bold text."""
    return re.sub(r"^[-*\d.]+ |\*\*", "", line).strip()


def _is_detail(sentence: str) -> bool:
    return (
        len(sentence) > _MIN_CHARS
        and bool(_DETAIL.search(sentence))
        and not only_announces(sentence)
        and not _CHANGE.match(sentence)
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
            changed[line.text.split()[1]] = SummaryPoint(_shorten(match[1]), (line.seq,))
    done = [*points, *changed.values(), *_runs(lines)[-1:]]
    return done or _conclusions(lines)[-_MAX_CONCLUSIONS:]


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
            points.append(SummaryPoint(f"Test run: {count}{verdict[1]}.", (line.seq,)))
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
    runs = _runs(lines)
    if runs:
        verb = "The newest test run passed" if "OK." in runs[-1].text else "The newest test run fails"
        points.append(SummaryPoint(f"{verb}. {runs[-1].text}", runs[-1].sources))
    names = {
        name: line.seq
        for line in _tool_lines(lines, "run_command")
        for name in re.findall(r"FAIL: (\w+)", line.text)
    }
    if runs and "OK." not in runs[-1].text:
        points += [SummaryPoint(f"Failing test: {name}.", (seq,)) for name, seq in names.items()]
    return points[-MAX_POINTS:]


def _todo(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    """Return what an answer left to the user."""
    return [
        SummaryPoint(f"Left to the user: {_shorten(plain)}", (line.seq,))
        for line in lines
        if line.role == "assistant"
        for text in _answer_text(line).splitlines()
        if _LEFT.search(text) and (plain := _plain(text).removeprefix("Note: "))
    ]


def _newest_request(lines: Sequence[HistoryLine], request: SummaryPoint | None) -> list[SummaryPoint]:
    if request is not None:
        return [SummaryPoint(f"Newest request: {_shorten(request.text)}", request.sources)]
    return [
        SummaryPoint(f"Newest request in this record: {_shorten(line.text)}", (line.seq,))
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
        SummaryPoint(f"The user wants: {_as_sentence(_shorten(part.removeprefix('but ')))}", (line.seq,))
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
    return _shorten(line.text.split("\n", 1)[0])


def _as_sentence(part: str) -> str:
    """Return a part of a sentence with a capital letter and without the comma at its end."""
    return part[:1].upper() + (f"{part[1:-1]}." if part.endswith(",") else part[1:])


def _shorten(text: str) -> str:
    return ellipsize(" ".join(text.split()), _MAX_CHARS)
