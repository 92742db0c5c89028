"""Observation tasks: request observations from a model, parse its answer, or extract them without one."""

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
from helix_desktop.domain.user_text import TextContext

_text = TextContext("Context")

OBSERVE = "[Write observations]"
REFINE = "[Refine observations]"
_SHOWN_FACTS = 12  # newest facts shown to the model that writes the next ones
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
_MERGED_SHARE = 0.5  # of the characters of the merged observations, at most


def observation_task(
    prompt: str, lines: tuple[TranscriptLine, ...], previous: Sequence[ObservationsMade]
) -> SummaryTask:
    """Return the task to observe these messages; the newest `previous` facts are shown to avoid repeats."""
    recent = [observation for generation in previous for observation in generation.observations][
        -_SHOWN_FACTS:
    ]
    previous_lines = (
        ("Known already:", *(observation_line(observation).text for observation in recent)) if recent else ()
    )
    return SummaryTask(prompt, OBSERVE, "The messages to observe:", lines, previous=previous_lines)


def reflection_task(prompt: str, generations: Sequence[ObservationsMade]) -> SummaryTask:
    """Return the task to refine these observations into one generation."""
    lines = tuple(
        observation_line(observation) for generation in generations for observation in generation.observations
    )
    return SummaryTask(prompt, REFINE, "The observations to refine:", lines)


def parse_observations(text: str, items: Sequence[LogItem]) -> tuple[Observation, ...]:
    """Parse a model's observations of these messages, oldest first.

    A source that is not one of them is dropped; the date is the newest source's. Raise CompactionRefused if
    there are none.
    """
    times = {item.seq: item.at_ms for item in items}
    latest = max(times.values(), default=0)
    entries: list[tuple[int, str]] = []
    for line in text.splitlines():
        matched = _LINE.match(line)
        if matched:
            priority = next((group for group in matched.groups()[:3] if group), _DEFAULT_PRIORITY)
            entries.append((int(priority), matched.group(4)))
        elif entries and line[:1].isspace() and line.strip():
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}")
    parsed = [_observation(priority, line, times, latest) for priority, line in entries]
    observations = tuple(
        sorted(
            (observation for observation in parsed if observation.text),
            key=lambda observation: observation.at,
        )
    )
    if not observations:
        raise CompactionRefused(
            _text("The observations weren't used."), _text("They are empty."), _text("Nothing was changed.")
        )
    return observations


def _observation(priority: int, line: str, times: dict[int, int], latest: int) -> Observation:
    text, sources = split_sources(line, times)
    at_ms = max((times[seq] for seq in sources), default=latest)
    return Observation(at_ms, priority, text.removesuffix(UNSUPPORTED).strip(), sources)


def extract_observations(items: Sequence[LogItem]) -> tuple[Observation, ...]:
    """Extract observations without a model: requests, decisions, changes, runs and failures, with sources."""
    times = {item.seq: item.at_ms for item in items}
    facts: dict[str, Observation] = {}
    for section in extractive_handover(items, None):
        for bullet in section.bullets:
            at_ms = max(times[seq] for seq in bullet.sources)
            observation = Observation(at_ms, _PRIORITIES[section.title], bullet.text, bullet.sources)
            facts.setdefault(f"{bullet.sources} {bullet.text[-40:]}", observation)
    return tuple(sorted(facts.values(), key=lambda observation: observation.at))


def merge_observations(generations: Iterable[ObservationsMade]) -> tuple[Observation, ...]:
    """Merge observations without a model: each fact once, the least vital and oldest dropped to half size."""
    observations = [observation for generation in generations for observation in generation.observations]
    merged = list({observation.text: observation for observation in observations}.values())
    max_chars = _MERGED_SHARE * sum(len(observation.text) for observation in observations)
    for observation in sorted(merged, key=lambda observation: (-observation.priority, observation.at)):
        if sum(len(other.text) for other in merged) <= max_chars or len(merged) == 1:
            break
        merged.remove(observation)
    return tuple(sorted(merged, key=lambda observation: observation.at))


def verbatim_seqs(items: Sequence[LogItem], cap: int) -> tuple[int, ...]:
    """Return the seqs of user messages that stay verbatim: the newest that fit `cap` tokens."""
    seqs: list[int] = []
    for item in reversed(items):
        if isinstance(item.event, UserSpoke) and item.event.tokens <= cap:
            cap -= item.event.tokens
            seqs.append(item.seq)
    return tuple(reversed(seqs))
