"""The handovers of a session: written when due, or when the user asks; edited, recorded again."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from helix_desktop.agent.session import EventRecorded, RequestChanged
from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.window.background_job import BackgroundJob, SummaryWait
from helix_desktop.agent.window.compactor import (
    Compactor,
    CountedPart,
    HandoverDraft,
    RestoredDraft,
    RevisionDraft,
    active_handover,
    checked_handover,
    fork_with,
)
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries.handover import (
    CutPoint,
    available_cuts,
    covered_messages,
    handover_parts,
    newest_checkpoint,
)
from helix_desktop.context.summaries.handover_revision import (
    original_of,
    revised_handover,
    same_cut,
    sections_with,
    to_markdown,
    without_handover,
)
from helix_desktop.context.summaries.summary_coverage import covered_facts
from helix_desktop.context.window.usage_gauge import UsageGauge, measure_usage
from helix_desktop.context.window.window import handover_as_sent, project, tokens_as_sent
from helix_desktop.domain.cost import CostEstimate, SpendReply, spending_of
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import (
    Bullet,
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    HandoverPrepared,
    SavedHandoverDraft,
    Section,
)
from helix_desktop.domain.translatable_text import OptionalText, TextContext, join_sentences, verbatim

_text = TextContext("Agent")


class HandoverRevisions:
    """The revisions of one session's handovers; what they replace stays, and undo brings it back.

    One may be larger than what it replaces: invariant 6, that a handover frees room, is for automatic ones.
    """

    def __init__(self, runtime: SessionRuntime, compactor: Compactor) -> None:
        self._runtime, self._compactor = runtime, compactor

    async def draft(self, seq: int) -> RevisionDraft:
        """Return the recorded handover `seq` for editing. Its time grows with what it covers."""
        transcript = self._runtime.transcript
        handovers = transcript.written_handovers
        handover = handovers[seq]
        covered = covered_messages(transcript, handover.upto, handover.kept)
        facts = await asyncio.to_thread(covered_facts, covered)
        valid_seqs = frozenset(item.seq for item in covered)
        return RevisionDraft(seq, handover, handovers[original_of(handovers, seq)], valid_seqs, facts)

    async def check(self, draft: RevisionDraft, sections: tuple[Section, ...]) -> HandoverMade:
        """Return it with other sections, not recorded: its tokens, and what it does not name."""
        revised = revised_handover(draft.seq, draft.handover, sections)
        return await checked_handover(self._runtime, revised, draft.facts)

    async def record(self, draft: RevisionDraft, sections: tuple[Section, ...]) -> None:
        """Record the active handover again with the user's own sections; the former text stays.

        So it is with the newest checkpoint. Raises CompactionRefused if another one is active by now, or if
        one is being written.
        """
        if draft.seq in self._runtime.transcript.checkpoints:
            await self._record_checkpoint(draft, sections)
            return
        self._compactor.require_idle()
        active_handover(self._runtime.transcript, draft.seq)
        event = await self.check(draft, sections)
        await self._runtime.session.record_decided(lambda: self._events_to_record(event))

    async def _record_checkpoint(self, draft: RevisionDraft, sections: tuple[Section, ...]) -> None:
        event = await self.check(draft, sections)

        def decide() -> list[HandoverDiscarded]:
            newest = newest_checkpoint(self._runtime.transcript)
            if newest is None or newest[0] != draft.seq:
                raise CompactionRefused(
                    _text("The prepared handover wasn't changed."),
                    _text("A newer one replaced it."),
                    _text("Open the timeline and try again."),
                )
            return [HandoverDiscarded(unpriced=0, prepared=HandoverPrepared(event))]

        await self._runtime.session.record_decided(decide)

    async def put_back(self, seq: int, title: str, bullet: Bullet) -> None:
        """Add a sentence of another handover to a section of the active one, `seq`; the former text stays.

        Raises CompactionRefused if another one is active by now, or if one is being written.
        """
        draft = await self.draft(seq)
        await self.record(draft, sections_with(draft.handover, title, bullet, draft.valid_seqs))

    def tokens_as_sent(self, handover: HandoverMade) -> int:
        """Return the tokens of all that a handover puts in the context while it is active, by our count."""
        runtime = self._runtime
        return tokens_as_sent(runtime.transcript, runtime.policy, runtime.frame.info.window, handover)

    def _events_to_record(self, event: HandoverMade) -> tuple[Event, ...]:
        """Return the event with the usage before and after it. Raises CompactionRefused if outdated."""
        policy, frame, transcript = self._runtime.policy, self._runtime.frame, self._runtime.transcript
        active_handover(transcript, event.revises)
        before, after = (
            measure_usage(project(log, policy, frame), log, policy, frame).used
            for log in (transcript, fork_with(transcript, event))
        )
        return (msgspec.structs.replace(event, before=before, after=after),)


_MAX_CUTS = 200  # to choose from: each is priced, and nobody reads more


class HandoverScope(ABC):
    """Where a handover may end. It is written as a draft, which `Handovers.commit` records."""

    is_whole = False
    rerun_seq = 0  # of the handover whose place it takes

    def __init__(self, runtime: SessionRuntime, rewriter: WindowRewriter, compactor: Compactor) -> None:
        self._runtime, self._rewriter, self._compactor = runtime, rewriter, compactor

    @abstractmethod
    async def cuts(self, upto: int = 0) -> list[CutPoint]:
        """Return all legal cuts: first the one to propose, then the furthest first.

        Of very many, some at equal distances and the nearest one before the event `upto`.
        """

    @abstractmethod
    async def find_cut(self, upto: int = 0) -> CutPoint:
        """Return the cut that ends at an event (0: the one to propose). Raises CompactionRefused."""

    def frees_little(self, upto: int = 0) -> bool:
        """Return True if a handover up to event `upto` (0: as proposed) would free little, or nothing.

        Raises CompactionRefused without such a cut.
        """
        return False

    async def draft(self, focus: str = "", upto: int = 0) -> HandoverDraft:
        """Write a handover up to the cut at event `upto` (0: the one to propose) without recording it.

        Progress is published as for a recorded handover. Raises CompactionRefused if there is nothing to
        cover, no legal cut at `upto`, or a handover is running; ModelNotChosen. Model failures are
        described in the draft.
        """
        self._runtime.model_choice.require()
        cut = await self.find_cut(upto)
        return await self._compactor.draft(cut, focus, is_whole=self.is_whole, rerun_seq=self.rerun_seq)

    async def estimate(self, upto: int = 0) -> CostEstimate:
        """Return the cost estimate of such a draft. Raises CompactionRefused."""
        return await self._compactor.estimate(await self.find_cut(upto), rerun_seq=self.rerun_seq)

    async def parts_as_sent(self, draft: HandoverDraft) -> list[CountedPart]:
        """Return what the model gets of a draft as it was written.

        Together the parts are what the context counts for the handover, not quite what each is by itself: the
        largest one that is no quote gets the difference.
        """
        runtime, event = self._runtime, draft.event
        sent = handover_as_sent(
            fork_with(runtime.transcript, event), runtime.policy, runtime.frame.info.window, event
        )
        own = [part for part in sent.parts if part.kind not in sent.quote_tokens]
        counted = dict(zip(own, await runtime.counter.count([part.text for part in own]), strict=True))
        own_tokens = sent.tokens - sum(sent.quote_tokens.values())
        counted[max(own, key=counted.__getitem__)] += own_tokens - sum(counted.values())
        return [
            CountedPart(part, counted[part] if part in counted else sent.quote_tokens[part.kind])
            for part in sent.parts
        ]

    def _kept_tokens(self) -> int:
        """Return the tokens that stay behind a handover on request, by our count: a share of what is used."""
        gauge = self._rewriter.gauge()
        return int(min(gauge.window, gauge.used) * self._runtime.policy.handover_keep / gauge.ratio)


class ProposedScope(HandoverScope):
    """Older messages: as many as are proposed, or up to another cut."""

    async def cuts(self, upto: int = 0) -> list[CutPoint]:
        """Return all legal cuts; none if there is nothing to cover."""
        gauge, kept_tokens = self._rewriter.gauge(), self._kept_tokens()
        transcript, policy = self._runtime.transcript.fork(), self._runtime.policy

        def find_cuts() -> list[CutPoint]:
            found = _cuts_on_request(transcript, policy, gauge, kept_tokens)
            return [*found[:1], *_thinned(found[1:], upto)]

        return await asyncio.to_thread(find_cuts)  # tens of milliseconds in a long session

    async def find_cut(self, upto: int = 0) -> CutPoint:
        """Return `require_cut`."""
        return self.require_cut(upto)

    def require_cut(self, upto: int = 0) -> CutPoint:
        """Return the cut that ends at an event (0: the one to propose). Raises CompactionRefused."""
        runtime = self._runtime
        found = _cuts_on_request(
            runtime.transcript, runtime.policy, self._rewriter.gauge(), self._kept_tokens()
        )
        if not found:
            raise CompactionRefused(
                _text("Nothing to compact yet."),
                _text("Only the newest message and what was answered last are left; they always stay.")
                if runtime.transcript.messages.items
                else _text("This session has no messages."),
                _text("Send a message first."),
            )
        cut = next((candidate for candidate in found if upto in {0, candidate.upto}), None)
        if cut is None:
            raise CompactionRefused(
                _text("Can't compact up to this message (e{event}).", event=str(upto)),
                _text("It can only end after a complete step, before the newest part."),
                _text("Choose another message."),
            )
        return cut

    def frees_little(self, upto: int = 0) -> bool:
        """Return True if a handover up to event `upto` (0: as proposed) would free little, or nothing."""
        policy, gauge = self._runtime.policy, self._rewriter.gauge()
        return _frees_little(self._runtime.transcript, policy, gauge, self.require_cut(upto))


class RerunScope(HandoverScope):
    """The messages of the active handover, or another range, from its beginning on.

    A draft that is committed takes its place, and undo brings it back.
    """

    def __init__(
        self, runtime: SessionRuntime, rewriter: WindowRewriter, compactor: Compactor, seq: int
    ) -> None:
        super().__init__(runtime, rewriter, compactor)
        self.rerun_seq = seq

    async def cuts(self, upto: int = 0) -> list[CutPoint]:
        """Return where it may end: where it does now, first. Raises CompactionRefused if it is not active."""
        fork, same = self._without()
        policy, frame = self._runtime.policy, self._runtime.frame
        kept_tokens = self._kept_tokens()

        def find_cuts() -> list[CutPoint]:
            gauge = measure_usage(project(fork, policy, frame), fork, policy, frame)
            legal = _thinned(available_cuts(fork, kept_tokens), upto)
            others = (cut for cut in legal if cut.upto != same.upto)
            return [same, *(cut for cut in others if not _frees_little(fork, policy, gauge, cut))]

        return await asyncio.to_thread(find_cuts)

    async def find_cut(self, upto: int = 0) -> CutPoint:
        """Return the cut that ends at an event, or where it ends now. Raises CompactionRefused."""
        _, same = self._without()
        if upto in {0, same.upto}:
            return same
        return next((cut for cut in await self.cuts(upto) if cut.upto == upto), same)

    def _without(self) -> tuple[Transcript, CutPoint]:
        """Return a fork without the active handover, and the cut of that one. Raises CompactionRefused."""
        handover = active_handover(self._runtime.transcript, self.rerun_seq)
        fork, _ = without_handover(self._runtime.transcript)
        return fork, same_cut(fork, handover.upto, handover.kept)


class WholeSessionScope(HandoverScope):
    """Every message, for a session that continues this one; nothing is recorded here."""

    is_whole = True

    async def cuts(self, upto: int = 0) -> list[CutPoint]:
        """Return the cut behind every message. Raises CompactionRefused without one."""
        return [await self.find_cut()]

    async def find_cut(self, upto: int = 0) -> CutPoint:
        """Return the cut behind every message. Raises CompactionRefused without one."""
        items = self._runtime.transcript.messages.items
        if not items:
            raise CompactionRefused(
                _text("Nothing to compact yet."),
                _text("This session has no messages."),
                _text("Send a message first."),
            )
        tokens = sum(self._runtime.transcript.window.entry_tokens(item) for item in items)
        return CutPoint(items[-1].seq, 0, len(items), tokens)

    async def parts_as_sent(self, draft: HandoverDraft) -> list[CountedPart]:
        """Return what the model gets of a draft in a new session, each part counted by itself."""
        parts = handover_parts(draft.event, ())
        tokens = await self._runtime.counter.count([part.text for part in parts])
        return [CountedPart(part, count) for part, count in zip(parts, tokens, strict=True)]


def _frees_little(transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, cut: CutPoint) -> bool:
    least = planner.least_gain_on_request(policy, gauge)
    return planner.expected_savings(transcript, policy, gauge, cut) < least


def _cuts_on_request(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, kept_tokens: int
) -> list[CutPoint]:
    """Return all legal cuts, the one to propose first, then the furthest first.

    That is the furthest one before the newest turn which leaves `kept_tokens`, if it frees enough; else one
    in the newest turn.
    """
    found = available_cuts(transcript, 0, in_newest_turn=True)
    older = available_cuts(transcript, kept_tokens)
    if older and not _frees_little(transcript, policy, gauge, older[0]):
        proposed = older[:1]
    else:
        proposed = available_cuts(transcript, kept_tokens, in_newest_turn=True)[:1] or found[:1]
    return [*proposed, *(cut for cut in found if cut not in proposed)]


def _thinned(cuts: Sequence[CutPoint], upto: int) -> list[CutPoint]:
    """Return at most about `_MAX_CUTS` of these, with the first and the nearest one before event `upto`."""
    step = -(-len(cuts) // _MAX_CUTS)
    nearest = next((cut for cut in cuts if cut.upto <= upto), None)
    return [cut for place, cut in enumerate(cuts) if place % step == 0 or cut is nearest]


class Handovers:
    """One session's handovers, at most one at a time.

    The user may ask for one of the `proposed` messages, of the `whole_session`, or for a `rerun`; `revisions`
    are those that the user edits.
    """

    def __init__(
        self, runtime: SessionRuntime, rewriter: WindowRewriter, compactor: Compactor, job: BackgroundJob
    ) -> None:
        self._runtime, self._rewriter, self._compactor, self._job = runtime, rewriter, compactor, job
        self.proposed = ProposedScope(runtime, rewriter, compactor)
        self.whole_session = WholeSessionScope(runtime, rewriter, compactor)
        self.revisions = HandoverRevisions(runtime, compactor)
        self.wait_for_checkpoint: Callable[[], Awaitable[None]] = _no_wait
        self._saved_draft = _newest_draft(runtime.session.log)
        self._is_due = False  # True while what is written started at the threshold
        runtime.session.on(EventRecorded | RequestChanged, self._cancel_needless)

    def _cancel_needless(self, update: EventRecorded | RequestChanged) -> None:
        """Cancel a due handover once other changes made the room that it has to make, or turned it off."""
        match update:
            case EventRecorded(recorded=RecordedEvent(event=HandoverMade())):
                self._is_due, self._saved_draft = False, None
            case _ if self._is_due:
                gauge, policy = self._rewriter.gauge(), self._runtime.policy
                enough = gauge.handover_threshold - planner.least_gain(policy, gauge)
                if gauge.used <= enough or not policy.enabled:
                    self._is_due = False
                    self._job.cancel()

    @property
    def is_running(self) -> bool:
        """True while one is written to be recorded."""
        return self._job.is_running

    @property
    def is_busy(self) -> bool:
        """True while one is written, to be recorded or as a draft."""
        return self._job.is_running or self._compactor.is_drafting

    def start_due(self, refresh: bool = False) -> None:
        """Start the due handover, if there is one and none is written.

        With `refresh`, the figures of an open spend request for it are updated.
        """
        if self.is_busy:
            return
        policy, transcript = self._runtime.policy, self._runtime.transcript
        gauge = self._rewriter.gauge()
        if self._job.is_asking and (
            gauge.pressure == "none" or planner.handover_now(transcript, policy, gauge) is None
        ):
            self._job.withdraw_request()
        due = planner.handover_due(transcript, policy, gauge, self._runtime.clock())
        current = transcript.window.handover
        if due is not None and not self._job.is_blocked(current[0] if current else 0, gauge.used, refresh):
            self._start_due(due.cut)

    async def wait_for_room(self, wait: SummaryWait) -> OptionalText:
        """Have a model write the handover that a full context needs, and wait for it.

        Return why none could write it; empty if one did, or if none would help. What runs is waited for, else
        one is started, whatever the time since the last: the request can't be sent without it.
        """
        before = self._runtime.transcript.last_seq
        if not self._job.is_running and (reason := self._start_for_room()) is not None:
            return reason
        return await wait.wait_for(self._job) or self._why_none_since(before)

    def _start_for_room(self) -> OptionalText | None:
        """Start a handover by a model. Return why that can't be, None once it runs."""
        transcript, gauge = self._runtime.transcript, self._rewriter.gauge()
        plan = planner.handover_now(transcript, self._runtime.policy, gauge)
        if plan is None:
            return ""
        if planner.is_breaker_open(transcript):
            return self._why_none_since(0)
        current = transcript.window.handover
        if self._job.is_blocked(current[0] if current else 0, gauge.used, refresh=False):
            return _text("Its cost wasn't approved, or exceeds the budget.")
        self._start_due(plan.cut, trigger=HandoverTrigger.OVERFLOW)
        return None

    def _why_none_since(self, seq: int) -> OptionalText:
        """Return why the newest handover after `seq` failed; empty if one was made."""
        for recorded in reversed(self._runtime.session.log[seq:]):
            match recorded.event:
                case HandoverMade():
                    return ""
                case HandoverFailed(what=what, why=why):
                    return join_sentences(what, why)
        return _text("It was canceled, or its cost wasn't approved.")

    def _start_due(
        self, cut: CutPoint, ask_model: bool = True, trigger: HandoverTrigger = HandoverTrigger.THRESHOLD
    ) -> None:
        self._job.start(lambda: self._run_due(cut, ask_model, trigger))

    async def _run_due(self, cut: CutPoint, ask_model: bool, trigger: HandoverTrigger) -> bool:
        """Run a due handover, or ask about it; if the turn ended meanwhile, retry with the cut due then.

        A checkpoint that is being written comes first: the handover begins with that.
        """
        await self.wait_for_checkpoint()
        policy, transcript = self._runtime.policy, self._runtime.transcript
        gauge = self._rewriter.gauge()
        is_threshold = trigger is HandoverTrigger.THRESHOLD
        threshold = round(gauge.handover_threshold / gauge.window, 2) if is_threshold else 0.0
        while True:
            self._is_due = is_threshold
            try:
                is_made = await self._compactor.run(
                    trigger, cut, "", ask_model, threshold, self._job.require_approval
                )
            finally:
                self._is_due = False
            if is_made:
                return True
            plan = planner.handover_now(transcript, policy, self._rewriter.gauge())
            if transcript.turn_open or not self._job.is_asking or plan is None or plan.cut == cut:
                return False
            cut = plan.cut

    def answer_request(self, reply: SpendReply) -> None:
        """Apply the user's answer to the spend request; do nothing if none is open.

        If refused, the window stays as it is until it is full; then room is made without a model.
        """
        if not self._job.answer_request(reply == "allow") or reply == "refuse":
            return
        plan = planner.handover_now(self._runtime.transcript, self._runtime.policy, self._rewriter.gauge())
        if plan is not None:
            self._start_due(plan.cut, ask_model=reply == "allow")

    def rerun(self, seq: int) -> HandoverScope:
        """Return the scope of writing the active handover `seq` again."""
        return RerunScope(self._runtime, self._rewriter, self._compactor, seq)

    def start(self, focus: str = "") -> None:
        """Start a handover up to the furthest cut, unless one runs.

        Raises CompactionRefused if there is nothing to cover, ModelNotChosen.
        """
        self._runtime.model_choice.require()
        cut = self.proposed.require_cut()
        self._job.start(lambda: self._compactor.run(HandoverTrigger.MANUAL, cut, focus))

    async def commit(self, draft: HandoverDraft, text: str | None = None) -> None:
        """Record a draft as it is, or with the user's own text of its sections.

        Raises InvalidInput if the text cannot be parsed; CompactionRefused if the history changed since
        the draft was written, or if the window would not shrink enough.
        """
        await self._compactor.commit(draft, text)

    async def discard(self, draft: HandoverDraft) -> None:
        """Record what a draft cost that is not used. Raises StoreError."""
        await self._compactor.unused.record(spending_of(draft.event))

    async def save_draft(self, draft: HandoverDraft, text: str, rerun_seq: int, is_whole: bool) -> None:
        """Save a draft that the user leaves, until the context that it covers changes. Raises StoreError.

        It is recorded with what it cost: should it be used later, it is paid for already.
        """
        event = draft.event
        paid = msgspec.structs.replace(event, index="", spent=0, cost=0.0, estimated=False, unpriced=0)
        context = self._covered_context(event)
        saved = SavedHandoverDraft(paid, text, context, rerun_seq, is_whole, draft.doubt, draft.sweep_savings)
        if saved != self._saved_draft:
            self._saved_draft = saved
            await self._compactor.unused.record(spending_of(event), saved)

    def restore_draft(self, rerun_seq: int, is_whole_possible: bool) -> RestoredDraft | None:
        """Return the draft that was saved of this handover, None if its context is another now."""
        saved = self._saved_draft
        if saved is None or saved.rerun != rerun_seq or (saved.is_whole and not is_whole_possible):
            return None
        event = msgspec.structs.replace(saved.handover, index=digest_of(b""))
        if saved.context != self._covered_context(event) or not self._compactor.takes_place_of_same(event):
            return None
        cut = CutPoint(event.upto, event.kept, event.messages, 0)
        doubt: OptionalText = verbatim(saved.doubt) if saved.doubt else ""
        draft = HandoverDraft(cut, to_markdown(event.sections), event, doubt, saved.sweep_savings)
        return RestoredDraft(draft, saved.text, saved.is_whole)

    def _covered_context(self, event: HandoverMade) -> str:
        """Return the digest of the messages that a handover covers, and of what the user took out of it."""
        transcript = self._runtime.transcript
        items = covered_messages(transcript, event.upto, event.kept)
        excluded = sorted(seq for seq in transcript.rewrites.excluded if seq <= event.upto)
        reverts = sorted(transcript.reverted_files.by_path.items())
        return digest_of(msgspec.json.encode(([item.seq for item in items], excluded, reverts)))

    async def apply_edits(self, draft: HandoverDraft, text: str) -> HandoverMade:
        """Return a draft's event with the user's own text of its sections. Raises InvalidInput."""
        return await self._compactor.apply_edits(draft, text)

    def cancel(self) -> None:
        """Cancel the running handover; nothing changes."""
        self._job.cancel()

    async def wait(self) -> None:
        """Wait for the running handover, if any."""
        await self._job.wait()


def _newest_draft(log: Sequence[RecordedEvent]) -> SavedHandoverDraft | None:
    """Return the newest saved draft, unless a handover was recorded since."""
    for recorded in reversed(log):
        match recorded.event:
            case HandoverDiscarded(draft=SavedHandoverDraft() as draft):
                return draft
            case HandoverMade():
                return None
    return None


async def _no_wait() -> None:
    """Wait for nothing: no checkpoints are written."""
