"""Whether what a model wrote may stand for what it read, and what a better text would have to say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from itertools import chain

import msgspec

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.message_facts import cut_between_words
from helix_desktop.context.summaries.sections import TITLES, can_be_settled
from helix_desktop.context.summaries.summary_task import SummaryTask, TranscriptLine
from helix_desktop.context.summaries.written_sections import section_texts
from helix_desktop.domain.errors import SummaryRefused
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import SummaryProblem
from helix_desktop.domain.events.summary import (
    Bullet,
    HandoverMade,
    Observation,
    ObservationsMade,
    Section,
)
from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.translatable_text import OptionalText, TextContext
from helix_desktop.domain.typed_text import typed_text

_text = TextContext("Context")

LONG_INPUT = 16_000  # characters, about 4,000 tokens: a shorter input can rightly come down to a sentence
MIN_SHARE = 0.02
_SUFFICIENT_CHARS = 800  # characters that suffice for any input: a sentence for each section
_SUFFICIENT_CHARS_PER_ENTRY = 12  # the same of observations: the prompt allows one fact for each four entries
_LEAST_SUBJECTS = 2  # that a handover names: files, commands, names or entries of what was read
_LEAST_OBSERVED = 1  # the same of observations: they may rightly come down to one new fact
_JUDGED_NAMES = 4  # names in a text from which on it can be told to be of another session
_LEAST_KNOWN_SHARE = 0.2  # of these that have to occur in what was read
_LEAST_SECTIONS = 3  # that a text has, or it is asked for again
_JUDGED_FACTS = 4  # statements of the former summary from which on their loss counts
_QUOTED_CHARS = 120  # of a statement that a text left out
_SHARED_WORDS = 3  # that name an instruction
_PATH = re.compile(r"[\w.~-]*(?:/[\w.~-]+)+|[\w-]+\.[A-Za-z]\w{0,5}\b")
_WORD = re.compile(r"\w{4,}")
_LONG_WORD = re.compile(r"[^\W_]{6,}")
_FIGURE = re.compile(r"\d[\w.,:%]*")
_JOINS = re.compile(r"&&|\|\||[;|\n]")
_REFUSES = re.compile(
    r"\bi\s?(?:['’]m|am)\s(?:sorry|unable|not able)"
    r"|\bi\s(?:can\s?not|can['’]t|won['’]t|will not|must decline)\b|\bas an ai\b",
    re.IGNORECASE,
)


class SummaryInput(msgspec.Struct, frozen=True):
    """The input of a summary: its size in characters, how many characters suffice, and what it names.

    `instructions` are the user's messages by their seq, `entries` the seqs of all messages. `names` are the
    identifiers in the text that a model reads, of paths their last part, in lower case; `tools` are those of
    its tools, which other sessions have, too.
    """

    size: int
    sufficient_chars: int = _SUFFICIENT_CHARS
    files: frozenset[str] = frozenset()
    commands: frozenset[str] = frozenset()
    instructions: dict[int, str] = {}
    entries: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()


def summary_input(
    task: SummaryTask, items: Iterable[LogItem], for_observations: bool = False
) -> SummaryInput:
    """Return the input of a task on these messages. Slow: it reads all of its text."""
    messages = tuple(items)
    ledger = build_ledger(messages)
    sufficient_chars = _SUFFICIENT_CHARS
    if for_observations:
        sufficient_chars = min(_SUFFICIENT_CHARS, _SUFFICIENT_CHARS_PER_ENTRY * len(task.lines))
    user_texts = {
        item.seq: typed_text(item.event.text) for item in messages if isinstance(item.event, UserSpoke)
    }
    read_texts = (*task.header, *(line.text for line in task.lines))
    tools = frozenset(item.event.name for item in messages if isinstance(item.event, ToolAnswered))
    return SummaryInput(
        sum(len(line.text) for line in task.lines),
        sufficient_chars,
        files=frozenset(ledger.files),
        commands=frozenset(run.command for run in ledger.commands.values()),
        instructions={seq: text for seq, text in user_texts.items() if text.strip()},
        entries=frozenset(item.seq for item in messages),
        names=frozenset(chain.from_iterable(map(_names_in, read_texts))) - tools,
        tools=tools,
    )


def reflection_input(
    task: SummaryTask, generations: Sequence[ObservationsMade], items: Iterable[LogItem]
) -> SummaryInput:
    """Return the input of a reflection: the observations, and what the messages behind them name."""
    facts = tuple(
        TranscriptLine("", observation.text)
        for generation in generations
        for observation in generation.observations
    )
    source = summary_input(msgspec.structs.replace(task, lines=facts), items, for_observations=True)
    files = frozenset(_PATH.findall("\n".join(observation.body for observation in facts)))
    return msgspec.structs.replace(source, files=source.files | files)


def accept_sections(
    sections: tuple[Section, ...], source: SummaryInput, model_text: str
) -> tuple[Section, ...]:
    """Return a handover's sections if they may replace their input. Raise SummaryRefused otherwise."""
    bullets = [bullet for section in sections for bullet in section.bullets]
    cited = {seq for bullet in bullets for seq in bullet.sources}
    problem = find_problem("\n".join(bullet.text for bullet in bullets), cited, source)
    _accept([bullet.text for bullet in bullets], problem, source, model_text)
    return sections


def accept_observations(
    observations: tuple[Observation, ...], source: SummaryInput, model_text: str
) -> tuple[Observation, ...]:
    """Return observations if they may replace their input. Raise SummaryRefused otherwise."""
    cited = {seq for observation in observations for seq in observation.sources}
    text = "\n".join(observation.text for observation in observations)
    problem = find_problem(text, cited, source, _LEAST_OBSERVED)
    _accept([observation.text for observation in observations], problem, source, model_text)
    return observations


def _accept(
    sentences: Sequence[str], problem: SummaryProblem | None, source: SummaryInput, model_text: str
) -> None:
    text = "\n".join(sentences)
    if sentences and all(map(_REFUSES.search, sentences)):
        why = _text("It is a refusal.")
        raise SummaryRefused(SummaryProblem.UNSPECIFIC, model_text, why)
    if problem is SummaryProblem.SHORT:
        why = _text(
            "Its sentences name no entries and have {wrote} characters: fewer than the {least} expected for "
            "this history.",
            wrote=len(text),
            least=round(_least_chars(source)),
        )
        raise SummaryRefused(problem, model_text, why)
    if problem is SummaryProblem.UNSPECIFIC:
        why = _text("It mentions too few of the history's files, names and entries.")
        raise SummaryRefused(problem, model_text, why)
    if is_of_other_session(text, source):
        why = _text("The files and names in it don't occur in the history.")
        raise SummaryRefused(SummaryProblem.UNSPECIFIC, model_text, why)


def find_problem(
    text: str, cited: Set[int], source: SummaryInput, least_subjects: int = _LEAST_SUBJECTS
) -> SummaryProblem | None:
    """Return why a summary may not replace its input; `cited` are the seqs it gives as sources.

    It has to name `least_subjects` of what was read, of a shorter history all.
    Its length alone is no reason where it says what it is made from.
    """
    if not cited and source.size > LONG_INPUT and len(text) < _least_chars(source):
        return SummaryProblem.SHORT
    subjects = len(source.files) + len(source.commands) + len(source.entries | source.instructions.keys())
    if _count_subjects(text, cited, source) < min(least_subjects, subjects):
        return SummaryProblem.UNSPECIFIC
    return None


def is_of_other_session(text: str, source: SummaryInput) -> bool:
    """Return True if a text names things, and hardly one of them occurs in what was read."""
    names = _names_in(text) - source.tools
    if len(names) < _JUDGED_NAMES:
        return False
    return len(names & source.names) < _LEAST_KNOWN_SHARE * len(names)


def find_doubt(text: str, sections: Sequence[Section], former: HandoverMade | None) -> OptionalText:
    """Return why a better text than this readable one is asked for; empty if it is good as it is."""
    found = section_texts(text)
    if len(found) < _LEAST_SECTIONS:
        missing = [title for title in TITLES if title not in found]
        return _text("Sections are missing: {headings}.", headings=", ".join(missing))
    if former is None:
        return ""
    lost = _lost_statements(sections, former)
    if not lost:
        return ""
    return _text(
        "It leaves out {count} statements of the previous summary, such as “{statement}”.",
        count=len(lost),
        statement=cut_between_words(lost[0].text, _QUOTED_CHARS),
    )


def _lost_statements(sections: Sequence[Section], former: HandoverMade) -> list[Bullet]:
    """Return the statements of a former summary that a new one drops without a word, if these are most.

    What was open then may be settled and gone.
    """
    lasting = [section for section in former.sections if not can_be_settled(section.title)]
    facts = [bullet for section in lasting for bullet in section.bullets]
    if len(facts) < _JUDGED_FACTS:
        return []
    new = [bullet for section in sections for bullet in section.bullets]
    text = "\n".join(bullet.text for bullet in new)
    cited = frozenset(chain.from_iterable(bullet.sources for bullet in new))
    terms = _terms_in(text)
    lost = [fact for fact in facts if not _is_kept(fact, terms, cited)]
    return lost if len(lost) * 2 > len(facts) else []


def _is_kept(fact: Bullet, terms: Set[str], cited: Set[int]) -> bool:
    """Return True if a text with these terms and sources says anything of a statement."""
    own = _terms_in(fact.text)
    names = _names_in(fact.text)
    if not cited.isdisjoint(fact.sources) or not names.isdisjoint(terms):
        return True
    return len(own & terms) * 2 >= max(1, len(own))


def _terms_in(text: str) -> frozenset[str]:
    lowered = text.lower()
    return _names_in(text) | {*_WORD.findall(lowered), *_FIGURE.findall(lowered)}


def _names_in(text: str) -> frozenset[str]:
    """Return the identifiers of a text in lower case, of paths their last part."""
    return frozenset(name.rstrip("/").rpartition("/")[2].lower() for name in identifiers_in(text))


def _least_chars(source: SummaryInput) -> float:
    return min(MIN_SHARE * source.size, source.sufficient_chars)


def _count_subjects(text: str, cited: Set[int], source: SummaryInput) -> int:
    """Return how many files, commands, other names and entries of the input a text names."""
    lowered = text.lower()
    files = {path for path in source.files if any(name in lowered for name in _file_names(path))}
    commands = {it for it in source.commands if any(part in lowered for part in _command_names(it))}
    file_names = {name for path in files for name in _file_names(path)}
    names = (_names_in(text) & source.names) - file_names
    entries = cited | _instructions_named(lowered, source)
    return len(files) + len(commands) + len(names) + len(entries)


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


def _instructions_named(lowered: str, source: SummaryInput) -> set[int]:
    """Return the user's messages of which a text has several words, or all of a short one."""
    summary_words = set(_WORD.findall(lowered))
    named: set[int] = set()
    for seq, text in source.instructions.items():
        words = set(_WORD.findall(text.lower()))
        if words and len(words & summary_words) >= min(_SHARED_WORDS, len(words)):
            named.add(seq)
    return named
