"""Observation tasks: request observations from a model, parse its answer, or extract them without one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from helix_desktop.context.log.ended_observations import ended_observations
from helix_desktop.context.log.reverted_changes import FileRevert
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.conclusions import LaterProgress, cut_between_words
from helix_desktop.context.summaries.handover import UNSUPPORTED, newest_texts, split_sources
from helix_desktop.context.summaries.handover_fallback import extractive_handover
from helix_desktop.context.summaries.summary_task import SummaryTask, following_lines
from helix_desktop.context.summaries.transcript_lines import TranscriptLine, observation_line
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import Observation, ObservationsMade
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Context")

OBSERVE = "[Write observations]"
REFINE = "[Refine observations]"
KNOWN_FACTS = 30  # newest facts shown to the model that writes the next ones, so that it can end them
_OVER = re.compile(r"^over\b\s*[:,-]?\s*", re.IGNORECASE)
_STANDING_NUMBER = re.compile(r"\bknown\s+#?(\d{1,4})\b[:,]?\s*(?:and\s+)?", re.IGNORECASE)
_SHARED_WORDS = 2  # words of a fact that a note has to share to end it by a common entry
_WORD = re.compile(r"\w{4,}")
_ENDED_CHARS = 100  # characters of an ended fact in the note that ends it
_LINE = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+(?:(?:\(P?([123])\)|P([123]):?|\[([123])\])\s+)?(.*\S)\s*$")
_GAP, _MIN_STEM = "…", 20  # characters before it by which words that are cut are known
_DEFAULT_PRIORITY = 2  # priority of an observation that names none
_IN_LEDGER = 3  # priority of what a call did and the ledger says
_PRIORITIES = {
    "Project Background": 1,
    "Technical Details": 2,
    "Completed Work": 2,
    "Current Issues": 2,
    "TODO Items": 1,
    "User Preferences": 1,
}
_MERGED_SHARE = 0.5  # of the characters of the merged observations, at most


def observation_task(
    prompt: str,
    lines: tuple[TranscriptLine, ...],
    standing: Sequence[Observation],
    following: Sequence[TranscriptLine] = (),
) -> SummaryTask:
    """Return the task to observe these messages; `standing` facts have numbers, by which a note can end them.

    The messages `following` them, which stay in the window, tell what is done by now: without them the notes
    would be a turn behind.
    """
    standing_lines = [f"known {n}: {observation_line(fact).text}" for n, fact in enumerate(standing, 1)]
    previous_lines: tuple[str, ...] = ("Known already:", *standing_lines) if standing else ()
    previous_lines += following_lines(following)
    return SummaryTask(prompt, OBSERVE, "The messages to observe:", lines, previous=previous_lines)


def reflection_task(prompt: str, generations: Sequence[ObservationsMade]) -> SummaryTask:
    """Return the task to refine these observations, but for those that are over, into one generation."""
    lines = tuple(observation_line(observation) for observation in _still_holding(generations))
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
    observations = _each_once(observation for observation in parsed if observation.text)
    if not observations:
        raise CompactionRefused(
            _text("The noted facts weren't used."), _text("They are empty."), _text("Nothing was changed.")
        )
    return observations


def end_observations(
    observations: Sequence[Observation], standing: Sequence[Observation]
) -> tuple[tuple[Observation, ...], tuple[Observation, ...]]:
    """Return the observations, and the known facts that those beginning with "Over:" end.

    Such a note names a fact by its number, or shares an entry and words with it. It stays as a note of its
    own that says what is over, so that nothing ends without a word.
    """
    notes: list[Observation] = []
    ended: dict[Observation, None] = {}
    for observation in observations:
        mark = _OVER.match(observation.text)
        if mark is None:
            notes.append(observation)
            continue
        text = observation.text[mark.end() :]
        numbers = [int(number) for number in _STANDING_NUMBER.findall(text)]
        facts = [standing[number - 1] for number in numbers if 0 < number <= len(standing)]
        facts = facts or [fact for fact in standing if _ends_by_entry(observation, text, fact)]
        rest = _STANDING_NUMBER.sub("", text).strip() if numbers else text
        names = "; ".join(_ended_text(fact) for fact in facts) if numbers else ""
        sentence = ": ".join(part for part in (names, rest) if part)
        notes.append(msgspec.structs.replace(observation, text=f"Over: {sentence or text}"))
        ended |= dict.fromkeys(facts)
    return tuple(notes), tuple(ended)


def _ended_text(fact: Observation) -> str:
    return f'"{cut_between_words(fact.text.removesuffix("."), _ENDED_CHARS)}"'


def _ends_by_entry(note: Observation, text: str, fact: Observation) -> bool:
    words = set(_WORD.findall(text.lower()))
    shared = words & set(_WORD.findall(fact.text.lower()))
    return not set(note.sources).isdisjoint(fact.sources) and len(shared) >= _SHARED_WORDS


def _observation(priority: int, line: str, times: dict[int, int], latest: int) -> Observation:
    text, sources = split_sources(line, times)
    at_ms = max((times[seq] for seq in sources), default=latest)
    return Observation(at_ms, priority, text.removesuffix(UNSUPPORTED).strip(), sources)


def extract_observations(
    items: Sequence[LogItem],
    standing: Sequence[Observation] = (),
    reverts: Mapping[str, FileRevert] = MappingProxyType({}),
) -> tuple[Observation, ...]:
    """Extract observations without a model: requests, what the agent concluded, failures, with sources.

    What a `standing` fact says already is left out, unless nothing else would be left. `reverts` are the
    user's, by path.
    """
    times, standing_texts = {item.seq: item.at_ms for item in items}, {fact.text for fact in standing}
    answers = {item.seq for item in items if isinstance(item.event, ToolAnswered)}
    facts: dict[str, Observation] = {}
    for section in extractive_handover(items, None, reverts):
        for bullet in section.bullets:
            at_ms = max(times[seq] for seq in bullet.sources)
            is_listed = section.title == "Completed Work" and answers.issuperset(bullet.sources)
            priority = _IN_LEDGER if is_listed else _PRIORITIES[section.title]
            observation = Observation(at_ms, priority, bullet.text, bullet.sources)
            facts.setdefault(f"{bullet.sources} {bullet.text[-40:]}", observation)
    new = [fact for fact in facts.values() if fact.text not in standing_texts]
    return _each_once(new or facts.values())


def _each_once(observations: Iterable[Observation]) -> tuple[Observation, ...]:
    """Return each fact once, oldest first: of one noted several times the longest words, at the most vital.

    Words that end in an ellipsis say the same as longer ones that begin like them.
    """
    # By how they begin: words that say the same share this much, and comparing all with all takes seconds.
    beginnings: defaultdict[str, dict[str, None]] = defaultdict(dict)
    facts: dict[str, Observation] = {}
    for fact in observations:
        words = _plain_words(fact.text)
        alike = beginnings[words[:_MIN_STEM]]
        same = words if words in facts else _cut_or_longer(words, alike)
        if same is None:
            facts[words], alike[words] = fact, None
            continue
        other = facts.pop(same)
        del alike[same]
        longest, text = (words, fact.text) if len(words) > len(same) else (same, other.text)
        alike[longest] = None
        facts[longest] = Observation(
            max(other.at, fact.at),
            min(other.priority, fact.priority),
            text,
            tuple(dict.fromkeys((*other.sources, *fact.sources))),
        )
    return tuple(sorted(facts.values(), key=lambda fact: fact.at))


def _cut_or_longer(text: str, others: Iterable[str]) -> str | None:
    """Return which of the others these words are a cut form of, or the other way round."""
    if text.endswith(_GAP):
        stem = text.removesuffix(_GAP).rstrip()
        return next((other for other in others if len(stem) >= _MIN_STEM and other.startswith(stem)), None)
    stems = ((other, other.removesuffix(_GAP).rstrip()) for other in others if other.endswith(_GAP))
    return next((other for other, stem in stems if len(stem) >= _MIN_STEM and text.startswith(stem)), None)


def leave_out_known(
    observations: Sequence[Observation], standing: Sequence[Observation], over: Sequence[Observation]
) -> tuple[tuple[Observation, ...], tuple[Observation, ...]]:
    """Return the observations that no `standing` fact says, and the standing facts that are over.

    A fact noted again is left out, unless the earlier one is `over`, or less vital: then that is over, too.
    So is how far something was, once a fact says how far it is. All are returned if none would be left.
    """
    facts: list[Observation] = []
    later = LaterProgress()
    for observation in observations:
        later.add(observation.text)
    ended = dict.fromkeys((*over, *(fact for fact in standing if later.overtakes_all(fact.text))))
    by_words: defaultdict[str, list[Observation]] = defaultdict(list)
    for fact in standing:
        if fact not in ended:
            by_words[_plain_words(fact.text)].append(fact)
    for observation in observations:
        same = by_words.get(_plain_words(observation.text), ())
        if all(observation.priority < fact.priority for fact in same):
            facts.append(observation)
            ended |= dict.fromkeys(same)
    return (tuple(facts), tuple(ended)) if facts else (tuple(observations), tuple(over))


def _plain_words(text: str) -> str:
    """Return a fact as it is compared; an ellipsis at its end stays."""
    return " ".join(text.casefold().split()).rstrip(" .")


def merge_observations(generations: Sequence[ObservationsMade]) -> tuple[Observation, ...]:
    """Merge observations without a model: each fact once, the least vital and oldest dropped to half size."""
    observations = _still_holding(generations)
    merged = _each_once(observations)
    max_chars = _MERGED_SHARE * sum(len(observation.text) for observation in observations)
    chars = sum(len(observation.text) for observation in merged)
    least_first = sorted(range(len(merged)), key=lambda n: (-merged[n].priority, merged[n].at))
    dropped: set[int] = set()
    for place in least_first[:-1]:
        if chars <= max_chars:
            break
        dropped.add(place)
        chars -= len(merged[place].text)
    return tuple(observation for n, observation in enumerate(merged) if n not in dropped)


def still_ended(generations: Sequence[ObservationsMade]) -> tuple[Observation, ...]:
    """Return the facts that these generations mark as over and do not hold themselves: others still do."""
    own = {observation for generation in generations for observation in generation.observations}
    return tuple(fact for fact in ended_observations(generations) if fact not in own)


def _still_holding(generations: Sequence[ObservationsMade]) -> list[Observation]:
    """Return the observations that none of the generations marks as over."""
    ended = ended_observations(generations)
    facts = (observation for generation in generations for observation in generation.observations)
    return [observation for observation in facts if observation not in ended]


def verbatim_seqs(items: Sequence[LogItem], cap: int) -> tuple[int, ...]:
    """Return the seqs of the user's messages to quote: the newest in `cap` tokens, the oldest may be cut."""
    users = [item for item in items if isinstance(item.event, UserSpoke)]
    return tuple(seq for seq, _, _ in newest_texts(users, cap))
