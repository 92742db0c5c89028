"""The handovers of a session: written when due, or when the user asks, beside the turns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.session_updates import EventRecorded, RequestChanged, Update
from helix_desktop.agent.window.background_job import BackgroundJob
from helix_desktop.agent.window.compactor import Compactor
from helix_desktop.agent.window.handover_check import active_handover, fork_with
from helix_desktop.agent.window.handover_draft import CountedPart, HandoverDraft, RevisionDraft
from helix_desktop.agent.window.handover_revisions import HandoverRevisions
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries import cut_points
from helix_desktop.context.summaries.cut_points import CutPoint
from helix_desktop.context.summaries.handover import handover_parts
from helix_desktop.context.summaries.handover_rerun import same_cut, without_handover
from helix_desktop.context.summaries.handover_revision import sections_with
from helix_desktop.context.window.usage_gauge import UsageGauge, measure_usage
from helix_desktop.context.window.window import handover_as_sent, project, tokens_as_sent
from helix_desktop.domain.cost import CostEstimate, SpendReply, spending_of
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger
from helix_desktop.domain.events.summary import Bullet, HandoverMade, Section
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Agent")
_MAX_CUTS = 200  # to choose from: each is priced, and nobody reads more


class Handovers:
    """One session's handovers, at most one at a time."""

    def __init__(
        self, runtime: SessionRuntime, rewriter: WindowRewriter, compactor: Compactor, job: BackgroundJob
    ) -> None:
        self._runtime, self._rewriter, self._compactor, self._job = runtime, rewriter, compactor, job
        self._revisions = HandoverRevisions(runtime)
        self._is_due = False  # True while what is written started at the threshold
        runtime.session.listen(self._on_update)

    def _on_update(self, update: Update) -> None:
        """Cancel a due handover once other changes made the room that it has to make, or turned it off."""
        match update:
            case EventRecorded(recorded=RecordedEvent(event=HandoverMade())):
                self._is_due = False
            case EventRecorded() | RequestChanged() if self._is_due:
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
        if self.is_busy or self._job.is_budget_exhausted:
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

    def _start_due(self, cut: CutPoint, ask_model: bool = True) -> None:
        self._job.start(lambda: self._run_due(cut, ask_model))

    async def _run_due(self, cut: CutPoint, ask_model: bool) -> bool:
        """Run a due handover, or ask about it; if the turn ended meanwhile, retry with the cut due then."""
        policy, transcript = self._runtime.policy, self._runtime.transcript
        gauge = self._rewriter.gauge()
        threshold = round(gauge.handover_threshold / gauge.window, 2)
        while True:
            self._is_due = True
            try:
                is_made = await self._compactor.run(
                    HandoverTrigger.THRESHOLD, cut, "", ask_model, threshold, self._job.require_approval
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

    async def cuts(self, upto: int = 0) -> list[CutPoint]:
        """Return all legal cuts for a handover on request: first the one to propose, then the furthest first.

        Of very many, some at equal distances and the nearest one before the event `upto`.
        """
        gauge, kept_tokens = self._rewriter.gauge(), self._kept_tokens()
        transcript, policy = self._runtime.transcript.fork(), self._runtime.policy

        def find_cuts() -> list[CutPoint]:
            found = _cuts_on_request(transcript, policy, gauge, kept_tokens)
            return [*found[:1], *_thinned(found[1:], upto)]

        return await asyncio.to_thread(find_cuts)  # tens of milliseconds in a long session

    def frees_little(self, upto: int = 0) -> bool:
        """Return True if a handover up to event `upto` (0: as proposed) would free little, or nothing.

        Raises CompactionRefused without such a cut.
        """
        policy, gauge = self._runtime.policy, self._rewriter.gauge()
        return _frees_little(self._runtime.transcript, policy, gauge, self._cut(upto))

    def _kept_tokens(self) -> int:
        """Return the tokens that stay behind a handover on request, by our count: a share of what is used."""
        gauge = self._rewriter.gauge()
        return int(min(gauge.window, gauge.used) * self._runtime.policy.handover_keep / gauge.ratio)

    def start(self, focus: str = "") -> None:
        """Start a handover up to the furthest cut, unless one runs.

        Raises CompactionRefused if there is nothing to cover, ModelNotChosen.
        """
        self._runtime.model_choice.require()
        cut = self._cut(0)
        self._job.start(lambda: self._compactor.run(HandoverTrigger.MANUAL, cut, focus))

    async def draft(self, focus: str = "", upto: int = 0) -> HandoverDraft:
        """Write a handover up to the cut at event `upto` (0: the furthest) without recording it.

        Progress is published as for a recorded handover. Raises CompactionRefused if there is nothing to
        cover, no legal cut at `upto`, or a handover is running; ModelNotChosen. Model failures are
        described in the draft.
        """
        self._runtime.model_choice.require()
        return await self._compactor.draft(self._cut(upto), focus)

    async def commit(self, draft: HandoverDraft, text: str | None = None) -> None:
        """Record a draft as it is, or with the user's own text of its six sections.

        Raises InvalidInput if the text cannot be parsed; CompactionRefused if the history changed since
        the draft was written, or if the window would not shrink enough.
        """
        await self._compactor.commit(draft, text)

    async def discard(self, draft: HandoverDraft) -> None:
        """Record what a draft cost that is not used. Raises StoreError."""
        await self._compactor.unused.record(spending_of(draft.event))

    async def estimate(self, focus: str = "", upto: int = 0) -> CostEstimate:
        """Return the cost estimate of a draft up to event `upto` (0: furthest). Raises CompactionRefused."""
        return await self._compactor.estimate(self._cut(upto), focus)

    async def rerun_cuts(self, seq: int, upto: int = 0) -> list[CutPoint]:
        """Return where the active handover `seq` may end when it is written again: where it does now, first.

        `upto` as in `cuts`. Raises CompactionRefused if another one is active.
        """
        fork, same = self._without(seq)
        policy, frame = self._runtime.policy, self._runtime.frame
        kept_tokens = self._kept_tokens()

        def find_cuts() -> list[CutPoint]:
            gauge = measure_usage(project(fork, policy, frame), fork, policy, frame)
            legal = _thinned(cut_points.available_cuts(fork, kept_tokens), upto)
            others = (cut for cut in legal if cut.upto != same.upto)
            return [same, *(cut for cut in others if not _frees_little(fork, policy, gauge, cut))]

        return await asyncio.to_thread(find_cuts)

    async def draft_rerun(self, seq: int, focus: str = "", upto: int = 0) -> HandoverDraft:
        """Write the active handover `seq` again, up to a cut of `rerun_cuts`, without recording it.

        `commit` puts it in the place of that one, and undo brings that back. Raises as `draft` does.
        """
        self._runtime.model_choice.require()
        return await self._compactor.draft(await self._rerun_cut(seq, upto), focus, rerun_seq=seq)

    async def estimate_rerun(self, seq: int, upto: int = 0) -> CostEstimate:
        """Return the cost estimate of such a draft. Raises CompactionRefused."""
        return await self._compactor.estimate(await self._rerun_cut(seq, upto), rerun_seq=seq)

    async def _rerun_cut(self, seq: int, upto: int) -> CutPoint:
        _, same = self._without(seq)
        if upto in {0, same.upto}:
            return same
        return next((cut for cut in await self.rerun_cuts(seq, upto) if cut.upto == upto), same)

    def _without(self, seq: int) -> tuple[Transcript, CutPoint]:
        """Return a fork without the active handover, and the cut of that one. Raises CompactionRefused."""
        handover = active_handover(self._runtime.transcript, seq)
        fork, _ = without_handover(self._runtime.transcript)
        return fork, same_cut(fork, handover.upto, handover.kept)

    async def draft_whole(self, focus: str = "") -> HandoverDraft:
        """Write a handover of every message, for a session that continues this one; nothing is recorded here.

        Raises CompactionRefused without a message or while another one is written; ModelNotChosen.
        """
        self._runtime.model_choice.require()
        return await self._compactor.draft(self._whole_cut(), focus, is_whole=True)

    async def estimate_whole(self) -> CostEstimate:
        """Return the cost estimate of such a handover. Raises CompactionRefused."""
        return await self._compactor.estimate(self._whole_cut())

    async def parts_as_sent(self, draft: HandoverDraft, *, is_whole: bool = False) -> list[CountedPart]:
        """Return what the model gets of a draft as it was written; `is_whole` as for `draft_whole`.

        Together the parts are what the context counts for the handover, not quite what each is by itself: the
        largest one that is no quote gets the difference.
        """
        runtime, event = self._runtime, draft.event
        if is_whole:
            parts = handover_parts(event, ())
            tokens = await runtime.counter.count([part.text for part in parts])
            return [CountedPart(part, count) for part, count in zip(parts, tokens, strict=True)]
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

    async def apply_edits(self, draft: HandoverDraft, text: str) -> HandoverMade:
        """Return a draft's event with the user's own text of its six sections. Raises InvalidInput."""
        return await self._compactor.apply_edits(draft, text)

    async def put_back(self, seq: int, title: str, bullet: Bullet) -> None:
        """Add a sentence of another handover to a section of the active one, `seq`; the former text stays.

        Raises CompactionRefused if another one is active by now, or if one is being written.
        """
        draft = await self.draft_revision(seq)
        await self.revise(draft, sections_with(draft.handover, title, bullet, draft.valid_seqs))

    async def draft_revision(self, seq: int) -> RevisionDraft:
        """Return the recorded handover `seq` for editing. Its time grows with what it covers."""
        return await self._revisions.draft(seq)

    async def check_revision(self, draft: RevisionDraft, sections: tuple[Section, ...]) -> HandoverMade:
        """Return it with other sections, not recorded: its tokens, and what it does not name."""
        return await self._revisions.check(draft, sections)

    def tokens_as_sent(self, handover: HandoverMade) -> int:
        """Return the tokens of all that a handover puts in the context while it is active, by our count."""
        runtime = self._runtime
        return tokens_as_sent(runtime.transcript, runtime.policy, runtime.frame.info.window, handover)

    async def revise(self, draft: RevisionDraft, sections: tuple[Section, ...]) -> None:
        """Record the active handover again with the user's own sections; the former text stays.

        Raises CompactionRefused if another one is active by now, or if one is being written.
        """
        self._compactor.require_idle()
        await self._revisions.record(draft, sections)

    def _whole_cut(self) -> CutPoint:
        """Return the cut behind every message. Raises CompactionRefused without one."""
        items = self._runtime.transcript.messages.items
        if not items:
            raise CompactionRefused(
                _text("Nothing to summarize yet."),
                _text("This session has no messages."),
                _text("Send a message first."),
            )
        tokens = sum(self._runtime.transcript.window.entry_tokens(item) for item in items)
        return CutPoint(items[-1].seq, 0, len(items), tokens)

    def _cut(self, upto: int) -> CutPoint:
        """Return the cut that ends at an event (0: the one to propose). Raises CompactionRefused."""
        runtime = self._runtime
        found = _cuts_on_request(
            runtime.transcript, runtime.policy, self._rewriter.gauge(), self._kept_tokens()
        )
        if not found:
            raise CompactionRefused(
                _text("Nothing to compact yet."),
                _text("Only the newest message and what was answered last are left; they stay in full.")
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

    def cancel(self) -> None:
        """Cancel the running handover; nothing changes."""
        self._job.cancel()

    async def wait(self) -> None:
        """Wait for the running handover, if any."""
        await self._job.wait()


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
    found = cut_points.available_cuts(transcript, 0, in_newest_turn=True)
    older = cut_points.available_cuts(transcript, kept_tokens)
    if older and not _frees_little(transcript, policy, gauge, older[0]):
        proposed = older[:1]
    else:
        proposed = cut_points.available_cuts(transcript, kept_tokens, in_newest_turn=True)[:1] or found[:1]
    return [*proposed, *(cut for cut in found if cut not in proposed)]


def _thinned(cuts: Sequence[CutPoint], upto: int) -> list[CutPoint]:
    """Return at most about `_MAX_CUTS` of these, with the first and the nearest one before event `upto`."""
    step = -(-len(cuts) // _MAX_CUTS)
    nearest = next((cut for cut in cuts if cut.upto <= upto), None)
    return [cut for place, cut in enumerate(cuts) if place % step == 0 or cut is nearest]
