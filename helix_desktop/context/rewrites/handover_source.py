"""What a handover is written from: where it may end, what a model reads, and how its text becomes events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.context.log.notes import newest_mode_note
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover, LogItem
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites import planner, sweep
from helix_desktop.context.summaries.handover import (
    CutPoint,
    agent_texts,
    available_cuts,
    covered_counts,
    covered_messages,
    newest_checkpoint,
    newest_turn_words,
    parse_handover,
    previous_handover,
    render_handover,
    section_text,
    uncovered_messages,
    user_text_budget,
    user_text_seqs,
    user_texts,
)
from helix_desktop.context.summaries.handover_revision import same_cut, without_handover
from helix_desktop.context.summaries.index_entry import build_index_entry, index_content
from helix_desktop.context.summaries.sections import extractive_handover, without_repeats
from helix_desktop.context.summaries.summary_coverage import (
    CHARS_PER_TOKEN,
    CoveredFacts,
    check_summary_coverage,
    covered_facts,
)
from helix_desktop.context.summaries.summary_task import (
    FOLLOWING_MESSAGES,
    SummaryTask,
    accept_sections,
    brief_lines,
    handover_task,
    short_lines,
    summary_input,
    transcript_lines,
)
from helix_desktop.context.window.usage_gauge import UsageGauge, measure_next_request, measure_usage
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger, SweepMade, SweepReason
from helix_desktop.domain.events.summary import SUMMARY_TEXT_VERSION, HandoverMade, Section
from helix_desktop.domain.store import Content
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Context")
_MAX_CUTS = 200  # to choose from: each is priced, and nobody reads more

Sections: TypeAlias = tuple[Section, ...]


def active_handover(transcript: Transcript, seq: int) -> HandoverMade:
    """Return the active handover `seq`. Raises CompactionRefused if another one is active, or none."""
    current = transcript.window.handover
    if current is None or current[0] != seq:
        raise CompactionRefused(
            _text("The handover wasn't changed."),
            _text("Another handover is active now, or none is."),
            _text("Open the timeline and try again."),
        )
    return current[1]


def fork_with(transcript: Transcript, event: HandoverMade) -> Transcript:
    forked = transcript.fork()
    forked.apply(RecordedEvent(forked.last_seq + 1, forked.last_event_at_ms, event))
    return forked


def frees_little(transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, cut: CutPoint) -> bool:
    """Return True if a handover on request would free little there, or nothing."""
    least = planner.least_gain_on_request(policy, gauge)
    return planner.expected_savings(transcript, policy, gauge, cut) < least


def _cuts_on_request(transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge) -> list[CutPoint]:
    """Return all legal cuts, the one to propose first, then the furthest first.

    That is the furthest one before the newest turn which leaves the share of what is used that the policy
    keeps, if it frees enough; else one in the newest turn.
    """
    kept_tokens = _kept_tokens(policy, gauge)
    found = available_cuts(transcript, 0, in_newest_turn=True)
    older = available_cuts(transcript, kept_tokens)
    if older and not frees_little(transcript, policy, gauge, older[0]):
        proposed = older[:1]
    else:
        proposed = available_cuts(transcript, kept_tokens, in_newest_turn=True)[:1] or found[:1]
    return [*proposed, *(cut for cut in found if cut not in proposed)]


def _kept_tokens(policy: ContextPolicy, gauge: UsageGauge) -> int:
    """Return the tokens that stay behind a handover on request, by our count."""
    return int(min(gauge.window, gauge.used) * policy.handover_keep / gauge.ratio)


def cut_on_request(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, upto: int = 0
) -> CutPoint:
    """Return the cut that ends at event `upto` (0: the one to propose). Raises CompactionRefused."""
    found = _cuts_on_request(transcript, policy, gauge)
    if not found:
        raise _nothing_to_compact(has_messages=bool(transcript.messages.items))
    cut = next((candidate for candidate in found if upto in {0, candidate.upto}), None)
    if cut is None:
        raise CompactionRefused(
            _text("Can't compact up to this message (e{event}).", event=str(upto)),
            _text("It can only end after a complete step, before the newest part."),
            _text("Choose another message."),
        )
    return cut


def offered_cuts(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, upto: int
) -> list[CutPoint]:
    """Return all legal cuts; of very many, some at equal distances and the nearest before event `upto`."""
    found = _cuts_on_request(transcript, policy, gauge)
    return [*found[:1], *_thinned(found[1:], upto)]


def cut_of_everything(transcript: Transcript) -> CutPoint:
    """Return the cut behind every message. Raises CompactionRefused without one."""
    items = transcript.messages.items
    if not items:
        raise _nothing_to_compact(has_messages=False)
    return CutPoint(items[-1].seq, 0, len(items), sum(map(transcript.window.entry_tokens, items)))


def without_active(transcript: Transcript, seq: int) -> tuple[Transcript, CutPoint]:
    """Return a fork without the active handover `seq`, and the cut of that one. Raises CompactionRefused."""
    handover = active_handover(transcript, seq)
    fork, _ = without_handover(transcript)
    return fork, same_cut(fork, handover.upto, handover.kept)


def cuts_to_rerun(
    fork: Transcript, same: CutPoint, policy: ContextPolicy, frame: PromptFrame, gauge: UsageGauge, upto: int
) -> list[CutPoint]:
    """Return where a handover that is written again may end: the `same` cut first; see `without_active`."""
    used = measure_usage(project(fork, policy, frame), fork, policy, frame)
    legal = _thinned(available_cuts(fork, _kept_tokens(policy, gauge)), upto)
    others = (cut for cut in legal if cut.upto != same.upto)
    return [same, *(cut for cut in others if not frees_little(fork, policy, used, cut))]


def _thinned(cuts: Sequence[CutPoint], upto: int) -> list[CutPoint]:
    """Return at most about `_MAX_CUTS` of these, with the first and the nearest one before event `upto`."""
    step = -(-len(cuts) // _MAX_CUTS)
    nearest = next((cut for cut in cuts if cut.upto <= upto), None)
    return [cut for place, cut in enumerate(cuts) if place % step == 0 or cut is nearest]


def _nothing_to_compact(has_messages: bool) -> CompactionRefused:
    return CompactionRefused(
        _text("Nothing to compact yet."),
        _text("Only the newest message and what was answered last are left; they always stay.")
        if has_messages
        else _text("This session has no messages."),
        _text("Send a message first."),
    )


class HandoverSource(msgspec.Struct, frozen=True):
    """What a handover is written from: the messages to cover, the current handover, and the tokens used.

    `words` are the agent's messages among them that stay verbatim, those of the newest complete turn. A new
    handover takes the place of those in `replaces`. The messages `following` them stay in the window. The
    user's words stay from `quoted_from` on. With `is_short` a model reads the `fresh` messages in their short
    form; without any, `previous`, the `checkpoint` of that event, says all that there is to say.
    """

    cut: CutPoint
    fresh: tuple[LogItem, ...]
    covered: tuple[LogItem, ...]
    covers: tuple[Cover, ...]
    masked: frozenset[int]
    previous_seq: int
    previous: HandoverMade | None
    used: int
    words: tuple[int, ...]
    replaces: tuple[int, ...]
    following: tuple[LogItem, ...]
    quoted_from: int
    is_short: bool
    checkpoint: int

    @classmethod
    def read(
        cls,
        transcript: Transcript,
        policy: ContextPolicy,
        frame: PromptFrame,
        cut: CutPoint,
        *,
        rerun_seq: int = 0,
        is_update: bool = False,
        is_short: bool = False,
    ) -> HandoverSource:
        """Return what to read; with `is_update`, the newest checkpoint and what came since in short form.

        With `rerun_seq`, the active handover, that one is written again. Raises CompactionRefused.
        """
        replaces, window_size = tuple[int, ...](), frame.info.window
        quoted = user_text_seqs(transcript, cut.upto, cut.kept_seq, policy.user_text_tokens, window_size)
        if rerun_seq:
            active_handover(transcript, rerun_seq)
            transcript, replaces = without_handover(transcript)
        window, messages = transcript.window, transcript.messages
        fresh = uncovered_messages(transcript, cut.upto, cut.kept_seq)
        previous, checkpoint = previous_handover(transcript), 0
        newest = newest_checkpoint(transcript) if is_update else None
        if newest is not None:
            checkpoint, previous = newest
            since = messages.between(previous.upto, cut.upto)
            fresh = [item for item in since if item.seq != cut.kept_seq]
        kept = messages.item(cut.kept_seq) if cut.kept_seq else None
        later = messages.between(cut.upto, transcript.last_seq)
        return cls(
            cut=cut,
            fresh=tuple(window.without_excluded(fresh)),
            covered=tuple(covered_messages(transcript, cut.upto, cut.kept_seq)),
            covers=window.covers,
            masked=frozenset(window.masked),
            previous_seq=window.handover[0] if window.handover else 0,
            previous=previous,
            used=measure_usage(project(transcript, policy, frame), transcript, policy, frame).used,
            words=newest_turn_words(
                transcript, cut.upto, user_text_budget(policy.user_text_tokens, window_size)
            ),
            replaces=replaces,
            following=tuple(window.without_excluded(later if kept is None else [kept, *later])),
            quoted_from=min(quoted - {0, cut.kept_seq}, default=0),
            is_short=is_short or bool(checkpoint),
            checkpoint=checkpoint,
        )

    @property
    def unchanged_checkpoint(self) -> HandoverMade | None:
        """Return the checkpoint that is put in place as it is, without a call; None: one is needed."""
        return self.previous if self.checkpoint and not self.fresh else None

    def task(self, prompt: str, focus: str) -> SummaryTask:
        """Return what a model is asked. Slow: call it in a thread."""
        if self.is_short:
            lines = short_lines(self.fresh)
        else:
            lines = transcript_lines(self.fresh, self.covers, self.masked)
        following = brief_lines(self.following[-FOLLOWING_MESSAGES:])
        return handover_task(prompt, lines, self.previous, focus, self.quoted_from, following)

    def acceptance(self, task: SummaryTask) -> Callable[[str], Sections]:
        """Return what parses a text, and raises CompactionRefused for a useless one. Slow as `task`."""
        source = summary_input(task.lines, self.covered)
        return lambda text: accept_sections(self.parse(text), source, text)

    def parse(self, text: str) -> Sections:
        """Return the sections of a model's text, without sources that it can't have."""
        requests = (item for item in self.following if isinstance(item.event, UserSpoke))
        return parse_handover(text, frozenset(item.seq for item in (*self.covered, *requests)))

    def extracts(self, reverts: Mapping[str, FileRevert]) -> Sections:
        """Return the sections that no model wrote. Slow as `task`."""
        return extractive_handover(self.fresh, self.previous, reverts)

    def facts(self) -> CoveredFacts:
        """Return the facts of what is covered. Slow as `task`."""
        return covered_facts(self.covered)

    def event(
        self, transcript: Transcript, policy: ContextPolicy, sections: Sections, facts: CoveredFacts
    ) -> HandoverMade:
        """Return the event without its writer, and what is known only on recording: index, usage after it."""
        facts.ledger.mark_reverted(transcript.reverted_files.by_path)
        facts.ledger.mark_skills(transcript.skill_folders, transcript.window.whole_texts(self.covered))
        checkpoint = self.unchanged_checkpoint
        return HandoverMade(
            upto=self.cut.upto,
            kept=self.cut.kept_seq,
            sections=sections,
            ledger=facts.ledger.text(policy.ledger_tokens),
            index=digest_of(b""),
            index_entries=0,
            tokens=0,
            before=self.used,
            after=0,
            messages=covered_counts(transcript, self.cut.upto, self.cut.kept_seq).messages,
            model="",
            trigger=HandoverTrigger.MANUAL,
            former=self.previous_seq,
            handle_digits=policy.handle_digits,
            words=self.words,
            replaces=self.replaces,
            mode_note=newest_mode_note(self.covered),
            checkpoint=self.checkpoint,
            edited=bool(checkpoint and checkpoint.edited),
            text_version=SUMMARY_TEXT_VERSION,
        )


def coverage_check(
    transcript: Transcript, policy: ContextPolicy, window_size: int, event: HandoverMade, facts: CoveredFacts
) -> Callable[[], HandoverMade]:
    """Return what finds the facts that a handover does not name, to be called in a thread."""
    text = "\n".join([*(section_text(section, False) for section in event.sections), event.ledger])
    quoted = user_text_seqs(transcript, event.upto, event.kept, policy.user_text_tokens, window_size)
    verbatim, todo_list = quoted.union(event.words), transcript.todo_list_between(0, event.upto)
    max_chars = policy.ledger_tokens * CHARS_PER_TOKEN

    def check() -> HandoverMade:
        coverage = check_summary_coverage(facts, text, max_chars, verbatim, todo_list)
        return msgspec.structs.replace(event, coverage=coverage)

    return check


def own_text(transcript: Transcript, policy: ContextPolicy, window_size: int, event: HandoverMade) -> str:
    """Return what a handover's tokens count: all of it but the user's own messages."""
    texts = user_texts(transcript, event, policy.user_text_tokens, window_size)
    as_sent = without_repeats(event, [text for _, text, _ in texts])
    return render_handover(as_sent, (), agent_texts(transcript, event.words))


def with_index(transcript: Transcript, event: HandoverMade) -> tuple[HandoverMade, Content]:
    text, entries = build_index_entry(transcript, 0, event.upto, event.kept)
    content = index_content(text, "handover", f"e{event.upto}")
    return msgspec.structs.replace(event, index=content.digest, index_entries=entries), content


def takes_place_of_same(transcript: Transcript, event: HandoverMade) -> bool:
    """Return True if a handover still updates and replaces what it was written for."""
    base, replaces = without_handover(transcript) if event.replaces else (transcript, ())
    current = base.window.handover
    return (current[0] if current else 0) == event.former and replaces == event.replaces


def events_to_record(
    transcript: Transcript, policy: ContextPolicy, frame: PromptFrame, event: HandoverMade
) -> tuple[Event, ...]:
    """Return a handover with its figures, and the sweep that goes with it.

    Raises CompactionRefused if it is outdated, or if too little is freed.
    """
    base = without_handover(transcript)[0] if event.replaces else transcript
    if not takes_place_of_same(transcript, event):
        raise CompactionRefused(
            _text("The conversation wasn't compacted."),
            _text("The history changed in the meantime."),
            _text("Nothing was changed."),
        )
    forked, sweeps = fork_with(transcript, event), tuple[SweepMade, ...]()
    plan = sweep.sweep_with_rewrite(forked, policy, measure_next_request(forked, policy, frame))
    if plan is not None:
        sweeps = (SweepMade(plan.masked, plan.saved, SweepReason.HANDOVER),)
        forked.apply(RecordedEvent(forked.last_seq + 1, forked.last_event_at_ms, sweeps[0]))
    after = project(forked, policy, frame)
    usage = measure_usage(project(transcript, policy, frame), transcript, policy, frame)
    freed = (project(base, policy, frame).estimate - after.estimate) * usage.ratio
    _require_gain(event, policy, usage, round(freed))
    used_after = measure_usage(after, forked, policy, frame).used
    return (msgspec.structs.replace(event, before=usage.used, after=used_after), *sweeps)


def _require_gain(event: HandoverMade, policy: ContextPolicy, gauge: UsageGauge, freed: int) -> None:
    """Raise CompactionRefused if a handover frees too few tokens.

    One that the user asked for may free as little as its draft said; only their own text not less than that.
    """
    if event.trigger is not HandoverTrigger.MANUAL:
        if freed >= max(1, planner.least_gain(policy, gauge)):
            return
        why = _text(
            "It would free only {tokens} tokens, less than {share} % of the context window.",
            tokens=freed,
            share=round(policy.handover_least_gain * 100),
        )
    elif event.edited and freed < min(0, event.before - event.after):
        why = _text("With your text, the context would be {tokens} tokens larger.", tokens=-freed)
    else:
        return
    raise CompactionRefused(_text("The conversation wasn't compacted."), why, _text("Nothing was changed."))
