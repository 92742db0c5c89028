"""When handovers are written, and what users do with them: edit a recorded one, leave a draft."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec

from helix_desktop.agent.budget import SpendApprovals
from helix_desktop.agent.compaction.handover_writer import (
    OLDER_MESSAGES,
    HandoverDraft,
    HandoverScope,
    HandoverWriter,
    RestoredDraft,
    RevisionDraft,
    active_handover,
    checked_handover,
    range_on_request,
    takes_place_of_same,
)
from helix_desktop.agent.compaction.rewriter import WindowRewriter
from helix_desktop.agent.compaction.summarizer import BackgroundJob, SummaryWait
from helix_desktop.agent.session import EventRecorded, RequestChanged, Session
from helix_desktop.context.rewrites import compaction_due
from helix_desktop.context.summaries.covered_facts import covered_facts
from helix_desktop.context.summaries.handover import citable_seqs, covered_messages, newest_checkpoint
from helix_desktop.context.summaries.handover_revision import original_of, revised_handover, to_markdown
from helix_desktop.context.summaries.legal_ranges import HandoverRange
from helix_desktop.context.window.used_tokens import FULL_WINDOW, ON_REQUEST, CompactionTrigger, measure_usage
from helix_desktop.context.window.window import project, tokens_as_sent
from helix_desktop.domain.cost import spending_of
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import CompactionRefused, StoreError
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    HandoverPrepared,
    SavedHandoverDraft,
    Section,
)
from helix_desktop.domain.translatable_text import OptionalText, TextContext, join_sentences, verbatim

text = TextContext("Agent")


class HandoverRevisions:
    """The revisions of one session's handovers; what they replace stays, and undo brings it back.

    One may be larger than what it replaces: invariant 6, that a handover frees room, is for automatic ones.
    """

    def __init__(self, session: Session, writer: HandoverWriter) -> None:
        self._session = session
        self.writer = writer

    async def draft(self, seq: int) -> RevisionDraft:
        """Return the recorded handover `seq` for editing. Its time grows with what it covers."""
        transcript = self._session.transcript
        handovers = transcript.written_handovers
        handover = handovers[seq]
        covered = covered_messages(transcript, handover.upto, handover.kept)
        facts = await asyncio.to_thread(covered_facts, covered)
        valid_seqs = citable_seqs(transcript, covered)
        return RevisionDraft(seq, handover, handovers[original_of(handovers, seq)], valid_seqs, facts)

    async def check(self, draft: RevisionDraft, sections: tuple[Section, ...]) -> HandoverMade:
        """Return it with other sections, not recorded: its tokens, and what it does not name."""
        revised = revised_handover(draft.seq, draft.handover, sections)
        return await checked_handover(self._session, revised, draft.facts)

    async def record(self, draft: RevisionDraft, sections: tuple[Section, ...]) -> None:
        """Record the active handover again with the user's own sections; the former text stays.

        So it is with the newest checkpoint. Raises CompactionRefused if another one is active by now, or if
        one is being written.
        """
        if draft.seq in self._session.transcript.checkpoints:
            await self._record_checkpoint(draft, sections)
            return
        self.writer.require_idle()
        active_handover(self._session.transcript, draft.seq)
        event = await self.check(draft, sections)
        await self._session.record_decided(lambda: self._events_to_record(event))

    async def _record_checkpoint(self, draft: RevisionDraft, sections: tuple[Section, ...]) -> None:
        event = await self.check(draft, sections)

        def decide() -> list[HandoverDiscarded]:
            newest = newest_checkpoint(self._session.transcript)
            if newest is None or newest[0] != draft.seq:
                raise CompactionRefused(
                    text("The handover summary wasn't changed."),
                    text("A newer one replaced it."),
                    text("Open the timeline and try again."),
                )
            return [HandoverDiscarded(unpriced=0, prepared=HandoverPrepared(event))]

        await self._session.record_decided(decide)

    def tokens_as_sent(self, handover: HandoverMade) -> int:
        """Return the tokens of all that a handover puts in the context while it is active, by our count."""
        session = self._session
        return tokens_as_sent(session.transcript, session.policy, session.managed_window, handover)

    def _events_to_record(self, event: HandoverMade) -> tuple[Event, ...]:
        """Return the event with the usage before and after it. Raises CompactionRefused if outdated."""
        policy = self._session.policy
        frame = self._session.frame
        transcript = self._session.transcript
        active_handover(transcript, event.revises)
        before, after = (
            measure_usage(project(log, policy, frame), log, policy, frame).used
            for log in (transcript, transcript.fork_with(event))
        )
        return (msgspec.structs.replace(event, before=before, after=after),)


class Handovers(BackgroundJob):
    """One session's handovers, at most one at a time.

    `writer` writes those that the user asks for, too, `previews` those that are only shown, without a model;
    `revisions` are those that the user edits.
    """

    def __init__(
        self,
        session: Session,
        rewriter: WindowRewriter,
        approvals: SpendApprovals | None,
        checkpoints: BackgroundJob,
    ) -> None:
        super().__init__(session, "handover", approvals)
        self._rewriter = rewriter
        self._checkpoints = checkpoints
        self.writer = HandoverWriter(session, rewriter)
        self.previews = HandoverWriter(session, rewriter, is_published=False)
        self.revisions = HandoverRevisions(session, self.writer)
        self._saved_draft = _newest_draft(session.log)
        self._is_due = False  # True while what is written started at the threshold
        self._is_replacing = False  # True while one that no model wrote is written again
        session.on(EventRecorded | RequestChanged, self._cancel_needless)

    def _cancel_needless(self, update: EventRecorded | RequestChanged) -> None:
        """Cancel a due handover once other changes made the room that it has to make, or turned it off."""
        match update:
            case EventRecorded(recorded=RecordedEvent(event=HandoverMade())):
                self._is_due = False
                self._saved_draft = None
            case _ if self._is_due:
                gauge = self._rewriter.gauge()
                policy = self._session.policy
                least = compaction_due.least_gain(policy, gauge)
                if not policy.enabled or not gauge.trigger_at(gauge.used + least).is_due:
                    self._is_due = False
                    self.cancel()

    @property
    def is_busy(self) -> bool:
        """True while one is written, to be recorded or as a draft."""
        return self.is_running or self.writer.is_drafting

    def start_due(self) -> None:
        """Start the due handover, if there is one and none is written."""
        if self.is_busy:
            return
        policy = self._session.policy
        transcript = self._session.transcript
        gauge = self._rewriter.gauge()
        range_ = compaction_due.handover_due(transcript, policy, gauge, self._session.clock())
        current = transcript.window.handover
        active_seq = current[0] if current else 0
        if range_ is not None and not self.is_blocked(active_seq, gauge.used, refresh=False):
            self._start_job(lambda: self._run_due(range_))

    def start_replacement(self) -> None:
        """Have a model write the handover in use again, if it was made without one and that is due now."""
        transcript = self._session.transcript
        policy = self._session.policy
        seq = compaction_due.handover_to_replace(transcript, policy, self._rewriter.gauge())
        if seq and not self.is_busy and not self.is_blocked(seq, 0, refresh=False):
            self._is_replacing = True
            self._start_job(lambda: self._replace(seq))

    async def _replace(self, seq: int) -> bool:
        try:
            return await self.writer.replace(seq, self.require_approval)
        finally:
            self._is_replacing = False

    def _start_for_now(self, work: Callable[[], Awaitable[bool]]) -> None:
        """Run the work unless some runs; one that only writes a handover again makes way."""
        replacing = self._task
        if not self._is_replacing or replacing is None:
            self._start_job(work)
            return

        async def run_after() -> bool:
            await asyncio.wait([replacing])
            return await work()

        self._is_replacing = False
        self.cancel()
        self._task = None
        self._start_job(run_after)

    async def wait_for_room(self, wait: SummaryWait) -> OptionalText:
        """Have a model write the handover that a full context needs, and wait for it.

        Return why none could write it; empty if one did, or if none would help. What runs is waited for, else
        one is started, whatever the time since the last: the request can't be sent without it.
        """
        before = self._session.transcript.last_seq
        must_start = not self.is_running or self._is_replacing
        if must_start and (reason := self._start_for_room()) is not None:
            return reason
        return await wait.wait_for(self) or self._why_none_since(before)

    def _start_for_room(self) -> OptionalText | None:
        """Start a handover by a model. Return why that can't be, None once it runs."""
        transcript = self._session.transcript
        gauge = self._rewriter.gauge()
        range_ = compaction_due.handover_now(transcript, self._session.policy, gauge)
        if range_ is None:
            return ""
        if compaction_due.is_breaker_open(transcript):
            return self._why_none_since(0)
        current = transcript.window.handover
        if self.is_blocked(current[0] if current else 0, gauge.used, refresh=False):
            return text("Its cost exceeds the budget.")
        self._start_for_now(lambda: self._run_due(range_, trigger=FULL_WINDOW))
        return None

    def _why_none_since(self, seq: int) -> OptionalText:
        """Return why the newest handover after `seq` failed; empty if one was made."""
        for recorded in reversed(self._session.log[seq:]):
            match recorded.event:
                case HandoverMade():
                    return ""
                case HandoverFailed(what=what, why=why):
                    return join_sentences(what, why)
        return text("It was canceled, or its cost exceeds the budget.")

    async def _run_due(self, range_: HandoverRange, trigger: CompactionTrigger | None = None) -> bool:
        """Run a due handover that the budget has room for. Return True if it was recorded.

        Without a `trigger` it is what the policy says. A checkpoint that is being written comes first: the
        handover begins with that.
        """
        await self._checkpoints.wait()
        trigger = trigger or self._rewriter.gauge().trigger
        self._is_due = trigger.kind.is_by_policy
        try:
            return await self.writer.run(trigger, range_, approve=self.require_approval)
        finally:
            self._is_due = False

    def start(self, focus: str = "") -> None:
        """Start a handover of the furthest range, unless one runs.

        Raises CompactionRefused if there is nothing to cover, ModelNotChosen.
        """
        self._session.model_choice.require()
        transcript = self._session.transcript
        policy = self._session.policy
        range_ = range_on_request(transcript, policy, self._rewriter.gauge())
        self._start_for_now(lambda: self.writer.run(ON_REQUEST, range_, focus))

    async def write_draft(
        self, focus: str = "", upto: int = 0, scope: HandoverScope = OLDER_MESSAGES
    ) -> HandoverDraft:
        """Write a draft as the writer does, and save it at once with what it cost: a kill loses neither.

        What the disk refuses is saved with the next event: the draft can be used. Raises as the writer does.
        """
        draft = await self.writer.draft(focus, upto, scope)
        with suppress(StoreError):
            await self.save_draft(draft, draft.text, scope.rerun_seq, scope.is_whole)
        return msgspec.structs.replace(draft, event=msgspec.structs.replace(draft.event, prepaid=True))

    async def save_draft(self, draft: HandoverDraft, text: str, rerun_seq: int, is_whole: bool) -> None:
        """Save a draft as the user leaves it, until the context that it covers changes. Raises StoreError.

        It is recorded with what it cost, unless that is counted already.
        """
        event = draft.event
        paid = msgspec.structs.replace(event, index="", prepaid=True)
        context = self._covered_context(event)
        saved = SavedHandoverDraft(paid, text, context, rerun_seq, is_whole, draft.doubt, draft.sweep_savings)
        if saved != self._saved_draft:
            self._saved_draft = saved
            await self._session.unused.record(spending_of(event), saved)

    def restore_draft(self, rerun_seq: int, is_whole_possible: bool) -> RestoredDraft | None:
        """Return the draft that was saved of this handover, None if its context is another now."""
        saved = self._saved_draft
        if saved is None or saved.rerun != rerun_seq or (saved.is_whole and not is_whole_possible):
            return None
        event = msgspec.structs.replace(saved.handover, index=digest_of(b""))
        if saved.context != self._covered_context(event) or not takes_place_of_same(
            self._session.transcript, event
        ):
            return None
        range_ = HandoverRange(event.upto, event.kept, event.messages, 0)
        doubt: OptionalText = verbatim(saved.doubt) if saved.doubt else ""
        draft = HandoverDraft(range_, to_markdown(event.sections), event, doubt, saved.sweep_savings)
        return RestoredDraft(draft, saved.text, saved.is_whole)

    def _covered_context(self, event: HandoverMade) -> str:
        """Return the digest of the messages that a handover covers, and of what the user took out of it."""
        transcript = self._session.transcript
        items = covered_messages(transcript, event.upto, event.kept)
        excluded = sorted(seq for seq in transcript.rewrites.excluded if seq <= event.upto)
        reverts = sorted(transcript.reverted_files.by_path.items())
        return digest_of(msgspec.json.encode(([item.seq for item in items], excluded, reverts)))


def _newest_draft(log: Sequence[RecordedEvent]) -> SavedHandoverDraft | None:
    """Return the newest saved draft, unless a handover was recorded since."""
    for recorded in reversed(log):
        match recorded.event:
            case HandoverDiscarded(draft=SavedHandoverDraft() as draft):
                return draft
            case HandoverMade():
                return None
    return None
