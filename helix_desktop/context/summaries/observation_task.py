"""Distilling: observations asked of a model, read from its answer, or extracted without one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.handover import UNSUPPORTED, split_sources
from helix_desktop.context.summaries.handover_fallback import extractive_handover
from helix_desktop.context.summaries.summary_task import SummaryTask
from helix_desktop.context.summaries.transcript_lines import TranscriptLine, observation_line
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.session import UserSpoke
from helix_desktop.domain.events.summary import Observation, ObservationsMade

OBSERVE = "[Write observations]"
REFINE = "[Refine observations]"
_SHOWN_FACTS = 12  # newest facts that are shown to whoever writes the next
_LINE = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+(?:(?:\(P?([123])\)|P([123]):?|\[([123])\])\s+)?(.*\S)\s*$")
_DEFAULT_PRIORITY = 2  # priority of an observation that names none
_PRIORITIES = {
    "Project Background": 1,
    "Technical Details": 3,
    "Completed Work": 2,
    "Current Issues": 2,
    "TODO Items": 1,
    "User Preferences": 1,
}
_MERGED_SHARE = 0.5  # of the room that the former observations took, at most


def observation_task(
    prompt: str, lines: tuple[TranscriptLine, ...], previous: Sequence[ObservationsMade]
) -> SummaryTask:
    """Ask for the observations of these messages, with the newest of `before`, so that none comes twice."""
    known = [one for made in previous for one in made.observations][-_SHOWN_FACTS:]
    former = ("Known already:", *(observation_line(one).text for one in known)) if known else ()
    return SummaryTask(prompt, OBSERVE, "The messages to observe:", lines, previous=former)


def reflection_task(prompt: str, generations: Sequence[ObservationsMade]) -> SummaryTask:
    """Ask for these observations in one refined generation."""
    record = tuple(observation_line(one) for made in generations for one in made.observations)
    return SummaryTask(prompt, REFINE, "The observations to refine:", record)


def parse_observations(text: str, items: Sequence[LogItem]) -> tuple[Observation, ...]:
    """Read a model's observations of these messages, oldest first.

    A source that is none of them is dropped; the date is the newest source's. Raises CompactionRefused when
    there are none.
    """
    times = {item.seq: item.at_ms for item in items}
    latest = max(times.values(), default=0)
    found: list[tuple[int, str]] = []
    for line in text.splitlines():
        matched = _LINE.match(line)
        if matched:
            priority = next((one for one in matched.groups()[:3] if one), _DEFAULT_PRIORITY)
            found.append((int(priority), matched.group(4)))
        elif found and line[:1].isspace() and line.strip():
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    observations = [_observation(priority, words, times, latest) for priority, words in found]
    told = tuple(sorted((one for one in observations if one.text), key=lambda one: one.at))
    if not told:
        raise CompactionRefused(
            "The observations were not taken.", "They say nothing.", "Nothing has changed."
        )
    return told


def _observation(priority: int, line: str, times: dict[int, int], latest: int) -> Observation:
    text, sources = split_sources(line, times)
    at = max((times[seq] for seq in sources), default=latest)
    return Observation(at, priority, text.removesuffix(UNSUPPORTED).strip(), sources)


def extract_observations(items: Sequence[LogItem]) -> tuple[Observation, ...]:
    """Observations without a model: what was asked, decided, changed, run and failed, with sources."""
    times = {item.seq: item.at_ms for item in items}
    facts: dict[str, Observation] = {}
    for section in extractive_handover(items, None):
        for bullet in section.bullets:
            at = max(times[seq] for seq in bullet.sources)
            one = Observation(at, _PRIORITIES[section.title], bullet.text, bullet.sources)
            facts.setdefault(f"{bullet.sources} {bullet.text[-40:]}", one)
    return tuple(sorted(facts.values(), key=lambda one: one.at))


def merge_observations(generations: Iterable[ObservationsMade]) -> tuple[Observation, ...]:
    """Observations merged without a model: each fact once, the least and oldest dropped to half of it."""
    every = [one for made in generations for one in made.observations]
    kept = list({one.text: one for one in every}.values())
    room = _MERGED_SHARE * sum(len(one.text) for one in every)
    for one in sorted(kept, key=lambda one: (-one.priority, one.at)):
        if sum(len(other.text) for other in kept) <= room or len(kept) == 1:
            break
        kept.remove(one)
    return tuple(sorted(kept, key=lambda one: one.at))


def verbatim_seqs(items: Sequence[LogItem], cap: int) -> tuple[int, ...]:
    """The seqs of the person's messages that stay verbatim: the newest that fit `cap` tokens."""
    kept: list[int] = []
    for item in reversed(items):
        if isinstance(item.event, UserSpoke) and item.event.tokens <= cap:
            cap -= item.event.tokens
            kept.append(item.seq)
    return tuple(reversed(kept))
