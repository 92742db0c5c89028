"""The demo model's handovers: six sections extracted from the record it is given, each bullet cited.

A former handover in the request is updated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from helix_desktop.domain.events.summary import SECTIONS
from helix_desktop.providers.demo.summary_input import (
    Line,
    Point,
    read_facts,
    read_record,
    read_sections,
    split_record,
)
from helix_desktop.providers.demo.summary_points import FIRST_REQUEST, MAX_POINTS, extract_points

OPENING = "[Write a handover]"
_MERGES = "The handovers of the parts of a long record, oldest first, to be merged into one:"
_PART = re.compile(r"^part \d+: ", re.MULTILINE)
_FOCUS = "Pay special attention to: "
_IMPORTANT = re.compile(r"cause|offset|recalibrat|threshold|proof|effect|limit|because|left", re.IGNORECASE)
_SECTION_OPENINGS = tuple(
    (title, re.compile(begins))
    for title, begins in (
        ("Project Background", "The user asked first|The README says|The workspace was listed"),
        ("User Preferences", "The user wants"),
        ("Completed Work", "Read |Wrote |Edited |Test run"),
        ("TODO Items", "Newest request|Place in the demo"),
        ("Current Issues", "Not allowed|Failed|Failing|The newest test run"),
    )
)
_MAX_CHARS = 1_950  # characters of all bullets: about 700 tokens with their citations
_KEPT_FIRST = 3


def write_handover(request: str) -> str:
    """The handover for the text of a summary request."""
    if _MERGES in request:
        return _merge_parts(request)
    head, body = split_record(request)
    lines = read_record(body)
    former = read_sections(head)
    for title, facts in _group_by_section(read_facts(body)).items():
        former[title] = _merge_section(former.get(title, []), facts, title)
    focus = next((line.removeprefix(_FOCUS) for line in head.splitlines() if line.startswith(_FOCUS)), "")
    new = extract_points(lines)
    if former:
        new["Project Background"] = [
            one for one in new["Project Background"] if FIRST_REQUEST not in one.text
        ]
    if focus:
        words = {word.lower() for word in re.findall(r"\w{4,}", focus)}
        new["Technical Details"].sort(key=lambda point: any(word in point.text.lower() for word in words))
    joined = {title: _merge_section(former.get(title, []), new[title], title) for title in SECTIONS}
    _shorten_to_fit(joined)
    return "\n".join(
        part for title in SECTIONS for part in (f"## {title}", *_section_bullets(joined[title], lines))
    )


def _merge_parts(request: str) -> str:
    """One handover of those of the parts: the later one updates the earlier ones."""
    head, _, body = request.partition(_MERGES)
    joined = read_sections(head)
    for part in _PART.split(body)[1:]:
        newer = read_sections("\n".join(line.removeprefix("| ") for line in part.splitlines()))
        joined = {
            title: _merge_section(joined.get(title, []), newer.get(title, []), title) for title in SECTIONS
        }
    _shorten_to_fit(joined)
    return "\n".join(
        part for title in SECTIONS for part in (f"## {title}", *_section_bullets(joined[title], ()))
    )


def _group_by_section(facts: Iterable[tuple[int, Point]]) -> dict[str, list[Point]]:
    """Observed facts, each under the section that it would have stood in."""
    found: dict[str, list[Point]] = {}
    for _, point in facts:
        title = next(
            (title for title, begins in _SECTION_OPENINGS if begins.match(point.text)), "Technical Details"
        )
        found.setdefault(title, []).append(point)
    return found


def _section_bullets(points: Sequence[Point], lines: Sequence[Line]) -> list[str]:
    last = f" [e{lines[-1].seq}]" if lines else ""
    return [point.line for point in points] or [f"- Nothing of this kind was recorded.{last}"]


def _merge_section(previous: list[Point], new: list[Point], title: str) -> list[Point]:
    """What was and still holds, and what is new; of too many, the first three and the newest stay."""
    if title in ("Current Issues", "TODO Items"):
        return new[-MAX_POINTS:]
    if title == "Completed Work":
        again = {_changed_path(point) for point in new}
        kept = [point for point in previous if _changed_path(point) and _changed_path(point) not in again]
        return [*kept, *new][-MAX_POINTS:]
    said = {point.text: point for point in previous}
    said.update({point.text: point for point in new})
    points = list(said.values())
    return points if len(points) <= MAX_POINTS else points[:_KEPT_FIRST] + points[_KEPT_FIRST - MAX_POINTS :]


def _changed_path(point: Point) -> str:
    """The path that a point says was changed; empty when it says something else."""
    found = re.match(r"Edited ([^:]+):|Wrote [\d,]+ bytes to (\S+)", point.text)
    return (found[1] or found[2]) if found else ""


def _shorten_to_fit(sections: dict[str, list[Point]]) -> None:
    """Drop the least weighty point of the fullest section, the oldest of equals, until all fit."""
    while sum(len(point.line) for points in sections.values() for point in points) > _MAX_CHARS:
        fullest = max(sections.values(), key=lambda points: sum(len(point.line) for point in points))
        if len(fullest) < 2:  # noqa: PLR2004 - a section keeps at least one point
            return
        fullest.remove(min(fullest[1:], key=lambda point: len(_IMPORTANT.findall(point.text))))
