"""The demo model's handovers: six sections extracted from the record it is given, each bullet cited.

Nothing is composed but the frame of a sentence: every path, number, decision and result comes from an entry
of the record, and the entry's id stands behind it. A former handover in the request is updated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from helix_desktop.context.event_summary import SECTIONS

OPENING = "[Write a handover]"
_BEGINS = re.compile(r"^The (?:messages|observations) to \w+(?: \w+)?:$", re.MULTILINE)
_MERGES = "The handovers of the parts of a long record, oldest first, to be merged into one:"
_PART = re.compile(r"^part \d+: ", re.MULTILINE)
_FOCUS = "Pay special attention to: "
_ENTRY = re.compile(r"^e(\d+) (user|assistant|tool)\b ?(.*)$")
_FACT = re.compile(r"^observed \(([123])\) \S+: (.+?)(?: \[(e\d+(?:, e\d+)*)\])?$")
_HEADING = re.compile(r"^## (.+)$")
_BULLET = re.compile(r"^- (.+?) \[(e\d+(?:, e\d+)*)\]$")
_NOTE = re.compile(r"_?\(demo: (?:task (\d+), step (\d+) of (\d+)|looking around)[^)]*\)_?")
_WEIGHTY = re.compile(r"cause|offset|recalibrat|threshold|proof|effect|limit|because|left", re.IGNORECASE)
_WISH = re.compile(r"\b(do not|don't|without|keep|please|always|never|prefer|only|small)\b", re.IGNORECASE)
_TOLD = re.compile(r"\d|`")
_RAN = re.compile(r"Ran (\d+) tests?")
_VERDICT = re.compile(r"(?m)^(OK|FAILED \([^)\n]*\))\s*$")
_SIGNS = 150  # characters of a bullet's sentence
_BEGINNINGS = tuple(
    (title, re.compile(begins))
    for title, begins in (
        ("Project Background", "The user asked first|The README says|The workspace was listed"),
        ("User Preferences", "The user wants"),
        ("Completed Work", "Read |Wrote |Edited |Test run"),
        ("TODO Items", "Newest request|Place in the demo"),
        ("Current Issues", "Not allowed|Failed|Failing|The newest test run"),
    )
)
_ROOM = 1_950  # characters of all bullets: about 700 tokens with their citations
_MOST = 8
_FORMER = 3
_FIRST = "The user asked first:"


@dataclass(frozen=True)
class Line:
    """An entry of the record: its id, who, and what was said."""

    seq: int
    who: str
    text: str


@dataclass(frozen=True)
class Point:
    """A bullet: a sentence and the ids it comes from."""

    text: str
    sources: tuple[int, ...]

    @property
    def line(self) -> str:
        """The bullet as it is written."""
        cited = f" [{', '.join(f'e{seq}' for seq in self.sources)}]" if self.sources else ""
        return f"- {self.text}{cited}"


def write_handover(request: str) -> str:
    """The handover for the text of a summary request."""
    if _MERGES in request:
        return _merge(request)
    head, body = divided(request)
    lines = read_record(body)
    former = _former(head)
    for title, facts in _sorted(read_facts(body)).items():
        former[title] = _join(former.get(title, []), facts, title)
    focus = next((line.removeprefix(_FOCUS) for line in head.splitlines() if line.startswith(_FOCUS)), "")
    new = points_of(lines)
    if former:
        new["Project Background"] = [one for one in new["Project Background"] if _FIRST not in one.text]
    if focus:
        words = {word.lower() for word in re.findall(r"\w{4,}", focus)}
        new["Technical Details"].sort(key=lambda point: any(word in point.text.lower() for word in words))
    joined = {title: _join(former.get(title, []), new[title], title) for title in SECTIONS}
    _shorten(joined)
    return "\n".join(part for title in SECTIONS for part in (f"## {title}", *_written(joined[title], lines)))


def points_of(lines: Sequence[Line]) -> dict[str, list[Point]]:
    """What the record says, by section."""
    return {title: write(lines) for title, write in _WRITERS.items()}


def divided(request: str) -> tuple[str, str]:
    """What stands before the record of a request, and the record."""
    found = _BEGINS.search(request)
    return (request[: found.start()], request[found.end() :]) if found else (request, "")


def _merge(request: str) -> str:
    """One handover of those of the parts: the later one updates the earlier ones."""
    head, _, body = request.partition(_MERGES)
    joined = _former(head)
    for part in _PART.split(body)[1:]:
        newer = _former("\n".join(line.removeprefix("| ") for line in part.splitlines()))
        joined = {title: _join(joined.get(title, []), newer.get(title, []), title) for title in SECTIONS}
    _shorten(joined)
    return "\n".join(part for title in SECTIONS for part in (f"## {title}", *_written(joined[title], ())))


def _sorted(facts: Iterable[tuple[int, Point]]) -> dict[str, list[Point]]:
    """Observed facts, each under the section that it would have stood in."""
    found: dict[str, list[Point]] = {}
    for _, point in facts:
        title = next(
            (title for title, begins in _BEGINNINGS if begins.match(point.text)), "Technical Details"
        )
        found.setdefault(title, []).append(point)
    return found


def _written(points: Sequence[Point], lines: Sequence[Line]) -> list[str]:
    last = f" [e{lines[-1].seq}]" if lines else ""
    return [point.line for point in points] or [f"- Nothing of this kind was recorded.{last}"]


def read_facts(body: str) -> list[tuple[int, Point]]:
    """The observed facts of a record, with their priorities."""
    found = [entry for line in body.splitlines() if (entry := _FACT.match(line))]
    return [
        (int(one[1]), Point(one[2], tuple(int(seq[1:]) for seq in (one[3] or "").split(", ") if seq)))
        for one in found
    ]


def read_record(body: str) -> list[Line]:
    """The messages of a record; what else stands there is left out."""
    found: list[Line] = []
    for line in body.splitlines():
        if _FACT.match(line):
            continue
        entry = _ENTRY.match(line)
        if entry and int(entry[1]) > (found[-1].seq if found else 0):
            found.append(Line(int(entry[1]), entry[2], entry[3].removeprefix(": ").strip()))
        elif found:
            found[-1] = Line(found[-1].seq, found[-1].who, f"{found[-1].text}\n{line.removeprefix('| ')}")
    return found


def _former(head: str) -> dict[str, list[Point]]:
    sections: dict[str, list[Point]] = {}
    current: list[Point] = []
    for line in head.splitlines():
        heading, bullet = _HEADING.match(line), _BULLET.match(line)
        if heading:
            current = sections.setdefault(heading[1], [])
        elif bullet:
            current.append(Point(bullet[1], tuple(int(one[1:]) for one in bullet[2].split(", "))))
    return sections


def _join(former: list[Point], new: list[Point], title: str) -> list[Point]:
    """What was and still holds, and what is new; of too many, the first three and the newest stay."""
    if title in ("Current Issues", "TODO Items"):
        return new[-_MOST:]
    if title == "Completed Work":
        again = {_changed(point) for point in new}
        kept = [point for point in former if _changed(point) and _changed(point) not in again]
        return [*kept, *new][-_MOST:]
    said = {point.text: point for point in former}
    said.update({point.text: point for point in new})
    points = list(said.values())
    return points if len(points) <= _MOST else points[:_FORMER] + points[_FORMER - _MOST :]


def _changed(point: Point) -> str:
    """The path that a point says was changed; empty when it says something else."""
    found = re.match(r"Edited ([^:]+):|Wrote [\d,]+ bytes to (\S+)", point.text)
    return (found[1] or found[2]) if found else ""


def _shorten(sections: dict[str, list[Point]]) -> None:
    """Drop the least weighty point of the fullest section, the oldest of equals, until all fit."""
    while sum(len(point.line) for points in sections.values() for point in points) > _ROOM:
        fullest = max(sections.values(), key=lambda points: sum(len(point.line) for point in points))
        if len(fullest) < 2:  # noqa: PLR2004 - a section keeps at least one point
            return
        fullest.remove(min(fullest[1:], key=lambda point: len(_WEIGHTY.findall(point.text))))


def _background(lines: Sequence[Line]) -> list[Point]:
    asked = [line for line in lines if line.who == "user"]
    points = [Point(f"{_FIRST} {_short(line.text)}", (line.seq,)) for line in asked[:1]]
    for line in _outputs(lines, "read_file README"):
        blocks = [" ".join(block.split()) for block in line.text.split("\n\n")[1:]]
        prose = [block for block in blocks if block and block[0].isalnum()]
        points += [Point(f"The README says: {_short(prose[0])}", (line.seq,))] if prose else []
    for line in _outputs(lines, "list_directory"):
        counted = re.search(r"\(([\d,]+) entr", line.text)
        points += [Point(f"The workspace was listed: {counted[1]} entries.", (line.seq,))] if counted else []
    return points[:3]


def _details(lines: Sequence[Line]) -> list[Point]:
    points: list[Point] = []
    for line in lines:
        if line.who != "assistant":
            continue
        said = _NOTE.sub("", line.text.partition(" -> calls ")[0])
        points += [Point(one, (line.seq,)) for one in _sentences(said)]
    return points


def _sentences(text: str) -> list[str]:
    plain = [re.sub(r"^[-*\d.]+ |\*\*", "", one).strip() for one in text.splitlines()]
    parts = [
        part for one in plain if not one.startswith("|") for part in re.split(r"(?<=[.;])\s+(?=[A-Z])", one)
    ]
    return [_short(part) for part in parts if len(part) > 30 and _TOLD.search(part)]  # noqa: PLR2004 - too short to tell


def _completed(lines: Sequence[Line]) -> list[Point]:
    read = [line for line in lines if line.who == "tool" and line.text.startswith("read_file ")]
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
            changed[line.text.split()[1]] = Point(_short(done[1]), (line.seq,))
    return [*points, *changed.values(), *_runs(lines)[-1:]]


def _runs(lines: Sequence[Line]) -> list[Point]:
    points = []
    for line in _outputs(lines, "run_command"):
        ran, verdict = _RAN.search(line.text), _VERDICT.search(line.text)
        if ran and verdict:
            points.append(Point(f"Test run: {ran[1]} tests, {verdict[1]}.", (line.seq,)))
    return points


def _issues(lines: Sequence[Line]) -> list[Point]:
    points = [Point(f"Not allowed by the user: {_head(one)}", (one.seq,)) for one in lines if _denied(one)]
    failed = [one for one in lines if one.who == "tool" and " FAILED: " in one.text.split("\n", 1)[0]]
    points += [
        Point(f"Failed: {_head(one)}", (one.seq,))
        for one in failed
        if not one.text.startswith("run_command") and not _denied(one)
    ]
    runs = _runs(lines)
    if runs:
        verb = "The newest test run passed" if ", OK." in runs[-1].text else "The newest test run fails"
        points.append(Point(f"{verb}. {runs[-1].text}", runs[-1].sources))
    names = {
        name: one.seq
        for one in _outputs(lines, "run_command")
        for name in re.findall(r"FAIL: (\w+)", one.text)
    }
    if runs and ", OK." not in runs[-1].text:
        points += [Point(f"Failing test: {name}.", (seq,)) for name, seq in names.items()]
    return points[-_MOST:]


def _todo(lines: Sequence[Line]) -> list[Point]:
    asked = [line for line in lines if line.who == "user"]
    notes = [(line.seq, _NOTE.search(line.text)) for line in lines if line.who == "assistant"]
    placed = [(seq, found) for seq, found in notes if found and found[1]]
    points = [
        Point(f"Newest request in this record: {_short(line.text)}", (line.seq,)) for line in asked[-1:]
    ]
    if placed:
        seq, found = placed[-1]
        ended = found[2] == found[3]
        state = "it is answered" if ended else f"step {int(found[2]) + 1} is next"
        points.append(Point(f"Place in the demo's script: {found[0].strip('_')}; {state}.", (seq,)))
    return points


def _preferences(lines: Sequence[Line]) -> list[Point]:
    return [
        Point(f"The user wants: {_short(part.removeprefix('but '))}", (line.seq,))
        for line in lines
        if line.who == "user"
        for part in re.split(r"(?<=[.!?,])\s+", line.text)
        if _WISH.search(part) and " " in part
    ]


_WRITERS: dict[str, Callable[[Sequence[Line]], list[Point]]] = {
    "Project Background": _background,
    "Technical Details": _details,
    "Completed Work": _completed,
    "Current Issues": _issues,
    "TODO Items": _todo,
    "User Preferences": _preferences,
}


def _outputs(lines: Iterable[Line], start: str) -> list[Line]:
    return [line for line in lines if line.who == "tool" and line.text.startswith(start)]


def _is_change(line: Line) -> bool:
    return line.who == "tool" and line.text.startswith(("write_file ", "edit_file "))


def _denied(line: Line) -> bool:
    return line.who == "tool" and "The user did not allow this call" in line.text


def _head(line: Line) -> str:
    return _short(line.text.split("\n", 1)[0])


def _short(text: str) -> str:
    words = " ".join(text.replace("[", "(").replace("]", ")").split())
    return words if len(words) <= _SIGNS else words[: _SIGNS - 1] + "…"
