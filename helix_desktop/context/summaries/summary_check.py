"""Check that a model's summary may replace its input: long enough, and about the same things."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

import msgspec

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.transcript_lines import TranscriptLine
from helix_desktop.domain.errors import SummaryRefused
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.rewrite import SummaryProblem
from helix_desktop.domain.events.summary import Observation, ObservationsMade, Section
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Context")

LONG_INPUT = 16_000  # characters, about 4,000 tokens: a shorter input can rightly come down to a sentence
MIN_SHARE = 0.02
_SUFFICIENT_CHARS = 800  # characters that suffice for any input: a sentence for each of six sections
_SUFFICIENT_CHARS_PER_ENTRY = 12  # the same of observations: the prompt allows one fact for each four entries
_SHARED_WORDS = 3  # that name an instruction
_PATH = re.compile(r"[\w.~-]*(?:/[\w.~-]+)+|[\w-]+\.[A-Za-z]\w{0,5}\b")
_WORD = re.compile(r"\w{4,}")
_LONG_WORD = re.compile(r"[^\W_]{6,}")
_JOINS = re.compile(r"&&|\|\||[;|\n]")


class SummaryInput(msgspec.Struct, frozen=True):
    """The input of a summary: its size in characters, how many characters suffice, and what it names.

    `instructions` are the user's messages by their seq.
    """

    size: int
    sufficient_chars: int = _SUFFICIENT_CHARS
    files: frozenset[str] = frozenset()
    commands: frozenset[str] = frozenset()
    instructions: dict[int, str] = {}


def summary_input(
    lines: Sequence[TranscriptLine], items: Iterable[LogItem], for_observations: bool = False
) -> SummaryInput:
    """Return the input of a handover, or of observations, from these messages and their transcript lines."""
    size = sum(len(line.text) for line in lines)
    messages = tuple(items)
    ledger = build_ledger(messages)
    user_texts = {item.seq: item.event.text for item in messages if isinstance(item.event, UserSpoke)}
    return SummaryInput(
        size,
        min(_SUFFICIENT_CHARS, _SUFFICIENT_CHARS_PER_ENTRY * len(lines))
        if for_observations
        else _SUFFICIENT_CHARS,
        frozenset(ledger.files),
        frozenset(run.command for run in ledger.commands.values()),
        {seq: text for seq, text in user_texts.items() if text.strip()},
    )


def reflection_input(generations: Sequence[ObservationsMade], items: Iterable[LogItem]) -> SummaryInput:
    """Return the input of a reflection: the observations, and what the messages behind them name."""
    facts = [
        TranscriptLine("", observation.text)
        for generation in generations
        for observation in generation.observations
    ]
    source = summary_input(facts, items, for_observations=True)
    files = frozenset(_PATH.findall("\n".join(observation.body for observation in facts)))
    return msgspec.structs.replace(source, files=source.files | files)


def accept_sections(
    sections: tuple[Section, ...], source: SummaryInput, model_text: str
) -> tuple[Section, ...]:
    """Return a handover's sections if they may replace their input. Raise SummaryRefused otherwise."""
    bullets = [bullet for section in sections for bullet in section.bullets]
    cited = {seq for bullet in bullets for seq in bullet.sources}
    _accept("\n".join(bullet.text for bullet in bullets), cited, source, model_text)
    return sections


def accept_observations(
    observations: tuple[Observation, ...], source: SummaryInput, model_text: str
) -> tuple[Observation, ...]:
    """Return observations if they may replace their input. Raise SummaryRefused otherwise."""
    cited = {seq for observation in observations for seq in observation.sources}
    _accept("\n".join(observation.text for observation in observations), cited, source, model_text)
    return observations


def _accept(text: str, cited: Set[int], source: SummaryInput, model_text: str) -> None:
    problem = find_problem(text, cited, source)
    if problem is SummaryProblem.SHORT:
        why = _text(
            "Its sentences have {wrote} characters: fewer than the {least} expected for this history.",
            wrote=len(text),
            least=round(_least_chars(source)),
        )
        raise SummaryRefused(problem, model_text, why)
    if problem is SummaryProblem.UNSPECIFIC:
        why = _text("It mentions no file, command or instruction from the history.")
        raise SummaryRefused(problem, model_text, why)


def find_problem(text: str, cited: Set[int], source: SummaryInput) -> SummaryProblem | None:
    """Return why a summary may not replace its input; `cited` are the seqs it gives as sources."""
    if source.size > LONG_INPUT and len(text) < _least_chars(source):
        return SummaryProblem.SHORT
    has_specifics = source.files or source.commands or source.instructions
    if has_specifics and not _names_any(text, cited, source):
        return SummaryProblem.UNSPECIFIC
    return None


def _least_chars(source: SummaryInput) -> float:
    """Return how many characters a summary of a long input has at least."""
    return min(MIN_SHARE * source.size, source.sufficient_chars)


def _names_any(text: str, cited: Set[int], source: SummaryInput) -> bool:
    lowered = text.lower()
    return (
        any(name in lowered for path in source.files for name in _file_names(path))
        or any(part in lowered for command in source.commands for part in _command_names(command))
        or not cited.isdisjoint(source.instructions)
        or _shares_words(lowered, source.instructions.values())
    )


def _file_names(path: str) -> Iterable[str]:
    """Yield the names a text may use for a path: its last part, and the long words of that."""
    last = path.rstrip("/").rpartition("/")[2].lower()
    if last:
        yield last
    yield from _LONG_WORD.findall(last)


def _command_names(command: str) -> Iterable[str]:
    """Yield the first two words of each part of a command line."""
    for part in _JOINS.split(command):
        if name := " ".join(part.split()[:2]).lower():
            yield name


def _shares_words(lowered: str, instructions: Iterable[str]) -> bool:
    summary_words = set(_WORD.findall(lowered))
    for text in instructions:
        words = set(_WORD.findall(text.lower()))
        if words and len(words & summary_words) >= min(_SHARED_WORDS, len(words)):
            return True
    return False
