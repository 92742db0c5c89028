"""The handovers of a session: written when due, or when the user asks, beside the turns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.session_updates import EventRecorded, RequestChanged, Update
from helix_desktop.agent.window.background_job import BackgroundJob, SummaryWait
from helix_desktop.agent.window.compactor import Compactor
from helix_desktop.agent.window.handover_draft import HandoverDraft, RestoredDraft
from helix_desktop.agent.window.handover_revisions import HandoverRevisions
from helix_desktop.agent.window.handover_scopes import (
    HandoverScope,
    ProposedScope,
    RerunScope,
    WholeSessionScope,
)
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries.cut_points import CutPoint
from helix_desktop.context.summaries.handover import covered_messages
from helix_desktop.context.summaries.handover_revision import to_markdown
from helix_desktop.domain.cost import SpendReply, spending_of
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    SavedHandoverDraft,
)
from helix_desktop.domain.translatable_text import OptionalText, TextContext, join_sentences, verbatim

_text = TextContext("Agent")


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
        runtime.session.listen(self._on_update)

    def _on_update(self, update: Update) -> None:
        """Cancel a due handover once other changes made the room that it has to make, or turned it off."""
        match update:
            case EventRecorded(recorded=RecordedEvent(event=HandoverMade())):
                self._is_due, self._saved_draft = False, None
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
        """Record a draft as it is, or with the user's own text of its six sections.

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
        """Return a draft's event with the user's own text of its six sections. Raises InvalidInput."""
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
