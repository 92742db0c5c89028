"""What a record says, by the sections of a handover: sentences with the entries they come from.

Nothing is composed but the frame of a sentence: every path, number, decision and result comes from an entry
of the record, and the entry's id stands behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from helix_desktop.providers.demo.summary_input import Line, Point

FIRST_REQUEST = "The user asked first:"
"""Begins the point that says what a session is about."""

MAX_POINTS = 8
"""Points that a section has."""

_NOTE = re.compile(r"_?\(demo: (?:task (\d+), step (\d+) of (\d+)|looking around)[^)]*\)_?")
_PREFERENCE = re.compile(
    r"\b(do not|don't|without|keep|please|always|never|prefer|only|small)\b", re.IGNORECASE
)
_DETAIL = re.compile(r"\d|`")
_TEST_COUNT = re.compile(r"Ran (\d+) tests?")
_VERDICT = re.compile(r"(?m)^(OK|FAILED \([^)\n]*\))\s*$")
_MAX_CHARS = 150  # characters of a bullet's sentence


def extract_points(lines: Sequence[Line]) -> dict[str, list[Point]]:
    """What the record says, by section."""
    return {title: write(lines) for title, write in _WRITERS.items()}


def _background(lines: Sequence[Line]) -> list[Point]:
    asked = [line for line in lines if line.role == "user"]
    points = [Point(f"{FIRST_REQUEST} {_shorten(line.text)}", (line.seq,)) for line in asked[:1]]
    for line in _tool_lines(lines, "read_file README"):
        blocks = [" ".join(block.split()) for block in line.text.split("\n\n")[1:]]
        prose = [block for block in blocks if block and block[0].isalnum()]
        points += [Point(f"The README says: {_shorten(prose[0])}", (line.seq,))] if prose else []
    for line in _tool_lines(lines, "list_directory"):
        counted = re.search(r"\(([\d,]+) entr", line.text)
        points += [Point(f"The workspace was listed: {counted[1]} entries.", (line.seq,))] if counted else []
    return points[:3]


def _details(lines: Sequence[Line]) -> list[Point]:
    points: list[Point] = []
    for line in lines:
        if line.role != "assistant":
            continue
        said = _NOTE.sub("", line.text.partition(" -> calls ")[0])
        points += [Point(one, (line.seq,)) for one in _sentences(said)]
    return points


def _sentences(text: str) -> list[str]:
    plain = [re.sub(r"^[-*\d.]+ |\*\*", "", one).strip() for one in text.splitlines()]
    parts = [
        part for one in plain if not one.startswith("|") for part in re.split(r"(?<=[.;])\s+(?=[A-Z])", one)
    ]
    return [_shorten(part) for part in parts if len(part) > 30 and _DETAIL.search(part)]  # noqa: PLR2004 - too short to tell


def _completed(lines: Sequence[Line]) -> list[Point]:
    read = [line for line in lines if line.role == "tool" and line.text.startswith("read_file ")]
    points: list[Point] = []
    if read and not any(_is_change(line) for line in lines):
        names = list(dict.fromkeys(line.text.split()[1].rstrip(":") for line in read))
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""  # noqa: PLR2004 - names that fit a line
        told = f"Read {len(names)} files: {', '.join(names[:4])}{more}."
        points.append(Point(told, tuple(line.seq for line in read[:4])))
    changed: dict[str, Point] = {}
    for line in lines:
        done = re.search(r"((?:Wrote|Edited) [^\n]+)", line.text) if _is_change(line) else None
        if done:
            changed[line.text.split()[1]] = Point(_shorten(done[1]), (line.seq,))
    return [*points, *changed.values(), *_runs(lines)[-1:]]


def _runs(lines: Sequence[Line]) -> list[Point]:
    points = []
    for line in _tool_lines(lines, "run_command"):
        ran, verdict = _TEST_COUNT.search(line.text), _VERDICT.search(line.text)
        if ran and verdict:
            points.append(Point(f"Test run: {ran[1]} tests, {verdict[1]}.", (line.seq,)))
    return points


def _issues(lines: Sequence[Line]) -> list[Point]:
    points = [
        Point(f"Not allowed by the user: {_first_line(one)}", (one.seq,)) for one in lines if _is_denied(one)
    ]
    failed = [one for one in lines if one.role == "tool" and " FAILED: " in one.text.split("\n", 1)[0]]
    points += [
        Point(f"Failed: {_first_line(one)}", (one.seq,))
        for one in failed
        if not one.text.startswith("run_command") and not _is_denied(one)
    ]
    runs = _runs(lines)
    if runs:
        verb = "The newest test run passed" if ", OK." in runs[-1].text else "The newest test run fails"
        points.append(Point(f"{verb}. {runs[-1].text}", runs[-1].sources))
    names = {
        name: one.seq
        for one in _tool_lines(lines, "run_command")
        for name in re.findall(r"FAIL: (\w+)", one.text)
    }
    if runs and ", OK." not in runs[-1].text:
        points += [Point(f"Failing test: {name}.", (seq,)) for name, seq in names.items()]
    return points[-MAX_POINTS:]


def _todo(lines: Sequence[Line]) -> list[Point]:
    asked = [line for line in lines if line.role == "user"]
    notes = [(line.seq, _NOTE.search(line.text)) for line in lines if line.role == "assistant"]
    placed = [(seq, found) for seq, found in notes if found and found[1]]
    points = [
        Point(f"Newest request in this record: {_shorten(line.text)}", (line.seq,)) for line in asked[-1:]
    ]
    if placed:
        seq, found = placed[-1]
        ended = found[2] == found[3]
        state = "it is answered" if ended else f"step {int(found[2]) + 1} is next"
        points.append(Point(f"Place in the demo's script: {found[0].strip('_')}; {state}.", (seq,)))
    return points


def _preferences(lines: Sequence[Line]) -> list[Point]:
    return [
        Point(f"The user wants: {_shorten(part.removeprefix('but '))}", (line.seq,))
        for line in lines
        if line.role == "user"
        for part in re.split(r"(?<=[.!?,])\s+", line.text)
        if _PREFERENCE.search(part) and " " in part
    ]


_WRITERS: dict[str, Callable[[Sequence[Line]], list[Point]]] = {
    "Project Background": _background,
    "Technical Details": _details,
    "Completed Work": _completed,
    "Current Issues": _issues,
    "TODO Items": _todo,
    "User Preferences": _preferences,
}


def _tool_lines(lines: Iterable[Line], start: str) -> list[Line]:
    return [line for line in lines if line.role == "tool" and line.text.startswith(start)]


def _is_change(line: Line) -> bool:
    return line.role == "tool" and line.text.startswith(("write_file ", "edit_file "))


def _is_denied(line: Line) -> bool:
    return line.role == "tool" and "The user did not allow this call" in line.text


def _first_line(line: Line) -> str:
    return _shorten(line.text.split("\n", 1)[0])


def _shorten(text: str) -> str:
    words = " ".join(text.replace("[", "(").replace("]", ")").split())
    return words if len(words) <= _MAX_CHARS else words[: _MAX_CHARS - 1] + "…"
