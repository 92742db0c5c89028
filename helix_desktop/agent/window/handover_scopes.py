"""What a handover that the user asks for may cover: older messages, those of the active one, or all."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.window.compactor import Compactor
from helix_desktop.agent.window.handover_check import active_handover, fork_with
from helix_desktop.agent.window.handover_draft import CountedPart, HandoverDraft
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries import cut_points
from helix_desktop.context.summaries.cut_points import CutPoint
from helix_desktop.context.summaries.handover import handover_parts
from helix_desktop.context.summaries.handover_revision import same_cut, without_handover
from helix_desktop.context.window.usage_gauge import UsageGauge, measure_usage
from helix_desktop.context.window.window import handover_as_sent, project
from helix_desktop.domain.cost import CostEstimate
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Agent")
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
            legal = _thinned(cut_points.available_cuts(fork, kept_tokens), upto)
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
