"""The writer of handovers: of which messages, from what, how a text becomes recorded events."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import msgspec

from helix_desktop.agent.budget import ApproveSpending, SpendNotApproved, approve_any
from helix_desktop.agent.compaction.rewriter import WindowRewriter
from helix_desktop.agent.compaction.summarizer import Summarizer, SummaryReader, SummaryResult
from helix_desktop.agent.session import CompactionProgress, Phase, Session
from helix_desktop.context.log.mode_notes import newest_mode_note
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover, LogItem
from helix_desktop.context.policy_numbers import ContextPolicy, managed_window
from helix_desktop.context.rewrites import caching, compaction_due
from helix_desktop.context.summaries.covered_facts import (
    CHARS_PER_TOKEN,
    CoveredFacts,
    check_covered_facts,
    covered_facts,
    user_source,
)
from helix_desktop.context.summaries.extractive_handover import extractive_handover, without_repeated_bullets
from helix_desktop.context.summaries.handover import (
    HandoverPart,
    agent_texts,
    citable_seqs,
    covered_counts,
    covered_messages,
    handover_parts,
    newest_checkpoint,
    newest_turn_words,
    previous_handover,
    render_handover,
    section_text,
    uncovered_messages,
    user_text_budget,
    user_text_seqs,
    user_texts,
)
from helix_desktop.context.summaries.handover_revision import (
    from_markdown,
    same_range,
    to_markdown,
    without_handover,
)
from helix_desktop.context.summaries.index_entry import build_index_entry, index_content
from helix_desktop.context.summaries.legal_ranges import HandoverRange, legal_ranges
from helix_desktop.context.summaries.summary_acceptance import (
    SummaryInput,
    accept_sections,
    find_doubt,
    summary_input,
)
from helix_desktop.context.summaries.summary_task import (
    FOLLOWING_MESSAGES,
    SummaryTask,
    brief_lines,
    handover_task,
    short_lines,
    transcript_lines,
)
from helix_desktop.context.summaries.written_sections import parse_handover
from helix_desktop.context.window.used_tokens import (
    ON_REQUEST,
    CompactionTrigger,
    UsageGauge,
    measure_next_request,
    measure_usage,
)
from helix_desktop.context.window.window import PromptFrame, handover_as_sent, project
from helix_desktop.domain.cost import CostEstimate, Spending, spending_of
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import CompactionRefused, StoreError, SummaryRefused
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import HandoverTrigger, SweepMade, SweepReason
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    SUMMARY_TEXT_VERSION,
    Bullet,
    FailedPreparation,
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    Section,
)
from helix_desktop.domain.translatable_text import OptionalText, TextContext, verbatim

_text = TextContext("Agent")

_MAX_RANGES = 200  # to choose from: each is priced, and nobody reads more


def active_handover(transcript: Transcript, seq: int) -> HandoverMade:
    """Return the active handover `seq`. Raises CompactionRefused if another one is active, or none."""
    current = transcript.window.handover
    if current is None or current[0] != seq:
        raise CompactionRefused(
            _text("The handover summary wasn't changed."),
            _text("Another handover summary is in the context now, or none is."),
            _text("Open the timeline and try again."),
        )
    return current[1]


def frees_little(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, range_: HandoverRange
) -> bool:
    """Return True if a handover on request would free little there, or nothing."""
    least = min(gauge.window, gauge.used) * policy.handover_least_gain
    return compaction_due.expected_savings(transcript, policy, gauge, range_) < least


def ranges_on_request(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge
) -> list[HandoverRange]:
    """Return all legal ranges, the one to propose first, then the furthest first.

    That is the furthest one before the newest turn which leaves the share of what is used that the policy
    keeps, if it frees enough; else one in the newest turn.
    """
    least = tokens_to_leave(policy, gauge)
    found = legal_ranges(transcript, 0, in_newest_turn=True)
    older = legal_ranges(transcript, least)
    if older and not frees_little(transcript, policy, gauge, older[0]):
        proposed = older[:1]
    else:
        proposed = legal_ranges(transcript, least, in_newest_turn=True)[:1] or found[:1]
    return [*proposed, *(range_ for range_ in found if range_ not in proposed)]


def tokens_to_leave(policy: ContextPolicy, gauge: UsageGauge) -> int:
    """Return the tokens that stay behind a handover on request, by our count."""
    return int(min(gauge.window, gauge.used) * policy.handover_keep / gauge.ratio)


def range_on_request(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, upto: int = 0
) -> HandoverRange:
    """Return the range that ends at event `upto` (0: the one to propose). Raises CompactionRefused."""
    found = ranges_on_request(transcript, policy, gauge)
    if not found:
        raise _nothing_to_compact(has_messages=bool(transcript.messages.items))
    range_ = next((candidate for candidate in found if upto in {0, candidate.upto}), None)
    if range_ is None:
        raise CompactionRefused(
            _text("Can't compact up to this message (e{event}).", event=str(upto)),
            _text("It can only end after a complete step, before the newest part."),
            _text("Choose another message."),
        )
    return range_


def range_of_everything(transcript: Transcript) -> HandoverRange:
    """Return the range of every message. Raises CompactionRefused without one."""
    items = transcript.messages.items
    if not items:
        raise _nothing_to_compact(has_messages=False)
    return HandoverRange(items[-1].seq, 0, len(items), sum(map(transcript.window.entry_tokens, items)))


def without_active(transcript: Transcript, seq: int) -> tuple[Transcript, HandoverRange]:
    """Return a fork without the active handover `seq`, and its range. Raises CompactionRefused."""
    handover = active_handover(transcript, seq)
    fork, _ = without_handover(transcript)
    return fork, same_range(fork, handover.upto, handover.kept)


def thinned(ranges: Sequence[HandoverRange], upto: int) -> list[HandoverRange]:
    """Return at most about `_MAX_RANGES` of these, with the first and the nearest one before event `upto`."""
    step = -(-len(ranges) // _MAX_RANGES)
    nearest = next((range_ for range_ in ranges if range_.upto <= upto), None)
    return [range_ for place, range_ in enumerate(ranges) if place % step == 0 or range_ is nearest]


def _nothing_to_compact(has_messages: bool) -> CompactionRefused:
    return CompactionRefused(
        _text("Nothing to compact yet."),
        _text("Only the newest message and what was answered last are left; they always stay.")
        if has_messages
        else _text("This session has no messages."),
        _text("Send a message first."),
    )


def takes_place_of_same(transcript: Transcript, event: HandoverMade) -> bool:
    """Return True if a handover still updates and replaces what it was written for."""
    base, replaces = without_handover(transcript) if event.replaces else (transcript, ())
    current = base.window.handover
    return (current[0] if current else 0) == event.former and replaces == event.replaces


def checked_events(session: Session, event: HandoverMade) -> tuple[Event, ...]:
    """Return a handover with its figures, and the sweep that goes with it.

    Raises CompactionRefused if it is outdated, or if too little is freed. One that the user asked for may
    free as little as its draft said; only their own text not less than that.
    """
    transcript = session.transcript
    policy = session.policy
    frame = session.frame
    what = _text("The conversation wasn't compacted.")
    fix = _text("Nothing was changed.")
    if not takes_place_of_same(transcript, event):
        raise CompactionRefused(what, _text("The history changed in the meantime."), fix)
    base = without_handover(transcript)[0] if event.replaces else transcript
    forked = transcript.fork_with(event)
    sweeps = tuple[SweepMade, ...]()
    plan = caching.sweep_with_rewrite(forked, policy, measure_next_request(forked, policy, frame))
    if plan is not None:
        sweeps = (SweepMade(plan.swept, plan.saved, SweepReason.HANDOVER),)
        forked = forked.fork_with(*sweeps)
    after = project(forked, policy, frame)
    usage = measure_usage(project(transcript, policy, frame), transcript, policy, frame)
    freed = round((project(base, policy, frame).estimate - after.estimate) * usage.ratio)
    if event.trigger is not HandoverTrigger.MANUAL and freed < max(
        1, compaction_due.least_gain(policy, usage)
    ):
        why = _text(
            "It would free only {tokens} tokens, less than {share} % of the context window.",
            tokens=freed,
            share=round(policy.handover_least_gain * 100),
        )
        raise CompactionRefused(what, why, fix)
    if (
        event.trigger is HandoverTrigger.MANUAL
        and event.edited
        and freed < min(0, event.before - event.after)
    ):
        why = _text("With your text, the context would be {tokens} tokens larger.", tokens=-freed)
        raise CompactionRefused(what, why, fix)
    used_after = measure_usage(after, forked, policy, frame).used
    return (msgspec.structs.replace(event, before=usage.used, after=used_after), *sweeps)


Sections: TypeAlias = tuple[Section, ...]


class HandoverDraft(msgspec.Struct, frozen=True):
    """A handover of `range`, not recorded; `text` is its sections as Markdown, to be edited.

    `event` is the event it would become. `doubt` says why it may say too little: only the user can accept it.
    `sweep_savings` are the tokens, by our count, that `after` is smaller for what is cached along with it.
    """

    range: HandoverRange
    text: str
    event: HandoverMade
    doubt: OptionalText = ""
    sweep_savings: int = 0


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


async def checked_handover(session: Session, event: HandoverMade, facts: CoveredFacts) -> HandoverMade:
    """Return the event with what it does not name, and its tokens: of all but the user's own messages."""
    transcript = session.transcript
    policy = session.policy
    window_size = session.managed_window
    text = "\n".join([*(section_text(section, False) for section in event.sections), event.ledger])
    quoted = user_text_seqs(transcript, event.upto, event.kept, policy.user_text_tokens, window_size)
    whole = quoted.union(event.words)
    todo_list = transcript.todo_list_between(0, event.upto)
    max_chars = policy.ledger_tokens * CHARS_PER_TOKEN
    coverage = await asyncio.to_thread(check_covered_facts, facts, text, max_chars, whole, todo_list)
    event = msgspec.structs.replace(event, coverage=coverage)
    texts = user_texts(transcript, event, policy.user_text_tokens, window_size)
    as_sent = without_repeated_bullets(event, [text for _, text, _ in texts])
    own_text = render_handover(as_sent, (), agent_texts(transcript, event.words))
    return msgspec.structs.replace(event, tokens=await session.count_tokens(own_text))


_BUSY = (_text("Already running."), _text("The conversation is being compacted."), _text("Wait, or cancel."))


class HandoverScope(NamedTuple):
    """What a handover on request covers: older messages; with `rerun_seq` those of the active handover.

    A draft of that takes its place, and undo brings it back. One that `is_whole` covers every message, for a
    session that continues this one: it is not recorded here.
    """

    rerun_seq: int = 0
    is_whole: bool = False


OLDER_MESSAGES = HandoverScope()
WHOLE_SESSION = HandoverScope(is_whole=True)


class HandoverSource(msgspec.Struct, frozen=True):
    """What a handover is written from: the messages to cover, the current handover, and the tokens used.

    `words` are the agent's messages among them that stay verbatim, those of the newest complete turn. A new
    handover takes the place of those in `replaces`. The messages `following` them stay in the window. The
    user's words stay from `quoted_from` on. With `is_short` a model reads the `fresh` messages in their short
    form; without any, `previous`, the `checkpoint` of that event, says all that there is to say.
    """

    fresh: tuple[LogItem, ...]
    covered: tuple[LogItem, ...]
    covers: tuple[Cover, ...]
    swept: frozenset[int]
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
        range_: HandoverRange,
        *,
        rerun_seq: int = 0,
        is_update: bool = False,
        is_short: bool = False,
    ) -> HandoverSource:
        """Return what to read; with `is_update`, the newest checkpoint and what came since in short form.

        With `rerun_seq`, the active handover, that one is written again. Raises CompactionRefused.
        """
        replaces: tuple[int, ...] = ()
        window_size = managed_window(policy, frame.info.window)
        quoted = user_text_seqs(
            transcript, range_.upto, range_.kept_seq, policy.user_text_tokens, window_size
        )
        if rerun_seq:
            active_handover(transcript, rerun_seq)
            transcript, replaces = without_handover(transcript)
        window = transcript.window
        messages = transcript.messages
        fresh = uncovered_messages(transcript, range_.upto, range_.kept_seq)
        previous = previous_handover(transcript)
        checkpoint = 0
        newest = newest_checkpoint(transcript) if is_update else None
        is_later = newest is not None and newest[1].upto > range_.upto
        if newest is not None and not (rerun_seq and is_later):  # a later one began with what is replaced
            checkpoint, previous = newest
            since = messages.between(previous.upto, range_.upto)
            fresh = [item for item in since if item.seq != range_.kept_seq]
        kept_message = messages.item(range_.kept_seq) if range_.kept_seq else None
        later = messages.between(range_.upto, transcript.last_seq)
        return cls(
            fresh=tuple(window.without_excluded(fresh)),
            covered=tuple(covered_messages(transcript, range_.upto, range_.kept_seq)),
            covers=window.covers,
            swept=frozenset(window.swept),
            previous_seq=window.handover[0] if window.handover else 0,
            previous=previous,
            used=measure_usage(project(transcript, policy, frame), transcript, policy, frame).used,
            words=newest_turn_words(
                transcript, range_.upto, user_text_budget(policy.user_text_tokens, window_size)
            ),
            replaces=replaces,
            following=tuple(
                window.without_excluded(later if kept_message is None else [kept_message, *later])
            ),
            quoted_from=min(quoted - {0, range_.kept_seq}, default=0),
            is_short=is_short or bool(checkpoint),
            checkpoint=checkpoint,
        )

    def task(self, prompt: str, focus: str) -> SummaryTask:
        """Return what a model is asked. Slow: call it in a thread."""
        if self.is_short:
            lines = short_lines(self.fresh)
        else:
            lines = transcript_lines(self.fresh, self.covers, self.swept)
        following = brief_lines(self.following[-FOLLOWING_MESSAGES:])
        return handover_task(prompt, lines, self.previous, focus, self.quoted_from, following)

    def reader(self, task: SummaryTask) -> HandoverReader:
        """Return what reads the answers to the task. Slow as `task`."""
        return HandoverReader(self, summary_input(task, self.covered))

    def parse(self, text: str) -> Sections:
        """Return the sections of a model's text, without sources that it can't have.

        A sentence without any that the user said in these words has that message.
        """
        requests = (item for item in self.following if isinstance(item.event, UserSpoke))
        citable = (*self.covered, *requests)
        return tuple(
            msgspec.structs.replace(section, bullets=tuple(_supported(section.bullets, citable)))
            for section in parse_handover(text, frozenset(item.seq for item in citable))
        )


def _draft_of(
    result: SummaryResult[Sections], source: HandoverSource, rejection: SummaryRefused
) -> SummaryResult[Sections] | None:
    """Return a refused text as a draft that the user judges; None if it can't be read."""
    try:
        sections = source.parse(rejection.text)
    except CompactionRefused:
        return None
    fallback = _text("{model} wrote it.", model=result.model) if result.calls > 1 else ""
    return msgspec.structs.replace(
        result, value=sections, fallback_reason=fallback, rejection=None, doubt=rejection.why
    )


class HandoverReader(SummaryReader[Sections]):
    """Reads the texts of models that write a handover from `source`; `read` is what they read of it."""

    def __init__(self, source: HandoverSource, read: SummaryInput) -> None:
        super().__init__(lambda text: accept_sections(source.parse(text), read, text))
        self._former = source.previous

    def doubt(self, text: str, value: Sections) -> OptionalText:
        return find_doubt(text, value, self._former)


def _supported(bullets: Sequence[Bullet], citable: Sequence[LogItem]) -> Iterator[Bullet]:
    for bullet in bullets:
        source = 0 if bullet.sources else user_source(bullet.text, citable)
        yield msgspec.structs.replace(bullet, sources=(source,)) if source else bullet


class HandoverWriter:
    """Chooses, reads, asks, checks and records: a session's handovers, one at a time, or its checkpoints."""

    def __init__(self, session: Session, rewriter: WindowRewriter, is_published: bool = True) -> None:
        """Unless its progress `is_published`, nobody sees that it writes."""
        self._session = session
        self._rewriter = rewriter
        self._is_published = is_published
        self._summarizer = Summarizer(session)
        self.is_running = False
        self.is_drafting = False
        self._approve: ApproveSpending = approve_any

    @property
    def spent(self) -> Spending:
        """What the newest attempt spent, even if it failed."""
        return self._summarizer.spent

    def require_idle(self) -> None:
        """Raise CompactionRefused while a handover is being written."""
        if self.is_running or self.is_drafting:
            raise CompactionRefused(*_BUSY)

    async def ranges(self, upto: int = 0, scope: HandoverScope = OLDER_MESSAGES) -> list[HandoverRange]:
        """Return where a handover on request may end: first as it is proposed, then the furthest first.

        Of very many, some at equal distances and the nearest one before the event `upto`; none if there is
        nothing to cover. Raises CompactionRefused without messages or with another active handover.
        """
        transcript, policy, frame, gauge = self._now()
        if scope.is_whole:
            return [range_of_everything(transcript)]
        if not scope.rerun_seq:  # tens of milliseconds in a long session
            found = await asyncio.to_thread(ranges_on_request, transcript.fork(), policy, gauge)
            return [*found[:1], *thinned(found[1:], upto)]
        fork, same = without_active(transcript, scope.rerun_seq)

        def ranges_to_rerun() -> list[HandoverRange]:
            used = measure_usage(project(fork, policy, frame), fork, policy, frame)
            others = thinned(legal_ranges(fork, tokens_to_leave(policy, gauge)), upto)
            freeing = (range_ for range_ in others if not frees_little(fork, policy, used, range_))
            return [same, *(range_ for range_ in freeing if range_.upto != same.upto)]

        return await asyncio.to_thread(ranges_to_rerun)

    async def find_range(self, upto: int = 0, scope: HandoverScope = OLDER_MESSAGES) -> HandoverRange:
        """Return the range that ends at an event (0: the one to propose). Raises CompactionRefused."""
        transcript, policy, _, gauge = self._now()
        if scope.is_whole:
            return range_of_everything(transcript)
        if not scope.rerun_seq:
            return range_on_request(transcript, policy, gauge, upto)
        _, same = without_active(transcript, scope.rerun_seq)
        if upto in {0, same.upto}:
            return same
        return next((range_ for range_ in await self.ranges(upto, scope) if range_.upto == upto), same)

    def frees_little(self, upto: int = 0, scope: HandoverScope = OLDER_MESSAGES) -> bool:
        """Return True if a handover of older messages would free little, or nothing; others are no matter.

        Raises CompactionRefused without a range that ends at event `upto` (0: as proposed).
        """
        if scope != OLDER_MESSAGES:
            return False
        transcript, policy, _, gauge = self._now()
        return frees_little(transcript, policy, gauge, range_on_request(transcript, policy, gauge, upto))

    def _now(self) -> tuple[Transcript, ContextPolicy, PromptFrame, UsageGauge]:
        session = self._session
        return session.transcript, session.policy, session.frame, self._rewriter.gauge()

    async def estimate(self, upto: int = 0, scope: HandoverScope = OLDER_MESSAGES) -> CostEstimate:
        """Return the cost estimate of a draft. Raises CompactionRefused."""
        range_ = await self.find_range(upto, scope)
        session = self._session
        source = HandoverSource.read(
            session.transcript, session.policy, session.frame, range_, rerun_seq=scope.rerun_seq
        )
        task = await asyncio.to_thread(source.task, session.prompts["handover"], "")
        return await self._summarizer.estimate(task)

    async def run(
        self,
        trigger: CompactionTrigger,
        range_: HandoverRange,
        focus: str = "",
        ask_model: bool = True,
        approve: ApproveSpending = approve_any,
        why_no_model: OptionalText = "",
    ) -> bool:
        """Write and record a handover of `range_`. Return True if it was recorded.

        Not to `ask_model` is a fallback if it has a reason, `why_no_model`; else the user's choice.
        A refusal is recorded with its reason and changes nothing. Of a due one that frees too little after
        other rewrites made room, as of a canceled one, only what was spent is recorded; of a cost that
        `approve` rejects nothing.
        """
        if self.is_running:
            return False
        self.is_running = True
        self._summarizer.spent = Spending()
        self._approve = approve
        try:
            event, _ = await self._write(trigger, range_, focus, ask_model)
            await self._record(msgspec.structs.replace(event, fallback=event.fallback or why_no_model))
            return True
        except CompactionRefused as error:
            is_due = trigger.kind.is_by_policy and not isinstance(error, SummaryRefused)
            if is_due and not self._rewriter.gauge().is_due:
                await self._session.unused.record(self._summarizer.spent)  # other rewrites have made the room
            else:
                await self._session.record(self._summarizer.failure(HandoverFailed, error, range_.upto))
            return False
        except SpendNotApproved:
            return False
        finally:
            self.is_running = False
            self._approve = approve_any
            self._publish_phase("idle")

    async def replace(self, seq: int, approve: ApproveSpending) -> bool:
        """Have a model write the active handover `seq` again. Return True if it was recorded.

        Where no model can, the failure is recorded, and the handover stays. Raises CompactionRefused if
        another one is active.
        """
        transcript = self._session.transcript
        handover = active_handover(transcript, seq)
        if self.is_running or self.is_drafting:
            return False
        _, range_ = without_active(transcript, seq)
        trigger = CompactionTrigger(handover.trigger, limit=handover.threshold)
        self.is_running = True
        self._summarizer.spent = Spending()
        self._approve = approve
        try:
            event, _ = await self._write(trigger, range_, rerun_seq=seq, needs_model=True)
            await self._record(event)
            return True
        except CompactionRefused as error:
            await self._record_failed_replacement(seq, range_, error)
            return False
        except SpendNotApproved:
            return False
        finally:
            self.is_running = False
            self._approve = approve_any
            self._publish_phase("idle")

    async def _record_failed_replacement(
        self, seq: int, range_: HandoverRange, error: CompactionRefused
    ) -> None:
        failure = self._summarizer.failure(HandoverFailed, error, range_.upto)
        failed = FailedPreparation(
            "handover",
            failure.why or failure.what,
            upto=failure.upto,
            read=failure.read,
            refused=failure.refused,
            replaces=seq,
        )
        spent = self._summarizer.spent
        await self._session.record(
            HandoverDiscarded(spent.tokens, spent.cost, spent.estimated, spent.unpriced, failed=failed)
        )

    async def draft(
        self, focus: str = "", upto: int = 0, scope: HandoverScope = OLDER_MESSAGES
    ) -> HandoverDraft:
        """Write a handover up to event `upto` (0: of the range to propose) without recording it.

        It may free little, or nothing: its figures say so, and the user decides. Progress is published as for
        a recorded one. Raises CompactionRefused if there is nothing to cover, no range to `upto`, or one is
        being written; ModelNotChosen. Model failures are described in the draft. What a draft spent that
        is canceled is recorded.
        """
        self._session.model_choice.require()
        range_ = await self.find_range(upto, scope)
        self.require_idle()
        self.is_drafting = True
        self._summarizer.spent = Spending()
        try:
            event, doubt = await self._write(
                ON_REQUEST, range_, focus, rerun_seq=scope.rerun_seq, is_draft=True
            )
            return self._as_draft(range_, event, scope, doubt)
        except CompactionRefused:
            with suppress(StoreError):  # the reason of the refusal matters more, and the cost is not lost
                await self._session.unused.record(self._summarizer.spent)
            raise
        finally:
            self.is_drafting = False
            self._publish_phase("idle")

    async def preview(self, upto: int = 0, scope: HandoverScope = OLDER_MESSAGES) -> HandoverDraft:
        """Return a draft made without a model, at no cost. Raises CompactionRefused as `draft` does."""
        range_ = await self.find_range(upto, scope)
        event, _ = await self._write(ON_REQUEST, range_, ask_model=False)
        return self._as_draft(range_, event, scope)

    def _as_draft(
        self, range_: HandoverRange, event: HandoverMade, scope: HandoverScope, doubt: OptionalText = ""
    ) -> HandoverDraft:
        sweep_savings = 0
        if not scope.is_whole:
            final_event, *others = checked_events(self._session, event)
            assert isinstance(final_event, HandoverMade)  # the event itself comes first
            event = final_event
            sweep_savings = sum(other.saved for other in others if isinstance(other, SweepMade))
        return HandoverDraft(range_, to_markdown(event.sections), event, doubt, sweep_savings)

    async def parts_as_sent(self, draft: HandoverDraft, is_whole: bool = False) -> list[CountedPart]:
        """Return what the model gets of a draft as it was written, in a new session if it `is_whole`.

        Together the parts are what the context counts for the handover, not quite what each is by itself: the
        largest one that is no quote gets the difference.
        """
        session = self._session
        event = draft.event
        transcript, policy, frame, _ = self._now()
        if is_whole:
            parts = handover_parts(event, ())
            tokens = await session.counter.count([part.text for part in parts])
            return [CountedPart(part, count) for part, count in zip(parts, tokens, strict=True)]
        fork = transcript.fork_with(event)
        sent = handover_as_sent(fork, policy, managed_window(policy, frame.info.window), event)
        own = [part for part in sent.parts if part.kind not in sent.quote_tokens]
        counted = dict(zip(own, await session.counter.count([part.text for part in own]), strict=True))
        own_tokens = sent.tokens - sum(sent.quote_tokens.values())
        counted[max(own, key=counted.__getitem__)] += own_tokens - sum(counted.values())
        return [
            CountedPart(part, counted[part] if part in counted else sent.quote_tokens[part.kind])
            for part in sent.parts
        ]

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
        covered = covered_messages(self._session.transcript, draft.range.upto, draft.range.kept_seq)
        sections = from_markdown(text, citable_seqs(self._session.transcript, covered))
        edited = msgspec.structs.replace(draft.event, sections=sections, edited=True)
        return await checked_handover(self._session, edited, await asyncio.to_thread(covered_facts, covered))

    async def prepare(self, upto: int, approve: ApproveSpending) -> tuple[HandoverMade, int]:
        """Write a checkpoint of everything up to an event; return it with the tokens that it read.

        Raises CompactionRefused if no model can, and what `approve` raises.
        """
        self._approve = approve
        self._summarizer.spent = Spending()
        self._summarizer.approved = None
        range_ = HandoverRange(upto, 0, 0, 0)
        event, _ = await self._write(ON_REQUEST, range_, is_checkpoint=True, needs_model=True)
        return msgspec.structs.replace(event, index="", read=0), event.read

    def failed_preparation(self, upto: int, error: CompactionRefused) -> FailedPreparation:
        """Return what a checkpoint up to an event came to when all its tries had failed."""
        failure = self._summarizer.failure(HandoverFailed, error, upto)
        why = failure.why or failure.what
        return FailedPreparation(
            "checkpoint", why, upto=failure.upto, read=failure.read, refused=failure.refused
        )

    def _publish_phase(self, phase: Phase, text: str = "") -> None:
        if not self._is_published:
            return
        if phase not in ("summarize", "check", "write"):
            self._summarizer.approved = None
        self._session.publish(CompactionProgress(phase, text, self._summarizer.approved))

    async def _write(
        self,
        trigger: CompactionTrigger,
        range_: HandoverRange,
        focus: str = "",
        ask_model: bool = True,
        rerun_seq: int = 0,
        is_draft: bool = False,
        is_checkpoint: bool = False,
        needs_model: bool = False,
    ) -> tuple[HandoverMade, OptionalText]:
        """Read, ask the models without holding a lock, and check what they wrote.

        With `needs_model`, raises CompactionRefused if none can write it.
        The event has not what is known only on recording: its index, and the usage after it. Return also why
        a draft may say too little; one that is recorded at once may not.
        """
        session = self._session
        transcript, policy, frame, _ = self._now()
        started_at_ms = session.clock()
        self._publish_phase("read")
        source = HandoverSource.read(
            transcript,
            policy,
            frame,
            range_,
            rerun_seq=rerun_seq,
            is_update=is_checkpoint or not ask_model or trigger.kind is not HandoverTrigger.MANUAL,
            is_short=is_checkpoint,
        )
        if trigger.kind is HandoverTrigger.OVERFLOW and not ask_model:  # the words have to go, too
            source = msgspec.structs.replace(source, words=())
        is_last = trigger.kind.is_by_policy and transcript.handover_failures >= compaction_due.LAST_TRY
        unchanged = source.previous if source.checkpoint and not source.fresh else None
        try:
            if unchanged is not None and not is_checkpoint:
                summary = SummaryResult(unchanged.sections, unchanged.model, unchanged.demo)
            else:
                summary = await self._ask(source, focus, ask_model, is_last, is_draft, needs_model)
            self._publish_phase("check")
            facts = await asyncio.to_thread(covered_facts, source.covered)
            policy = session.policy
            facts.ledger.mark_reverted(transcript.reverted_files.by_path)
            facts.ledger.leave_out_mended(source.following)
            facts.ledger.mark_skills(transcript.skill_folders, transcript.window.whole_texts(source.covered))
            event = HandoverMade(
                upto=range_.upto,
                kept=range_.kept_seq,
                sections=summary.value or (),
                ledger=facts.ledger.text(policy.ledger_tokens),
                index=digest_of(b""),
                index_entries=0,
                tokens=0,
                before=source.used,
                after=0,
                messages=covered_counts(transcript, range_.upto, range_.kept_seq).messages,
                model=summary.model,
                trigger=trigger.kind,
                threshold=trigger.limit,
                focus=focus,
                former=source.previous_seq,
                fallback=summary.fallback_reason,
                edited=unchanged is not None and unchanged.edited,
                demo=summary.is_demo,
                calls=summary.calls,
                spent=summary.spent.tokens,
                prompt=session.prompt_versions.get("handover", "") if summary.calls else "",
                cost=summary.spent.cost,
                estimated=summary.spent.estimated,
                unpriced=summary.spent.unpriced,
                refused=summary.rejected_text,
                handle_digits=policy.handle_digits,
                words=source.words,
                replaces=source.replaces,
                mode_note=newest_mode_note(source.covered),
                checkpoint=source.checkpoint,
                read=approved.tokens if (approved := self._summarizer.approved) and summary.calls else 0,
                text_version=SUMMARY_TEXT_VERSION,
            )
            event = await checked_handover(session, event, facts)
        except asyncio.CancelledError:
            await session.unused.record(self._summarizer.spent)
            raise
        duration_ms = session.elapsed_ms(started_at_ms)
        return msgspec.structs.replace(event, duration_ms=duration_ms), summary.doubt

    async def _ask(
        self,
        source: HandoverSource,
        focus: str,
        ask_model: bool,
        is_last: bool,
        is_draft: bool,
        needs_model: bool,
    ) -> SummaryResult[Sections]:
        """Call the models; if none can, use ledger and extracts, unless it `needs_model`.

        Raises SummaryRefused if what they wrote says too little, except on the last try. A draft is returned
        with that doubt: the user can judge it.
        """
        session = self._session
        result = SummaryResult[Sections](None)
        if ask_model:
            task = await asyncio.to_thread(source.task, session.prompts["handover"], focus)
            result = await self._summarizer.summarize(
                task,
                await asyncio.to_thread(source.reader, task),
                lambda text: self._publish_phase("summarize", text),
                self._approve,
            )
            rejection = result.rejection
            if result.value is not None:
                return result
            if needs_model:
                raise rejection or CompactionRefused(
                    _text("No summary was written."), verbatim(result.fallback_reason)
                )
            if rejection is not None and is_draft:
                draft = _draft_of(result, source, rejection)
                if draft is not None:
                    return draft
            elif rejection is not None and not is_last:
                raise rejection
        reverts = session.transcript.reverted_files.by_path
        sections = await asyncio.to_thread(extractive_handover, source.fresh, source.previous, reverts)
        return msgspec.structs.replace(result, value=sections, model=NO_MODEL, is_demo=False)

    async def _record(self, event: HandoverMade) -> None:
        """Build the index, check against the current log, record all at once."""
        self._publish_phase("write")
        text, entries = build_index_entry(self._session.transcript, 0, event.upto, event.kept)
        content = index_content(text, "handover", f"e{event.upto}")
        indexed = msgspec.structs.replace(event, index=content.digest, index_entries=entries)
        decided = list[Event]()

        def decide() -> list[Event]:
            decided.extend(checked_events(self._session, indexed))
            return decided

        try:
            await self._session.record_decided(decide, [content])
        except asyncio.CancelledError:
            await self._session.drain()  # what was about to be stored is made all the same, unless refused
            if not decided:
                await self._session.unused.record(spending_of(event))
            raise
