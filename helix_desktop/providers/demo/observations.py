"""The demo model's observations: facts extracted from the history in a request, and refined generations."""

from __future__ import annotations

import re

from helix_desktop.providers.demo.summary_input import SummaryPoint, read_facts, read_record, split_record
from helix_desktop.providers.demo.summary_points import FAILING, changed_path, extract_points

OBSERVATION_OPENING, REFLECTION_OPENING = "[Write observations]", "[Refine observations]"
_PRIORITIES = {
    "Project Background": 1,
    "User Preferences": 1,
    "Completed Work": 2,
    "Current Issues": 2,
    "Technical Details": 3,
}
_MAX_FACTS = 40  # facts of one generation
_MAX_FACT_CHARS = 250  # a longer sentence is left to the handover
_MAX_REFLECTION_SHARE = 0.5  # of the characters that a reflection leaves, at most
_TEST_STATE = re.compile(r"Test run|The newest test run|Failing test")


def write_observations(request: str) -> str:
    """Return the observations for the text of a request."""
    head, body = split_record(request)
    known_texts = {point.text for _, point in read_facts(head)}
    points = extract_points(read_record(body))
    facts = [
        (priority, point)
        for title, priority in _PRIORITIES.items()
        for point in points[title]
        if point.text not in known_texts and len(point.text) <= _MAX_FACT_CHARS
    ]
    facts.sort(key=lambda fact: fact[1].sources)
    return _format_facts(_drop_least_important(facts, _MAX_FACTS))


def write_reflection(request: str) -> str:
    """Return the observations of a request without those that were superseded."""
    _, body = split_record(request)
    newest: dict[str, tuple[int, SummaryPoint]] = {}
    facts = read_facts(body)
    for priority, point in facts:
        if _TEST_STATE.match(point.text) and not point.text.startswith(
            FAILING
        ):  # a run, with what fails in it
            newest = {key: fact for key, fact in newest.items() if not _TEST_STATE.match(fact[1].text)}
        key = changed_path(point.text) or point.text
        newest.pop(key, None)
        newest[key] = (priority, point)
    current = list(newest.values())
    max_chars = _MAX_REFLECTION_SHARE * sum(len(point.line) for _, point in facts)
    while len(current) > 1 and sum(len(point.line) for _, point in current) > max_chars:
        current = _drop_least_important(current, len(current) - 1)
    return _format_facts(current)


def _drop_least_important(
    facts: list[tuple[int, SummaryPoint]], max_count: int
) -> list[tuple[int, SummaryPoint]]:
    """Drop the least important facts, the oldest of equals first, down to `max_count`."""
    remaining = list(facts)
    while len(remaining) > max_count:
        remaining.remove(max(remaining, key=lambda fact: fact[0]))
    return remaining


def _format_facts(facts: list[tuple[int, SummaryPoint]]) -> str:
    lines = [f"- ({priority}) {point.line.removeprefix('- ')}" for priority, point in facts]
    return "\n".join(lines) or "- (3) Nothing of note was said."
