"""Revisions: the active handover of a session, edited by the user and recorded again."""

from __future__ import annotations

import asyncio

import msgspec

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.window.compactor import Compactor
from helix_desktop.agent.window.handover_check import active_handover, checked_handover, fork_with
from helix_desktop.agent.window.handover_draft import RevisionDraft
from helix_desktop.context.summaries.handover import covered_messages, newest_checkpoint
from helix_desktop.context.summaries.handover_revision import original_of, revised_handover, sections_with
from helix_desktop.context.summaries.summary_coverage import covered_facts
from helix_desktop.context.window.usage_gauge import measure_usage
from helix_desktop.context.window.window import project, tokens_as_sent
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.summary import (
    Bullet,
    HandoverDiscarded,
    HandoverMade,
    HandoverPrepared,
    Section,
)
from helix_desktop.domain.translatable_text import TextContext

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
                    _text("The checkpoint wasn't changed."),
                    _text("A newer checkpoint or handover took its place."),
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
