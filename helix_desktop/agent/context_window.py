"""The context window of a session: what the user sees of it, and changes in it by hand."""

from __future__ import annotations

import asyncio

import msgspec

from helix_desktop.agent.chosen_forms import OutputForms
from helix_desktop.agent.compaction.rewriter import WindowRewriter
from helix_desktop.agent.ports import wire_body
from helix_desktop.agent.session import Session, with_cache_hints
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.undo_targets import seqs_to_redo, seqs_to_undo
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.rewrites import compaction_due, sweep_plans
from helix_desktop.context.rewrites.compaction_due import CompactionOutlook
from helix_desktop.context.window.exclusions import (
    Exclusion,
    excluded_event,
    plan_exclusion,
    plan_opening_exclusion,
)
from helix_desktop.context.window.past_windows import PastWindow, PastWindows
from helix_desktop.context.window.provider_cache import RequestCost, next_request_cost
from helix_desktop.context.window.used_tokens import UsageGauge, measure_next_request, message_limit
from helix_desktop.context.window.window import PromptFrame, Window
from helix_desktop.context.window.window_breakdown import WindowItem, break_down_window
from helix_desktop.domain.errors import OutputFormUnavailable
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import Excluded, Pinned, Redone, SweepReason, Undone, Unpinned
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Agent")


class ContextWindow:
    def __init__(self, session: Session, rewriter: WindowRewriter, forms: OutputForms) -> None:
        self._session = session
        self._rewriter = rewriter
        self._forms = forms
        self._past = PastWindows(session.log)
        self._past_lock = asyncio.Lock()
        self._items_of: Window | None = None
        self._items: tuple[WindowItem, ...] = ()

    @property
    def policy(self) -> ContextPolicy:
        return self._session.policy

    @property
    def frame(self) -> PromptFrame:
        return self._session.frame

    def measure(self) -> tuple[Window, UsageGauge]:
        return self._rewriter.measure()

    def items(self) -> tuple[WindowItem, ...]:
        window = self.measure()[0]
        session = self._session
        if window is not self._items_of:  # the context panel and the timeline ask for them
            self._items = break_down_window(window, session.transcript, session.frame, session.effort)
            self._items_of = window
        return self._items

    def cost(self) -> RequestCost:
        """Return what the next request costs without its answer."""
        window, gauge = self.measure()
        session = self._session
        info = session.frame.info
        transcript = session.transcript
        is_cold = sweep_plans.is_prompt_cache_cold(transcript, session.policy, info.label, session.clock())
        return next_request_cost(window, gauge, transcript, info, is_cold)

    async def read_outlook(self) -> CompactionOutlook:
        """Return the same as `compaction_outlook`. Computed in a thread: slow in a full window."""
        session = self._session
        now_ms = self._session.clock()
        transcript = session.transcript.fork()
        policy = session.policy
        frame = session.frame

        def compute() -> CompactionOutlook:
            gauge = measure_next_request(transcript, policy, frame)
            return compaction_due.compaction_outlook(transcript, policy, gauge, now_ms)

        return await asyncio.to_thread(compute)

    def compaction_outlook(self) -> CompactionOutlook:
        session = self._session
        _, gauge = self.measure()
        return compaction_due.compaction_outlook(session.transcript, session.policy, gauge, session.clock())

    async def window_at(self, seq: int) -> PastWindow:
        """Return the window of an earlier event: for a step, the request that it answered.

        Policy, system prompt and tools are today's; see PastWindow. Computed in a thread.
        """
        policy, frame, _ = self._session.settings()
        async with self._past_lock:
            return await asyncio.to_thread(self._past.window_at, seq, policy, frame)

    async def wire_body(self, past: PastWindow | None = None) -> bytes | None:
        """Return the JSON of the next request as it would be sent; None if its model has no server.

        Of the `past`: in the format of today's model, and without what was asked of the provider's cache,
        which no event holds. Computed in a thread.
        """
        if past is None:
            window, _ = self.measure()
            request = with_cache_hints(window.request, window, self._session)
        else:
            request = msgspec.structs.replace(past.window.request, effort=past.effort)
        return await asyncio.to_thread(wire_body, self._session.roles.main, request)

    def forget_past(self) -> None:
        """Free what `window_at` stored, which takes memory in long sessions."""
        self._past = PastWindows(self._session.log)

    @property
    def message_limit(self) -> int:
        """The tokens of the largest message that can ever be sent, by our count."""
        _, gauge = self.measure()
        fixed = self._session.frame.fixed_tokens + self._session.transcript.opening_tokens
        return int(message_limit(self._session.policy, gauge) / gauge.ratio) - fixed

    def after_undo(self, *seqs: int) -> tuple[Transcript, UsageGauge]:
        """Return what an undo of these rewrites would leave. Raises CompactionRefused as the undo would."""
        transcript = self._session.transcript
        undone = transcript.fork_with(*map(Undone, seqs_to_undo(transcript, seqs)))
        return undone, measure_next_request(undone, self.policy, self.frame)

    async def undo(self, *seqs: int) -> None:
        """Undo rewrites of the window. Raises CompactionRefused where a wider one covers them."""
        transcript = self._session.transcript
        await self._session.record_decided(lambda: [*map(Undone, seqs_to_undo(transcript, seqs))])

    async def redo(self, *seqs: int) -> None:
        """Let undone rewrites hold again. Raises CompactionRefused where a wider one covers them."""
        transcript = self._session.transcript
        await self._session.record_decided(lambda: [*map(Redone, seqs_to_redo(transcript, seqs))])

    async def send_all(self, seq: int) -> None:
        """Show all of the output recorded as `seq`, or of another message of which something is cached.

        Undone like any rewrite. Raises OutputFormUnavailable if it can't be sent, StoreError if its bytes
        cannot be read.
        """
        await self._forms.send_all(seq)

    async def exclude(self, seq: int, part: int = 0) -> None:
        """Leave out of the requests that follow what `seq` put into the window; undone like any rewrite.

        With a `part`, that text of the session's start, from 1. What stood there is stored first. Raises
        OutputFormUnavailable if it stands there no more or cannot be excluded, StoreError.
        """
        planned = self._plan_exclusion(seq, part)
        event = await self._exclusion_event(planned)
        await self._session.record_decided(
            lambda: (event,) if self._plan_exclusion(seq, part) == planned else (), planned.contents
        )

    async def exclusion_savings(self, seq: int, part: int = 0) -> int:
        """Return the tokens, by our count, that `exclude` would save. Raises OutputFormUnavailable."""
        return (await self._exclusion_event(self._plan_exclusion(seq, part))).saved

    async def _exclusion_event(self, planned: Exclusion) -> Excluded:
        session = self._session
        tokens = sum(await session.counter.count(list(planned.counted_texts)))
        return excluded_event(planned, tokens, session.transcript, session.policy, session.frame)

    def _plan_exclusion(self, seq: int, part: int) -> Exclusion:
        transcript = self._session.transcript
        digits = self._session.policy.handle_digits
        if part:
            planned = plan_opening_exclusion(transcript, transcript.opening_seq, part, digits)
        else:
            planned = plan_exclusion(self._rewriter.measure()[0], transcript, seq, digits)
        if planned is None:
            raise OutputFormUnavailable(
                _text("This can't be left out now."),
                _text("It is pinned, left the context, or the agent is working on it."),
                _text("Unpin it, or wait for the answer."),
            )
        return planned

    async def cache_now(self, seq: int) -> None:
        """Replace the output, the large arguments or the images of message `seq` by markers, at once."""
        await self._rewriter.sweep_messages((seq,), SweepReason.MANUAL)

    async def caching_savings(self, seq: int) -> int:
        """Return the tokens, by our count, that `cache_now` would save."""
        return await self._rewriter.sweep_savings((seq,))

    async def pin(self, seq: int) -> None:
        """Pin the output recorded as `seq`: no rewrite shortens it or removes it from the window."""
        item = self._session.transcript.messages.item(seq)
        if item is not None and isinstance(item.event, ToolAnswered) and item.event.digest:
            await self._session.record(Pinned(seq))

    async def unpin(self, seq: int) -> None:
        if seq in self._session.transcript.rewrites.pinned:
            await self._session.record(Unpinned(seq))
