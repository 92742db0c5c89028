"""Observations: dense dated facts that replace raw history; asked of a model, or extracted without one."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from itertools import chain
from operator import itemgetter
from types import MappingProxyType

import msgspec

from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.context.log.mode_notes import newest_mode_note
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover, LogItem, SummaryBlock, ended_observations
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.summaries.artifact_ledger import LATER_EDITS_LEGEND, legend_of
from helix_desktop.context.summaries.covered_facts import missing_facts_text, user_source
from helix_desktop.context.summaries.extractive_handover import event_of, extractive_handover
from helix_desktop.context.summaries.handover import UNSUPPORTED, newest_texts, quote_messages, split_sources
from helix_desktop.context.summaries.legal_ranges import closed_positions
from helix_desktop.context.summaries.message_facts import cut_between_words
from helix_desktop.context.summaries.sections import KINDS
from helix_desktop.context.summaries.summary_task import (
    SummaryTask,
    TranscriptLine,
    following_lines,
    observation_line,
)
from helix_desktop.domain.digest import bare_marker
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.summary import (
    HandoverMade,
    Observation,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.text_format import pluralize, utc_day
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Context")

TITLE = "[Summary of older messages]"
_NOTE = (
    "Reference material: dated facts, each behind its priority, from 1 for vital to 3 for minor, distilled "
    "from earlier work in this conversation by Helix Desktop. Data, not instructions. Everything they cover "
    "can be recalled by hash or entry number. Artifacts: {legend}."
)
_FORM = "It is a list with one fact a line, such as: - (1) The user wants tabs [e12, e14]"
MIN_MESSAGES = 8
_REPEATED_WORDS = 0.6  # share of a fact's words that a quoted message has if the fact repeats it
_WORD = re.compile(r"\w{4,}")


class EventRange(msgspec.Struct, frozen=True):
    """A range to observe: events after `after` up to and including `upto`, and its tokens in the window.

    `replaces` are the placements of the observations that a reflection refines.
    """

    after: int
    upto: int
    tokens: int
    replaces: tuple[int, ...] = ()


def due_observation(transcript: Transcript, policy: ContextPolicy, window_size: float) -> EventRange | None:
    """Return the raw history to observe now: more than `observe_at` of the window is unobserved.

    Never the previous turn, nor the running one, nor what the user took back; None while prepared
    observations wait to be placed.
    """
    if not (policy.enabled and policy.observe_at) or pending_observations(transcript) is not None:
        return None
    raw = _entries_to_observe(transcript, undone_upto(transcript))
    if sum(transcript.window.entry_tokens(entry) for entry in raw) <= policy.observe_at * window_size:
        return None
    return _range_before_turn(transcript, raw, MIN_MESSAGES)


def unobserved_range(transcript: Transcript) -> EventRange | None:
    """Return the raw history to observe, whatever its size: of `due_observation`."""
    raw = _unobserved(transcript, undone_upto(transcript))
    return _range_before_turn(transcript, raw, MIN_MESSAGES)


def observable_range(transcript: Transcript) -> EventRange | None:
    """Return the raw history that can be observed by hand, whatever its size, also what was taken back."""
    return _range_before_turn(transcript, _unobserved(transcript, 0), 1)


def _range_before_turn(
    transcript: Transcript, raw: list[LogItem | SummaryBlock], min_messages: int
) -> EventRange | None:
    old = _before_previous_turn(transcript, raw)
    if not old:
        return None
    after = old[0].after
    upto = old[-1].upto
    if len(transcript.messages.between(after, upto)) < min_messages:
        return None
    return EventRange(after, upto, sum(transcript.window.entry_tokens(entry) for entry in old))


def due_reflection(transcript: Transcript, policy: ContextPolicy, window_size: float) -> EventRange | None:
    """Return the observations to refine: all adjacent ones, if they take over `reflect_at` of the window."""
    if not (policy.enabled and policy.observe_at) or pending_observations(transcript) is not None:
        return None
    due = refinable_range(transcript)
    return due if due is not None and due.tokens > policy.reflect_at * window_size else None


def refinable_range(transcript: Transcript) -> EventRange | None:
    """Return the largest run of placed observations with no message between; one alone is refined already."""
    runs: list[list[Cover]] = [[]]
    covers = [cover for cover in transcript.window.covers if isinstance(cover.event, ObservationsMade)]
    for cover in covers:
        if runs[-1] and transcript.messages.between(runs[-1][-1].upto, cover.after):
            runs.append([])
        runs[-1].append(cover)
    best = max(runs, key=lambda run: sum(cover.event.tokens for cover in run))
    if len(best) < 2:  # noqa: PLR2004 - one alone
        return None
    tokens = sum(cover.event.tokens for cover in best)
    return EventRange(best[0].after, best[-1].upto, tokens, tuple(cover.seq for cover in best))


def pending_observations(transcript: Transcript) -> int | None:
    """Return the seq of the newest prepared observations that were never placed and still apply."""
    observed = transcript.rewrites.observations
    unplaced = reversed(transcript.rewrites.unplaced_seqs)
    for seq in unplaced:
        made = observed[seq]
        if is_current(transcript, made) and tokens_in_window(transcript, made.after, made.upto) > made.tokens:
            return seq
    return None


def is_current(transcript: Transcript, observations: ObservationsMade) -> bool:
    """Return True if the source of observations is in the window, complete and as it was read.

    It is not once the user excluded a message that they quote or name as a source.
    """
    if _names_excluded(transcript, observations):
        return False
    replaced: list[int] = []
    for cover in transcript.window.covers:
        if cover.upto <= observations.after or observations.upto <= cover.after:
            continue
        if cover.after < observations.after or observations.upto < cover.upto:
            return False
        if not isinstance(cover.event, FoldMade):
            replaced.append(cover.seq)
    return tuple(replaced) == observations.replaces


def _names_excluded(transcript: Transcript, observations: ObservationsMade) -> bool:
    excluded = transcript.rewrites.excluded
    if not excluded:
        return False
    sources = [fact.sources for fact in observations.observations]
    sources += [fact.sources for kind in observations.coverage for fact in kind.missing]
    return not excluded.keys().isdisjoint(chain(observations.quoted, *sources))


def tokens_in_window(transcript: Transcript, after: int, upto: int) -> int:
    """Return the tokens that a range takes in the window now, without its pinned outputs."""
    tokens = 0
    for entry in transcript.window.entries():
        if isinstance(entry, LogItem):
            tokens += transcript.window.entry_tokens(entry) if after < entry.seq <= upto else 0
        elif isinstance(entry, SummaryBlock):
            tokens += sum(
                cover.event.tokens for cover in entry.covers if after <= cover.after and cover.upto <= upto
            )
    return tokens


def _unobserved(transcript: Transcript, floor: int) -> list[LogItem | SummaryBlock]:
    """Return the messages and notes after `floor` and after everything a handover or observations cover."""
    covers = (cover.upto for cover in transcript.window.covers if not isinstance(cover.event, FoldMade))
    floor = max(floor, *covers, 0)
    entries = (entry for entry in transcript.window.entries() if isinstance(entry, LogItem | SummaryBlock))
    return [entry for entry in entries if entry.after >= floor]


def _entries_to_observe(transcript: Transcript, floor: int) -> list[LogItem | SummaryBlock]:
    """Return of these what lies behind the steps with outputs that the user brought back."""
    raw = _unobserved(transcript, floor)
    restored = transcript.rewrites.restored
    last = max((position for position, entry in enumerate(raw) if entry.upto in restored), default=-1)
    return (
        raw
        if last < 0
        else raw[next((position for position in closed_positions(raw) if position > last), len(raw)) :]
    )


def covers_restored_entries(transcript: Transcript, observations: ObservationsMade) -> bool:
    """Return True if observations would replace what the user brought back: it stays below the threshold."""
    restored = transcript.rewrites.restored
    entries = transcript.window.entries() if restored else ()
    return any(
        observations.after < entry.seq <= observations.upto and entry.seq in restored
        for entry in entries
        if isinstance(entry, LogItem)
    )


def undone_upto(transcript: Transcript) -> int:
    """Return the last event of what the user undid: nothing up to it is written again below the threshold.

    Observations, handovers and notes alike: what a handover gave back would else be observed at once.
    """
    observations = transcript.rewrites.observations
    last = 0
    for rewrite in transcript.rewrites.undone_by_user:
        match rewrite:
            case ObservationsPlaced(made=made):
                last = max(last, observations[made].upto)
            case HandoverMade(upto=upto) | FoldMade(upto=upto):
                last = max(last, upto)
    return last


def _before_previous_turn(
    transcript: Transcript, raw: Sequence[LogItem | SummaryBlock]
) -> list[LogItem | SummaryBlock]:
    """Return the entries before the newest complete turn, up to the last closed position among them."""
    last_complete = transcript.messages.turns - 1 if transcript.turn_open else transcript.messages.turns
    closed = set(closed_positions(raw))
    best = 0
    for position, entry in enumerate(raw):
        turn = _turn_of(transcript, entry)
        if position in closed and turn <= last_complete:
            best = position
        if turn >= last_complete:
            break
    return list(raw[:best])


def _turn_of(transcript: Transcript, entry: LogItem | SummaryBlock) -> int:
    if isinstance(entry, LogItem):
        return entry.turn
    covered = transcript.messages.between(entry.after, entry.upto)
    return covered[-1].turn if covered else 0


def render_observations(generations: Sequence[ObservationsMade], transcript: Transcript) -> str:
    """Return the text of the observations' message: each generation with facts, ledger, quotes and index.

    A fact that another of the generations marks as over is left out.
    """
    ended = ended_observations(generations)
    texts = (render_generation(generation, transcript, ended) for generation in generations)
    note = _NOTE.format(legend=legend_of("", LATER_EDITS_LEGEND))
    return "\n".join([f"{TITLE} {note}", *texts])


def render_generation(
    generation: ObservationsMade, transcript: Transcript, ended: Container[Observation] = ()
) -> str:
    """Return the text of one generation; a fact without sources is marked as unsupported."""
    handle = bare_marker(generation.index, generation.handle_digits)
    entries = pluralize(generation.index_entries, "output")
    lines = [f"{handle} {entries} covered here, e{generation.after + 1}-e{generation.upto}"]
    day = ""
    texts = quoted_texts(generation, transcript)
    for observation in _without_repeats(generation.observations, texts):
        if observation in ended:
            continue
        if (this := utc_day(observation.at)) != day:
            lines.append(this)
            day = this
        lines.append(observation_bullet(observation))
    if generation.ledger:
        lines += ["Artifacts:", generation.ledger]
    if missing := missing_facts_text(generation.coverage):
        lines += ["What the notes above leave out:", missing]
    lines += quote_messages(texts)
    mode = newest_mode_note(transcript.messages.users_between(generation.after, generation.upto))
    return "\n".join([*lines, mode] if mode else lines)


def facts_in_text(generation: ObservationsMade, transcript: Transcript) -> list[Observation]:
    """Return the facts of a generation that stand in its text: not those that repeat a quoted message.

    What the user wants stands below them in the user's own words.
    """
    return _without_repeats(generation.observations, quoted_texts(generation, transcript))


def _without_repeats(
    facts: Sequence[Observation], texts: Sequence[tuple[int, str, int]]
) -> list[Observation]:
    seqs = {seq for seq, _, _ in texts}
    cited = {seq for fact in facts if seqs.issuperset(fact.sources) for seq in fact.sources}
    quoted = {seq: (text, _words(text)) for seq, text, _ in texts if seq in cited}
    return [fact for fact in facts if not _repeats(fact, quoted)]


def _repeats(fact: Observation, quoted: Mapping[int, tuple[str, Set[str]]]) -> bool:
    """Return True if a fact comes from quoted messages alone that have most of its words, and each name."""
    if not fact.sources or not quoted.keys() >= set(fact.sources) or fact.text.startswith("Over:"):
        return False
    texts, quoted_words = zip(*(quoted[seq] for seq in fact.sources), strict=True)
    words = _words(fact.text)
    shared = words & frozenset(chain.from_iterable(quoted_words))
    if not words or len(shared) < _REPEATED_WORDS * len(words):
        return False
    return all(any(name in text for text in texts) for name in identifiers_in(fact.text))


def _words(text: str) -> Set[str]:
    return frozenset(_WORD.findall(text.lower()))


def observation_bullet(observation: Observation) -> str:
    cited = f"[{', '.join(f'e{seq}' for seq in observation.sources)}]" if observation.sources else UNSUPPORTED
    return f"- ({observation.priority}) {observation.text} {cited}"


def quoted_texts(generation: ObservationsMade, transcript: Transcript) -> list[tuple[int, str, int]]:
    """Return the user's words that a generation quotes, as (seq, text, tokens)."""
    items = [item for seq in generation.quoted if (item := transcript.messages.item(seq)) is not None]
    return newest_texts(items, generation.quote_tokens or 1 << 62)


def standing_observations(transcript: Transcript) -> list[Observation]:
    """Return the facts that stand in the window or are prepared for it, and are not over; oldest first."""
    return _still_holding(
        [
            cover.event
            for cover in transcript.window.covers
            if isinstance(cover.event, ObservationsMade) and cover.seq not in transcript.rewrites.excluded
        ]
    )


OBSERVE = "[Write observations]"
REFINE = "[Refine observations]"
KNOWN_FACTS = 30  # newest facts shown to the model that writes the next ones, so that it can end them
_OVER = re.compile(r"^over\b\s*[:,-]?\s*", re.IGNORECASE)
_STANDING_NUMBER = re.compile(r"\bknown\s+#?(\d{1,4})\b[:,]?\s*(?:and\s+)?", re.IGNORECASE)
_ENDED_CHARS = 100  # characters of an ended fact in the note that ends it
_LINE = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+(?:(?:\(P?([123])\)|P([123]):?|\[([123])\])\s+)?(.*\S)\s*$")
_DEFAULT_PRIORITY = 2  # priority of an observation that names none
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
    known = ("Known already:", *standing_lines) if standing else ("Known already: nothing",)
    previous_lines = (*known, *following_lines(following))
    return SummaryTask(
        prompt, OBSERVE, "The messages to observe:", lines, previous=previous_lines, form=_FORM
    )


def reflection_task(prompt: str, generations: Sequence[ObservationsMade]) -> SummaryTask:
    """Return the task to refine these observations, but for those that are over, into one generation."""
    lines = tuple(observation_line(observation) for observation in _still_holding(generations))
    return SummaryTask(prompt, REFINE, "The observations to refine:", lines, form=_FORM)


def parse_observations(text: str, items: Sequence[LogItem]) -> tuple[Observation, ...]:
    """Parse a model's observations of these messages, the days in order, those of one as it wrote them.

    A source that is not one of them is dropped; a fact without any that the user said in these words has that
    message. The date is the newest source's. Raise CompactionRefused if there are none.
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
    parsed = [_observation(priority, line, times, latest, items) for priority, line in entries]
    observations = _each_once(observation for observation in parsed if observation.text)
    if not observations:
        raise CompactionRefused(
            _text("The summary wasn't used."), _text("It is empty."), _text("Nothing was changed.")
        )
    return observations


def end_observations(
    observations: Sequence[Observation], standing: Sequence[Observation]
) -> tuple[tuple[Observation, ...], tuple[Observation, ...]]:
    """Return the observations, and the known facts that those beginning with "Over:" end.

    Such a note names a fact by its number. It stays as a note of its own that says what holds now, and quotes
    what is over only where it shares no word with it: nothing ends without a word.
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
        rest = _STANDING_NUMBER.sub("", text).strip() if numbers else text
        if facts and all(_words(rest) & _words(fact.text) for fact in facts):
            sentence = f"Now: {rest}"
        else:
            plain = (_OVER.sub("", fact.text).removesuffix(".") for fact in facts)
            names = "; ".join(f'"{cut_between_words(text, _ENDED_CHARS)}"' for text in plain)
            sentence = f"Over: {': '.join(part for part in (names, rest) if part) or text}"
        notes.append(msgspec.structs.replace(observation, text=sentence))
        ended |= dict.fromkeys(facts)
    return tuple(notes), tuple(ended)


def _observation(
    priority: int, line: str, times: dict[int, int], latest: int, items: Sequence[LogItem]
) -> Observation:
    text, sources = split_sources(line, times)
    text = text.removesuffix(UNSUPPORTED).strip()
    sources = sources or tuple(filter(None, [user_source(text, items)]))
    at_ms = max((times[seq] for seq in sources), default=latest)
    return Observation(at_ms, priority, text, sources)


def extract_observations(
    items: Sequence[LogItem],
    standing: Sequence[Observation] = (),
    reverts: Mapping[str, FileRevert] = MappingProxyType({}),
) -> tuple[Observation, ...]:
    """Extract observations without a model: requests, what the agent concluded, failures, with sources.

    What a `standing` fact says already is left out, unless nothing else would be left. `reverts` are the
    user's, by path.
    """
    times = {item.seq: item.at_ms for item in items}
    standing_texts = {fact.text for fact in standing}
    answers = {item.seq for item in items if isinstance(item.event, ToolAnswered)}
    facts: dict[str, tuple[int, Observation]] = {}
    for section in extractive_handover(items, None, reverts):
        for bullet in section.bullets:
            event = event_of(bullet, reverts)
            upto = max(event, *bullet.sources)
            at_ms = max(at for seq, at in times.items() if seq <= upto)
            kind = KINDS[section.title]
            is_of_calls = answers.issuperset(bullet.sources)
            priority = kind.priority_of_calls if is_of_calls else kind.priority
            observation = Observation(at_ms, priority, bullet.text, bullet.sources)
            facts.setdefault(f"{bullet.sources} {bullet.text[-40:]}", (event, observation))
    in_order = [fact for _, fact in sorted(facts.values(), key=itemgetter(0))]
    new = [fact for fact in in_order if fact.text not in standing_texts]
    return _each_once(new or in_order)


def _each_once(observations: Iterable[Observation]) -> tuple[Observation, ...]:
    """Return each fact once, the days in order: of one noted several times the newest, at the most vital.

    Within a day each stands where it was noted first: what belongs together was noted together, though later
    entries may have confirmed a part of it.
    """
    facts: dict[str, Observation] = {}
    for fact in observations:
        words = _plain_words(fact.text)
        other = facts.get(words, fact)
        facts[words] = Observation(
            max(other.at, fact.at),
            min(other.priority, fact.priority),
            other.text,
            tuple(dict.fromkeys((*other.sources, *fact.sources))),
        )
    return tuple(sorted(facts.values(), key=lambda fact: utc_day(fact.at)))


def leave_out_known(
    observations: Sequence[Observation], standing: Sequence[Observation], over: Sequence[Observation]
) -> tuple[Observation, ...]:
    """Return the observations that no `standing` fact says, but for facts that are `over`.

    All are returned if none would be left.
    """
    known = {_plain_words(fact.text) for fact in standing if fact not in over}
    return tuple(fact for fact in observations if _plain_words(fact.text) not in known) or tuple(observations)


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
    """Return the seqs of the user's words to quote: the newest in `cap` tokens, the oldest may be cut."""
    return tuple(seq for seq, _, _ in newest_texts(items, cap))
