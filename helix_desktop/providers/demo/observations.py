"""The demo model's observations: facts extracted from the record it is given, and refined generations."""

from __future__ import annotations

import re

from helix_desktop.providers.demo.summary_input import Point, read_facts, read_record, split_record
from helix_desktop.providers.demo.summary_points import extract_points

OBSERVATION_OPENING, REFLECTION_OPENING = "[Write observations]", "[Refine observations]"
_PRIORITIES = {
    "Project Background": 1,
    "User Preferences": 1,
    "Completed Work": 2,
    "Current Issues": 2,
    "Technical Details": 3,
}
_MAX_FACTS = 40  # facts of one generation
_MAX_REFLECTION_SHARE = 0.5  # of the characters that a reflection leaves, at most
_SUPERSEDED = re.compile(
    r"(Edited [^:]+:|Wrote [\d,]+ bytes to \S+|Test run|The newest test run|Failing test)"
)


def write_observations(request: str) -> str:
    """The observations for the text of a request."""
    head, body = split_record(request)
    known = {point.text for _, point in read_facts(head)}
    points = extract_points(read_record(body))
    facts = [
        (priority, point)
        for title, priority in _PRIORITIES.items()
        for point in points[title]
        if point.text not in known
    ]
    facts.sort(key=lambda one: one[1].sources)
    return _format_facts(_drop_least_important(facts, _MAX_FACTS))


def write_reflection(request: str) -> str:
    """The refined generation of the observations in a request: what was superseded is dropped."""
    _, body = split_record(request)
    newest: dict[str, tuple[int, Point]] = {}
    every = read_facts(body)
    for priority, point in every:
        found = _SUPERSEDED.match(point.text)
        key = re.sub(r"[\d,]+", "", found[1]) if found else point.text
        newest.pop(key, None)
        newest[key] = (priority, point)
    kept = list(newest.values())
    room = _MAX_REFLECTION_SHARE * sum(len(point.line) for _, point in every)
    while len(kept) > 1 and sum(len(point.line) for _, point in kept) > room:
        kept = _drop_least_important(kept, len(kept) - 1)
    return _format_facts(kept)


def _drop_least_important(facts: list[tuple[int, Point]], max_count: int) -> list[tuple[int, Point]]:
    """At most so many facts: the least of them go first, the oldest of equals."""
    kept = list(facts)
    while len(kept) > max_count:
        kept.remove(max(kept, key=lambda one: one[0]))
    return kept


def _format_facts(facts: list[tuple[int, Point]]) -> str:
    lines = [f"- ({priority}) {point.line.removeprefix('- ')}" for priority, point in facts]
    return "\n".join(lines) or "- (3) Nothing of note was said."
