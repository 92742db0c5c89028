"""The compactor: writes a handover in three phases, while the user and the agent go on; drafts of one."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import NamedTuple

import msgspec

from helix_desktop.agent.budget import ApproveSpending, SpendNotApproved, approve_any
from helix_desktop.agent.session import CompactionProgress, Phase
from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.window.summarizer import Summarizer, SummaryResult, UnusedSummaries
from helix_desktop.context.log.notes import newest_mode_note
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover, LogItem
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites import planner, sweep
from helix_desktop.context.summaries.handover import (
    CutPoint,
    HandoverPart,
    agent_texts,
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
from helix_desktop.context.summaries.handover_revision import from_markdown, to_markdown, without_handover
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
from helix_desktop.context.window.window import project
from helix_desktop.domain.cost import CostEstimate, Spending
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import CompactionRefused, StoreError, SummaryRefused
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger, SweepMade, SweepReason
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    SUMMARY_TEXT_VERSION,
    HandoverFailed,
    HandoverMade,
    Section,
)
from helix_desktop.domain.translatable_text import OptionalText, TextContext, verbatim


class HandoverDraft(msgspec.Struct, frozen=True):
    """A handover up to `cut`, not recorded; `text` is its sections as Markdown, to be edited.

    `event` is the event it would become. `doubt` says why it may say too little: only the user can accept it.
    `sweep_savings` are the tokens, by our count, that `after` is smaller for what is cached along with it.
    """

    cut: CutPoint
    text: str
    event: HandoverMade
    doubt: OptionalText = ""
    sweep_savings: int = 0

    @property
    def sections(self) -> tuple[Section, ...]:
        """the sections."""
        return self.event.sections

    @property
    def ledger(self) -> str:
        """The artifact ledger, which is not edited."""
        return self.event.ledger

    @property
    def before(self) -> int:
        """Tokens of the window now."""
        return self.event.before

    @property
    def after(self) -> int:
        """Tokens of the window with this handover."""
        return self.event.after

    @property
    def model(self) -> str:
        """The model that wrote it."""
        return self.event.model

    @property
    def fallback(self) -> str:
        """How and why the summary deviates from one call of the first model; empty if it does not."""
        return self.event.fallback


class RestoredDraft(msgspec.Struct, frozen=True):
    """A saved draft to go on with, with the `text` as the user changed it; its cost is recorded."""

    draft: HandoverDraft
    text: str
    is_whole: bool


class CountedPart(NamedTuple):
    """A part of the message that a handover is sent as, and its tokens by our count."""

    part: HandoverPart
    tokens: int


class RevisionDraft(msgspec.Struct, frozen=True):
    """A recorded handover that the user edits: what it says now and said at first.

    Its sentences may cite `valid_seqs`; `facts` are those of the messages that it covers.
    """

    seq: int
    handover: HandoverMade
    original: HandoverMade
    valid_seqs: frozenset[int]
    facts: CoveredFacts


_text = TextContext("Agent")


async def checked_handover(runtime: SessionRuntime, event: HandoverMade, facts: CoveredFacts) -> HandoverMade:
    """Return the event with what it does not name, and its tokens: of all but the user's own messages."""
    policy, transcript = runtime.policy, runtime.transcript
    text = "\n".join([*(section_text(section, False) for section in event.sections), event.ledger])
    window_size = runtime.frame.info.window
    quoted = user_text_seqs(transcript, event.upto, event.kept, policy.user_text_tokens, window_size)
    max_chars = policy.ledger_tokens * CHARS_PER_TOKEN
    verbatim = quoted.union(event.words)
    todo_list = transcript.todo_list_between(0, event.upto)
    coverage = await asyncio.to_thread(check_summary_coverage, facts, text, max_chars, verbatim, todo_list)
    event = msgspec.structs.replace(event, coverage=coverage)
    words = agent_texts(transcript, event.words)
    own_texts = user_texts(transcript, event, policy.user_text_tokens, window_size)
    as_sent = without_repeats(event, [text for _, text, _ in own_texts])
    tokens = await runtime.count_tokens(render_handover(as_sent, (), words))
    return msgspec.structs.replace(event, tokens=tokens)


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
    """Return a copy of the transcript in which a handover is recorded."""
    forked = transcript.fork()
    forked.apply(RecordedEvent(forked.last_seq + 1, forked.last_event_at_ms, event))
    return forked


_BUSY = (
    _text("Already running."),
    _text("The conversation is being compacted."),
    _text("Wait, or cancel."),
)


class CompactionInput(msgspec.Struct, frozen=True):
    """The input of a handover: the messages to cover, the current handover, and the usage before.

    `words` are the agent's messages among them that stay verbatim, those of the newest complete turn. A new
    handover takes the place of those in `replaces`. The messages `following` them stay in the window.
    With `is_short` a model reads the `fresh` messages in their short form; without any, `previous`, the
    `checkpoint` of that event, says all that there is to say.
    """

    cut: CutPoint
    fresh: tuple[LogItem, ...]
    covered: tuple[LogItem, ...]
    covers: tuple[Cover, ...]
    masked: frozenset[int]
    previous_seq: int
    previous: HandoverMade | None
    usage: UsageGauge
    words: tuple[int, ...] = ()
    replaces: tuple[int, ...] = ()
    following: tuple[LogItem, ...] = ()
    is_short: bool = False
    checkpoint: int = 0

    @property
    def unchanged_checkpoint(self) -> HandoverMade | None:
        """Return the checkpoint that is put in place as it is, without a call; None: one is needed."""
        return self.previous if self.checkpoint and not self.fresh else None


class Compactor:
    """The writer of one session's handovers, one at a time."""

    def __init__(self, runtime: SessionRuntime, is_published: bool = True) -> None:
        """Unless its progress `is_published`, nobody sees that it writes."""
        self._runtime, self._is_published = runtime, is_published
        self._summarizer = Summarizer(runtime)
        self.unused = UnusedSummaries(runtime)
        self.is_running = False
        self.is_drafting = False
        self._approve: ApproveSpending = approve_any
        self._estimate: CostEstimate | None = None

    async def run(
        self,
        trigger: HandoverTrigger,
        cut: CutPoint,
        focus: str = "",
        ask_model: bool = True,
        threshold: float = 0.0,
        approve: ApproveSpending = approve_any,
        why_no_model: OptionalText = "",
    ) -> bool:
        """Write and record a handover of everything up to `cut`. Return True if it was recorded.

        Not to `ask_model` is a fallback if it has a reason, `why_no_model`; else the user's choice.
        `threshold` is the share of the context window at which it starts, 0 if that is not the trigger.
        A refusal is recorded with its reason and changes nothing. Of a due one that frees too little after
        other rewrites made room, as of a canceled one, only what was spent is recorded; of a cost that
        `approve` rejects nothing.
        """
        if self.is_running:
            return False
        self.is_running, self._summarizer.spent, self._approve = True, Spending(), approve
        try:
            event, _ = await self._write_handover(trigger, cut, focus, ask_model)
            event = msgspec.structs.replace(
                event, threshold=threshold, fallback=event.fallback or why_no_model
            )
            await self._record(event)
            return True
        except CompactionRefused as error:
            is_due = trigger is HandoverTrigger.THRESHOLD and not isinstance(error, SummaryRefused)
            if is_due and self._usage().pressure == "none":
                await self.unused.record(self._summarizer.spent)  # other rewrites have made the room
            else:
                await self._runtime.session.record(self._summarizer.failure(HandoverFailed, error))
            return False
        except SpendNotApproved:
            return False
        finally:
            self.is_running, self._approve = False, approve_any
            self._publish_phase("idle")

    def _usage(self) -> UsageGauge:
        transcript, policy, frame = self._runtime.transcript, self._runtime.policy, self._runtime.frame
        return measure_usage(project(transcript, policy, frame), transcript, policy, frame)

    async def estimate(self, cut: CutPoint, focus: str = "", rerun_seq: int = 0) -> CostEstimate:
        """Return the cost estimate of a handover up to `cut`; see `draft`. Raises CompactionRefused."""
        source_input = self._read_input(cut, rerun_seq)
        return await self._summarizer.estimate(await self._brief(source_input, focus))

    def require_idle(self) -> None:
        """Raise CompactionRefused while a handover is being written."""
        if self.is_running or self.is_drafting:
            raise CompactionRefused(*_BUSY)

    async def draft(
        self, cut: CutPoint, focus: str = "", is_whole: bool = False, rerun_seq: int = 0
    ) -> HandoverDraft:
        """Write a handover of everything up to `cut` without recording it.

        It may free little, or nothing: its figures say so, and the user decides. One that `is_whole` is for
        another session. With `rerun_seq`, the active handover, it takes the place of that one. Raises
        CompactionRefused if one is being written already. What a draft spent that is canceled is recorded.
        """
        self.require_idle()
        self.is_drafting, self._summarizer.spent = True, Spending()
        try:
            event, doubt = await self._write_handover(
                HandoverTrigger.MANUAL,
                cut,
                focus,
                ask_model=True,
                rerun_seq=rerun_seq,
                is_draft=True,
            )
            sweep_savings = 0
            if not is_whole:
                final_event, *others = self._events_to_record(event)
                assert isinstance(final_event, HandoverMade)  # the event itself comes first
                event = final_event
                sweep_savings = sum(other.saved for other in others if isinstance(other, SweepMade))
            return HandoverDraft(cut, to_markdown(event.sections), event, doubt, sweep_savings)
        except CompactionRefused:
            with suppress(StoreError):  # the reason of the refusal matters more, and the cost is not lost
                await self.unused.record(self._summarizer.spent)
            raise
        finally:
            self.is_drafting = False
            self._publish_phase("idle")

    async def commit(self, draft: HandoverDraft, text: str | None = None) -> None:
        """Record a draft, with the user's own text if it was changed.

        Raises InvalidInput for a text that cannot be parsed, CompactionRefused if the history changed
        meanwhile, or that text makes the window larger.
        """
        event = await self.apply_edits(draft, text)
        self._publish_phase("write")
        try:
            await self._record(event)
        finally:
            self._publish_phase("idle")

    async def apply_edits(self, draft: HandoverDraft, text: str | None) -> HandoverMade:
        """Return a draft's event with the user's own text if it was changed. Raises InvalidInput."""
        if text is None or text.strip() == draft.text.strip():
            return draft.event
        covered = covered_messages(self._runtime.transcript, draft.cut.upto, draft.cut.kept_seq)
        sections = from_markdown(text, frozenset(item.seq for item in covered))
        edited = msgspec.structs.replace(draft.event, sections=sections, edited=True)
        return await checked_handover(self._runtime, edited, await asyncio.to_thread(covered_facts, covered))

    async def prepare(self, upto: int, approve: ApproveSpending) -> tuple[HandoverMade, int]:
        """Write a checkpoint of everything up to an event; return it with the tokens that it read.

        Raises CompactionRefused if no model can, and what `approve` raises.
        """
        self._approve = approve
        started_at_ms, self._summarizer.spent, self._estimate = self._runtime.clock(), Spending(), None
        source_input = self._read_input(CutPoint(upto, 0, 0, 0), is_update=True, is_short=True)
        try:
            result, _ = await self._ask_models(source_input, "")
            if result.value is None:
                why = result.rejection.why if result.rejection else verbatim(result.fallback_reason)
                raise CompactionRefused(_text("No handover was prepared."), why)
            event = await self._build_event(source_input, result)
        except asyncio.CancelledError:
            await self.unused.record(self._summarizer.spent)
            raise
        duration_ms = self._runtime.elapsed_ms(started_at_ms)
        return msgspec.structs.replace(event, index="", duration_ms=duration_ms, read=0), event.read

    @property
    def spent(self) -> Spending:
        """What the newest attempt spent, even if it failed."""
        return self._summarizer.spent

    def _publish_phase(self, phase: Phase, text: str = "") -> None:
        if not self._is_published:
            return
        self._estimate = self._estimate if phase in ("summarize", "check", "write") else None
        self._runtime.session.publish(CompactionProgress(phase, text, self._estimate))

    def _on_estimate(self, estimate: CostEstimate) -> None:
        """Approve and store the cost estimate before the first call. Raises SpendNotApproved."""
        self._approve(estimate)
        self._estimate = estimate

    async def _write_handover(
        self,
        trigger: HandoverTrigger,
        cut: CutPoint,
        focus: str,
        ask_model: bool,
        rerun_seq: int = 0,
        is_draft: bool = False,
    ) -> tuple[HandoverMade, OptionalText]:
        """Run the first two phases: read, then call the models without holding a lock.

        Return also why a draft may say too little; one that is recorded at once may not.
        """
        started_at_ms = self._runtime.clock()
        self._publish_phase("read")
        source_input = self._read_input(cut, rerun_seq, is_update=trigger is not HandoverTrigger.MANUAL)
        if trigger is HandoverTrigger.OVERFLOW and not ask_model:  # the words have to go, too
            source_input = msgspec.structs.replace(source_input, words=())
        nearly_open = self._runtime.transcript.handover_failures >= planner.BREAKER_FAILURES - 1
        last_try = trigger is HandoverTrigger.THRESHOLD and nearly_open  # before only the user can start one
        try:
            summary = await self._summarize(source_input, focus, ask_model, last_try, is_draft)
            self._publish_phase("check")
            event = await self._build_event(source_input, summary)
        except asyncio.CancelledError:
            await self.unused.record(self._summarizer.spent)
            raise
        duration_ms = self._runtime.elapsed_ms(started_at_ms)
        event = msgspec.structs.replace(event, trigger=trigger, focus=focus, duration_ms=duration_ms)
        return event, summary.doubt

    def _read_input(
        self, cut: CutPoint, rerun_seq: int = 0, is_update: bool = False, is_short: bool = False
    ) -> CompactionInput:
        """Return what to read; with `is_update`, the newest checkpoint and what came since in short form."""
        transcript, replaces = self._runtime.transcript, tuple[int, ...]()
        if rerun_seq:
            active_handover(transcript, rerun_seq)
            transcript, replaces = without_handover(transcript)
        policy, frame = self._runtime.policy, self._runtime.frame
        gauge = measure_usage(project(transcript, policy, frame), transcript, policy, frame)
        fresh = tuple(
            transcript.window.without_excluded(uncovered_messages(transcript, cut.upto, cut.kept_seq))
        )
        covered = tuple(covered_messages(transcript, cut.upto, cut.kept_seq))
        covers, masked = transcript.window.covers, frozenset(transcript.window.masked)
        previous_seq = transcript.window.handover[0] if transcript.window.handover else 0
        previous, checkpoint_seq = previous_handover(transcript), 0
        newest = newest_checkpoint(transcript) if is_update else None
        if newest is not None:
            checkpoint_seq, previous = newest
            since = transcript.messages.between(previous.upto, cut.upto)
            fresh = tuple(
                item for item in transcript.window.without_excluded(since) if item.seq != cut.kept_seq
            )
        words = newest_turn_words(
            transcript, cut.upto, user_text_budget(policy.user_text_tokens, gauge.window)
        )
        later = transcript.messages.between(cut.upto, transcript.last_seq)
        newest_message = transcript.messages.item(cut.kept_seq) if cut.kept_seq else None
        if newest_message is not None:
            later = [newest_message, *later]
        following = tuple(transcript.window.without_excluded(later))
        return CompactionInput(
            *(cut, fresh, covered, covers, masked, previous_seq, previous, gauge, words, replaces, following),
            is_short=is_short or bool(checkpoint_seq),
            checkpoint=checkpoint_seq,
        )

    async def _summarize(
        self, source_input: CompactionInput, focus: str, ask_model: bool, last_try: bool, is_draft: bool
    ) -> SummaryResult[tuple[Section, ...]]:
        """Call the models; if none can, use ledger and extracts.

        Raises SummaryRefused if what they wrote says too little, except on the last try. A draft is returned
        with that doubt: the user can judge it.
        """
        result: SummaryResult[tuple[Section, ...]] = SummaryResult(None)
        checkpoint = source_input.unchanged_checkpoint
        if checkpoint is not None:
            return msgspec.structs.replace(
                result, value=checkpoint.sections, model=checkpoint.model, is_demo=checkpoint.demo
            )
        if ask_model:
            result, sources = await self._ask_models(source_input, focus)
            if result.value is not None:
                return result
            rejection = result.rejection
            if rejection is not None and is_draft:
                return _doubtful(result, rejection, parse_handover(rejection.text, sources))
            if rejection is not None and not last_try:
                raise rejection
        sections = await asyncio.to_thread(
            extractive_handover,
            source_input.fresh,
            source_input.previous,
            self._runtime.transcript.reverted_files.by_path,
        )
        return msgspec.structs.replace(result, value=sections, model=NO_MODEL, is_demo=False)

    async def _ask_models(
        self, source_input: CompactionInput, focus: str
    ) -> tuple[SummaryResult[tuple[Section, ...]], frozenset[int]]:
        """Return what the models wrote, and the events that it may name as sources."""
        task = await self._brief(source_input, focus)
        requests = (item for item in source_input.following if isinstance(item.event, UserSpoke))
        sources = frozenset(item.seq for item in (*source_input.covered, *requests))
        source = await asyncio.to_thread(summary_input, task.lines, source_input.covered)
        result = await self._summarizer.summarize(
            task,
            lambda text: accept_sections(parse_handover(text, sources), source, text),
            lambda text: self._publish_phase("summarize", text),
            self._on_estimate,
        )
        return result, sources

    async def _brief(self, source_input: CompactionInput, focus: str) -> SummaryTask:
        lines = (
            await asyncio.to_thread(short_lines, source_input.fresh)
            if source_input.is_short
            else await asyncio.to_thread(
                transcript_lines,
                source_input.fresh,
                source_input.covers,
                source_input.masked,
                self._runtime.extracts,
            )
        )
        runtime, cut = self._runtime, source_input.cut
        quoted = user_text_seqs(
            runtime.transcript,
            cut.upto,
            cut.kept_seq,
            runtime.policy.user_text_tokens,
            runtime.frame.info.window,
        )
        quoted_from = min(quoted - {0, cut.kept_seq}, default=0)
        following = await asyncio.to_thread(brief_lines, source_input.following[-FOLLOWING_MESSAGES:])
        return handover_task(
            runtime.prompts["handover"], lines, source_input.previous, focus, quoted_from, following
        )

    async def _build_event(
        self, source_input: CompactionInput, summary: SummaryResult[tuple[Section, ...]]
    ) -> HandoverMade:
        """Return the event without what is known only on recording: its index, and the usage after it."""
        policy, cut, checkpoint = self._runtime.policy, source_input.cut, source_input.unchanged_checkpoint
        facts = await asyncio.to_thread(covered_facts, source_input.covered)
        facts.ledger.mark_reverted(self._runtime.transcript.reverted_files.by_path)
        event = HandoverMade(
            upto=cut.upto,
            kept=cut.kept_seq,
            sections=summary.value or (),
            ledger=facts.ledger.text(policy.ledger_tokens),
            index=digest_of(b""),
            index_entries=0,
            tokens=0,
            before=source_input.usage.used,
            after=0,
            messages=covered_counts(self._runtime.transcript, cut.upto, cut.kept_seq).messages,
            model=summary.model,
            trigger=HandoverTrigger.MANUAL,
            former=source_input.previous_seq,
            fallback=summary.fallback_reason,
            demo=summary.is_demo,
            calls=summary.calls,
            spent=summary.spent.tokens,
            prompt=self._runtime.prompt_versions.get("handover", "") if summary.calls else "",
            cost=summary.spent.cost,
            estimated=summary.spent.estimated,
            unpriced=summary.spent.unpriced,
            refused=summary.rejected_text,
            handle_digits=policy.handle_digits,
            words=source_input.words,
            replaces=source_input.replaces,
            mode_note=newest_mode_note(source_input.covered),
            checkpoint=source_input.checkpoint,
            edited=bool(checkpoint and checkpoint.edited),
            text_version=SUMMARY_TEXT_VERSION,
            read=self._estimate.tokens if self._estimate is not None and summary.calls else 0,
        )
        return await checked_handover(self._runtime, event, facts)

    async def _record(self, event: HandoverMade) -> None:
        """Run the third phase: build the index, check against the current log, record all at once."""
        self._publish_phase("write")
        text, entries = build_index_entry(self._runtime.transcript, 0, event.upto, event.kept)
        content = index_content(text, "handover", f"e{event.upto}")
        indexed_event = msgspec.structs.replace(event, index=content.digest, index_entries=entries)
        await self._runtime.session.record_decided(lambda: self._events_to_record(indexed_event), [content])

    def _without_replaced(self, event: HandoverMade) -> tuple[Transcript, tuple[int, ...]]:
        transcript = self._runtime.transcript
        return without_handover(transcript) if event.replaces else (transcript, ())

    def takes_place_of_same(self, event: HandoverMade) -> bool:
        """Return True if a handover still updates and replaces what it was written for."""
        base, replaces = self._without_replaced(event)
        current = base.window.handover
        return (current[0] if current else 0) == event.former and replaces == event.replaces

    def _events_to_record(self, event: HandoverMade) -> tuple[Event, ...]:
        """Return the events to record. Raises CompactionRefused if outdated, or if too little is freed."""
        transcript = self._runtime.transcript
        policy, frame = self._runtime.policy, self._runtime.frame
        base, _ = self._without_replaced(event)
        if not self.takes_place_of_same(event):
            raise CompactionRefused(
                _text("The conversation wasn't compacted."),
                _text("The history changed in the meantime."),
                _text("Nothing was changed."),
            )
        forked = fork_with(transcript, event)
        sweep_plan = sweep.sweep_with_rewrite(forked, policy, measure_next_request(forked, policy, frame))
        events: tuple[Event, ...] = (event,)
        if sweep_plan is not None:
            sweep_event = SweepMade(sweep_plan.masked, sweep_plan.saved, SweepReason.HANDOVER)
            events = (event, sweep_event)
            forked.apply(RecordedEvent(forked.last_seq + 1, forked.last_event_at_ms, sweep_event))
        before, after = project(transcript, policy, frame), project(forked, policy, frame)
        usage_before, usage_after = (
            measure_usage(before, transcript, policy, frame),
            measure_usage(after, forked, policy, frame),
        )
        freed = (project(base, policy, frame).estimate - after.estimate) * usage_before.ratio
        _require_gain(event, policy, usage_before, round(freed))
        final_event = msgspec.structs.replace(event, before=usage_before.used, after=usage_after.used)
        return (final_event, *events[1:])


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


def _doubtful(
    result: SummaryResult[tuple[Section, ...]], rejection: SummaryRefused, sections: tuple[Section, ...]
) -> SummaryResult[tuple[Section, ...]]:
    """Return a summary that says too little as the result, with the reason."""
    fallback = _text("{model} wrote it.", model=result.model) if result.calls > 1 else ""
    return msgspec.structs.replace(
        result, value=sections, fallback_reason=fallback, rejection=None, doubt=rejection.why
    )
