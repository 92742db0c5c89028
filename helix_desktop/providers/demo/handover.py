"""The demo model's handovers: six sections extracted from the history in a request, each bullet cited.

A previous handover in the request is updated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from helix_desktop.domain.events.summary import SECTIONS
from helix_desktop.providers.demo.script import Script
from helix_desktop.providers.demo.summary_input import (
    HistoryLine,
    SummaryPoint,
    newest_request,
    read_facts,
    read_record,
    read_sections,
    split_record,
)
from helix_desktop.providers.demo.summary_points import (
    FIRST_REQUEST,
    LEFT_TO_USER,
    MAX_POINTS,
    changed_path,
    extract_points,
)

OPENING = "[Write a handover]"
_MERGES = "The handovers of the parts of a long record, oldest first, to be merged into one:"
_PART = re.compile(r"^part \d+: ", re.MULTILINE)
_FOCUS = "Pay special attention to: "
_IMPORTANT = re.compile(r"cause|offset|recalibrat|threshold|proof|effect|limit|because|left", re.IGNORECASE)
_SECTION_OPENINGS = tuple(
    (title, re.compile(begins))
    for title, begins in (
        ("Project Background", "The user asked|The README says|The workspace was listed"),
        ("User Preferences", "The user wants"),
        ("Completed Work", "Read |Wrote |Edited |Test run"),
        ("TODO Items", r"Newest request|Request \d+:|Place in the script|Left to the user"),
        ("Current Issues", "Not allowed|Failed|Failing|The newest test run"),
    )
)
_ENDS = re.compile(
    r"Newest request|Request \d+:|Place in the script|The newest test run|Failing test|Failed: "
)
"""Of what was open: what each update says again, if it still is."""
_NOTHING = "None."
_FORMER_NOTHING = "The demo model found nothing of this kind."
_MAX_CHARS = 1_950  # characters of all bullets: about 700 tokens with their citations
_DOCUMENT = re.compile(r"\S+\.md\b")


def write_handover(request: str, scripts: Sequence[Script] = ()) -> str:
    """Return the handover for the text of a summary request, with its place in one of the scripts."""
    if _MERGES in request:
        return _merge_parts(request)
    head, body = split_record(request)
    lines = read_record(body)
    previous = read_sections(head)
    for title, facts in _group_by_section(read_facts(body)).items():
        previous[title] = _merge_section(previous.get(title, []), facts, title)
    focus = next((line.removeprefix(_FOCUS) for line in head.splitlines() if line.startswith(_FOCUS)), "")
    points = extract_points(lines, scripts, newest_request(head))
    if previous:
        points["Project Background"] = [
            point for point in points["Project Background"] if FIRST_REQUEST not in point.text
        ]
    if focus:
        words = {word.lower() for word in re.findall(r"\w{4,}", focus)}
        points["Technical Details"].sort(key=lambda point: any(word in point.text.lower() for word in words))
    sections = {title: _merge_section(previous.get(title, []), points[title], title) for title in SECTIONS}
    _shorten_to_fit(sections)
    return "\n".join(
        part for title in SECTIONS for part in (f"## {title}", *_section_bullets(sections[title], lines))
    )


def _merge_parts(request: str) -> str:
    """Merge the handovers of the parts into one: each updates the earlier ones."""
    head, _, body = request.partition(_MERGES)
    sections = read_sections(head)
    for part in _PART.split(body)[1:]:
        part_sections = read_sections("\n".join(line.removeprefix("| ") for line in part.splitlines()))
        sections = {
            title: _merge_section(sections.get(title, []), part_sections.get(title, []), title)
            for title in SECTIONS
        }
    _shorten_to_fit(sections)
    return "\n".join(
        part for title in SECTIONS for part in (f"## {title}", *_section_bullets(sections[title], ()))
    )


def _group_by_section(facts: Iterable[tuple[int, SummaryPoint]]) -> dict[str, list[SummaryPoint]]:
    """Group observed facts by the section they belong to."""
    sections: dict[str, list[SummaryPoint]] = {}
    for _, point in facts:
        title = next(
            (title for title, pattern in _SECTION_OPENINGS if pattern.match(point.text)), "Technical Details"
        )
        sections.setdefault(title, []).append(point)
    return sections


def _section_bullets(points: Sequence[SummaryPoint], lines: Sequence[HistoryLine]) -> list[str]:
    last = f" [e{lines[-1].seq}]" if lines else ""
    return [point.line for point in points] or [f"- {_NOTHING}{last}"]


def _merge_section(previous: list[SummaryPoint], new: list[SummaryPoint], title: str) -> list[SummaryPoint]:
    """Merge old points that still hold with new ones; of too many, keep the most important."""
    previous, new = (
        [point for point in points if point.text not in (_NOTHING, _FORMER_NOTHING)]
        for points in (previous, new)
    )
    if title in ("Current Issues", "TODO Items"):
        known = {point.text for point in new}
        open_points = [
            point
            for point in previous
            if point.text not in known
            and (
                point.text.startswith(LEFT_TO_USER) if title == "TODO Items" else not _ENDS.match(point.text)
            )
        ]
        return [*open_points, *new][-MAX_POINTS:]
    if title == "Completed Work":
        changed_paths = {changed_path(point.text) for point in new}
        still_valid = [point for point in previous if changed_path(point.text) not in {"", *changed_paths}]
        return _most_important([*still_valid, *new], lambda point: not _DOCUMENT.search(point.text))
    point_by_text = {point.text: point for point in previous}
    point_by_text.update({point.text: point for point in new})
    return _most_important(_with_one_first_request(list(point_by_text.values())), _importance)


def _most_important(
    points: Sequence[SummaryPoint], importance: Callable[[SummaryPoint], int]
) -> list[SummaryPoint]:
    """Return as many points as a section has at most, in their order; of equals the newest."""
    ranked = sorted(enumerate(points), key=lambda place: (importance(place[1]), place[0]))
    return [point for _, point in sorted(ranked[-MAX_POINTS:])]


def _importance(point: SummaryPoint) -> int:
    return len(_IMPORTANT.findall(point.text))


def _with_one_first_request(points: Sequence[SummaryPoint]) -> list[SummaryPoint]:
    """Return the points without what was asked first in a later part of the session."""
    requests = [point for point in points if point.text.startswith(FIRST_REQUEST)]
    later = sorted(requests, key=lambda point: point.sources)[1:]
    return [point for point in points if point not in later]


def _shorten_to_fit(sections: dict[str, list[SummaryPoint]]) -> None:
    """Drop the least important point of the longest section, the oldest of equals, until all fit."""
    while sum(len(point.line) for points in sections.values() for point in points) > _MAX_CHARS:
        fullest = max(sections.values(), key=lambda points: sum(len(point.line) for point in points))
        if len(fullest) < 2:  # noqa: PLR2004 - a section keeps at least one point
            return
        fullest.remove(min(fullest[1:], key=_importance))
