"""The window rewriter: applies folds, sweeps, placed observations and exclusions before a request is made."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, filterfalse

import msgspec

from helix_desktop.agent.ports import TokenCounter
from helix_desktop.agent.session import EventRecorded, Session
from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.rewrites import caching, early_compaction, step_notes, sweep_plans
from helix_desktop.context.rewrites.anchors import (
    FOLD_SHARE,
    FOLD_TITLE,
    NAMED_GAIN,
    SWEEP_SHARE,
    IdentifierIndex,
    note_parts,
    parts_of_message,
)
from helix_desktop.context.rewrites.caching import SweepPlan
from helix_desktop.context.rewrites.early_compaction import FoldPlan
from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.handover import user_text_budget
from helix_desktop.context.summaries.index_entry import IndexLines, build_index_entry, index_content
from helix_desktop.context.summaries.observation import EventRange
from helix_desktop.context.window.exclusions import excluded_event, plan_filtered
from helix_desktop.context.window.used_tokens import UsageGauge, estimate_next_request, measure_next_request
from helix_desktop.context.window.window import Projector, PromptFrame, Window
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, PlacementReason, SweepMade, SweepReason
from helix_desktop.domain.events.session import StandingText
from helix_desktop.domain.events.summary import ObservationsPlaced
from helix_desktop.domain.text_format import MAX_CHUNK_CHARS, split_text
from helix_desktop.domain.todo import TodoList
from helix_desktop.domain.translatable_text import OptionalText

_MAX_PARTS = 65_536


class NoteTokens:
    """A counter for one session, which remembers the parts of its texts."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._tokens: dict[str, int] = {}

    async def count(self, text: str) -> int:
        parts = [part for chunk in split_text(text) for part in note_parts(chunk)]
        tokens = await self._read(parts)
        return sum(map(tokens.__getitem__, parts))

    async def read_ahead(self, items: Iterable[LogItem]) -> None:
        """Count the parts that notes will have of messages; a failure comes again when they are needed.

        Not those of words so long that a note with them is counted in chunks: there they end elsewhere.
        """
        short = (
            item
            for item in items
            if not (
                isinstance(item.event, UserSpoke | AssistantSpoke) and len(item.event.text) > MAX_CHUNK_CHARS
            )
        )
        with suppress(HelixError):
            await self._read(chain.from_iterable(map(parts_of_message, short)))

    async def _read(self, parts: Iterable[str]) -> dict[str, int]:
        """Count those of these parts that are new, and return the tokens of all."""
        if len(self._tokens) >= _MAX_PARTS:
            self._tokens = {}
        tokens = self._tokens
        new = [*dict.fromkeys(filterfalse(tokens.__contains__, parts))]
        if new:
            tokens.update(zip(new, await self._counter.count(new), strict=True))
        return tokens


_READ_TOGETHER = 4  # messages whose parts one task counts
_State = tuple[RecordedEvent | None, ContextPolicy, PromptFrame, tuple[StandingText, ...] | None]


class WindowRewriter:
    """Rewrites one session's window by its policy, without a model; also measures it.

    `observing_range` is the event range being observed: no fold crosses its ends, nor takes any of it. What a
    model writes of it would then be no shorter than the note, and paid for nothing.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.observing_range: EventRange | None = None
        self._projector = Projector()
        self._names = IdentifierIndex()
        self._index_lines = IndexLines()
        self._note_tokens = NoteTokens(session.counter)
        self._unread: list[LogItem] = []
        self._measured_for: _State | None = None
        self._window: Window | None = None
        self._gauge: UsageGauge | None = None
        session.on(EventRecorded, self._read_recorded)

    def _read_recorded(self, update: EventRecorded) -> None:
        """Read a message for later rewrites as soon as it is recorded: otherwise a request waits for that."""
        match update:
            case EventRecorded(
                recorded=RecordedEvent(seq=seq, event=UserSpoke() | AssistantSpoke() | ToolAnswered())
            ):
                policy = self._session.policy
                transcript = self._session.transcript
                if policy.enabled and policy.anchor_tokens:
                    self._names.update(transcript)
                if (
                    policy.enabled
                    and policy.fold_after_steps
                    and (item := transcript.messages.item(seq)) is not None
                ):
                    self._index_lines.add(item)
                    self._unread.append(item)  # counted with the next ones: the newest stay in the window
                    if len(self._unread) >= _READ_TOGETHER:
                        self._session.scope.start(self._note_tokens.read_ahead(self._unread), "note tokens")
                        self._unread = []

    def measure(self) -> tuple[Window, UsageGauge]:
        gauge = self.gauge()
        session = self._session
        if self._window is None:
            self._window = self._projector.project(session.transcript, session.policy, session.frame)
        return self._window, gauge

    def gauge(self) -> UsageGauge:
        """Return the usage of the next request, without making it: most work that may be due asks no more."""
        transcript = self._session.transcript
        policy, frame, _ = self._session.settings()
        planned = None if transcript.opening_seq else transcript.opening  # it changes without an event
        state = (transcript.newest, policy, frame, planned)
        if (
            self._gauge is None
            or self._measured_for is None
            or not all(map(operator.is_, self._measured_for, state))
        ):
            self._measured_for = state
            self._window = None
            self._gauge = measure_next_request(transcript, policy, frame)
        return self._gauge

    def is_cold(self) -> bool:
        """Return True if the provider caches nothing of the conversation any more."""
        session = self._session
        label = session.frame.info.label
        return sweep_plans.is_prompt_cache_cold(session.transcript, session.policy, label, session.clock())

    async def apply_due_rewrites(self) -> None:
        """Record the due rewrites that need no model; none on hold. One also applies all that are ready."""
        policy = self._session.policy
        transcript = self._session.transcript
        window_size = self._session.managed_window
        if not policy.enabled or transcript.on_hold:
            return
        if policy.anchor_tokens:
            self._names.update(transcript)
        is_cold = self.is_cold()
        gauge = self.gauge()
        candidates = caching.sweep_with_rewrite(transcript, policy, gauge)
        newest = transcript.newest
        due_sweep = (
            candidates
            if candidates is not None
            and sweep_plans.sweep_pays_off(transcript, policy, candidates, gauge, is_cold)
            else None
        )
        start = due_sweep.swept[0] if due_sweep else 0
        folds = self._due_folds(gauge, candidates, start, is_cold)
        placed = await self._place_if_due(is_cold, bool(folds or due_sweep))
        if placed:  # the request is rewritten from there on anyway
            gauge = self.gauge()
            candidates = caching.sweep_with_rewrite(transcript, policy, gauge)
            folds = self._due_folds(gauge, candidates, transcript.messages.items[0].seq, is_cold)
        has_folded = await self._fold(folds, policy, window_size) if folds else False
        if placed or has_folded:
            reason = SweepReason.FOLD if has_folded else SweepReason.OBSERVATIONS
            await self._sweep(lambda: caching.sweep_with_rewrite(transcript, policy, self.gauge()), reason)
        elif due_sweep is not None:
            reason = SweepReason.COLD if is_cold else SweepReason.BATCH
            current = due_sweep if transcript.newest is newest else None
            await self._sweep(
                lambda: sweep_plans.sweep_due(transcript, policy, self.gauge(), is_cold), reason, current
            )

    def _due_folds(
        self, gauge: UsageGauge, candidates: SweepPlan | None, rewritten_from: int, is_cold: bool
    ) -> list[FoldPlan]:
        transcript = self._session.transcript
        policy = self._session.policy
        plans = early_compaction.due_folds(
            transcript, policy, gauge, candidates, rewritten_from, is_cold, self._protected_edges
        )
        return [*filter(self._may_fold, plans)]

    def _may_fold(self, plan: FoldPlan) -> bool:
        observed = self.observing_range
        return observed is None or plan.upto <= observed.after or plan.after >= observed.upto

    async def _place_if_due(self, is_cold: bool, is_rewriting: bool) -> bool:
        policy = self._session.policy
        transcript = self._session.transcript
        pending_seq = observation.pending_observations(transcript)
        if pending_seq is None:
            return False
        made = transcript.rewrites.observations[pending_seq]
        if observation.covers_restored_entries(transcript, made) and not self.gauge().is_due:
            return False
        reason = self._placement_reason(policy, is_cold, is_rewriting)
        if reason is None:
            return False
        return await self.place_observations(pending_seq, reason)

    def _placement_reason(
        self, policy: ContextPolicy, is_cold: bool, is_rewriting: bool
    ) -> PlacementReason | None:
        if not policy.observe_at:
            return None
        if policy.observe_place_at <= policy.observe_at:
            return PlacementReason.IMMEDIATE
        if is_cold:
            return PlacementReason.COLD
        if is_rewriting:
            return PlacementReason.REWRITE
        gauge = self.gauge()
        reached = gauge.used >= _placement_threshold(policy) * gauge.window
        return PlacementReason.THRESHOLD if reached else None

    async def place_observations(self, observations_seq: int, reason: PlacementReason) -> bool:
        """Place pending observations over what they cover, if that makes the window smaller.

        Return True if they were placed; otherwise nothing is recorded.
        """

        policy = self._session.policy
        threshold = _placement_threshold(policy) if reason is PlacementReason.THRESHOLD else 0.0

        def decide() -> list[Event]:
            if observation.pending_observations(self._session.transcript) != observations_seq:
                return []
            policy = self._session.policy
            frame = self._session.frame
            now = self._session.transcript
            after = now.fork_with(ObservationsPlaced(observations_seq, PlacementReason.MANUAL, 0))
            saved = estimate_next_request(now, policy, frame) - estimate_next_request(after, policy, frame)
            averted_at = self._handover_averted_by(saved)
            placed = ObservationsPlaced(observations_seq, reason, saved, threshold, averted_at)
            return [placed] if saved > 0 else []

        return bool(await self._session.record_decided(decide))

    def _handover_averted_by(self, saved: int) -> float:
        """Return the share of the window at which a handover is due now, if saving this averts it; else 0."""
        gauge = self.gauge()
        is_due_then = gauge.trigger_at(gauge.used - saved * gauge.ratio).is_due
        return gauge.trigger.limit if gauge.is_due and not is_due_then else 0.0

    @property
    def _protected_edges(self) -> tuple[int, ...]:
        """The start and end seqs of the running and the pending observations."""
        transcript = self._session.transcript
        pending_seq = observation.pending_observations(transcript)
        edges = (self.observing_range.after, self.observing_range.upto) if self.observing_range else ()
        if pending_seq is None:
            return edges
        pending = transcript.rewrites.observations[pending_seq]
        return (*edges, pending.after, pending.upto)

    async def _fold(self, folds: Sequence[FoldPlan], policy: ContextPolicy, window_size: int) -> bool:
        """Record what is due; False if it would all be no smaller: a sweep then stands for itself."""
        made = [await self._record_fold(plan, policy, window_size) for plan in folds]
        condensed = early_compaction.due_condensation(
            self._session.transcript, policy, self.gauge(), self._protected_edges
        )
        if condensed is not None and self._may_fold(condensed):
            made.append(await self._record_fold(condensed, policy, window_size))
        return any(made)

    async def _record_fold(
        self, fold_plan: FoldPlan, policy: ContextPolicy, window_size: int, fallback: OptionalText = ""
    ) -> bool:
        """Store the index entry and record the note, unless it would be no smaller. Return True if done."""
        transcript = self._session.transcript
        rewrite_seq = transcript.window.last_rewrite_seq
        after = fold_plan.after
        upto = fold_plan.upto
        text, entries = build_index_entry(transcript, after, upto, index_lines=self._index_lines)
        content = index_content(text, "fold", f"e{after + 1}-e{upto}")
        items = transcript.messages.between(after, upto)
        stated = transcript.window.without_excluded(items)
        user_words = transcript.window.without_excluded(transcript.messages.user_words_between(after, upto))
        todo_list = transcript.todo_list_between(after, upto)
        note = note_text(
            *(fold_plan, stated, user_words, content.digest, entries, policy, window_size, todo_list),
            transcript.reverted_files.by_path,
            transcript.window.without_excluded(transcript.messages.between(upto, transcript.last_seq)),
        )
        if anchors := self._fold_anchors(fold_plan, policy, note):
            note = f"{note}\n{anchors}"
        tokens = await self._note_tokens.count(note)
        saved = early_compaction.tokens_freed(transcript, fold_plan, tokens)
        if saved <= 0:
            return False
        steps = sum(isinstance(item.event, AssistantSpoke) for item in items)
        averted_at = self._handover_averted_by(saved)
        made = after, upto, note, tokens, content.digest, entries, steps, saved, fold_plan.how, averted_at
        event = FoldMade(*made, fallback)

        def decide() -> list[Event]:
            return (
                [event] if transcript.window.last_rewrite_seq == rewrite_seq else []
            )  # else the window is not the one that was counted

        return bool(await self._session.record_decided(decide, [content]))

    def _fold_anchors(self, fold_plan: FoldPlan, policy: ContextPolicy, note: str) -> str:
        """Return the line with the identifiers that stand nowhere in the window once this note does."""
        transcript = self._session.transcript
        if not policy.anchor_tokens or fold_plan.how == "truncate":
            return ""
        visible = self._names.visible_in(transcript, fold_plan, note)
        visible |= self._names.only_in(
            transcript.window.excluded_items()
        )  # of what the user left out: never named
        share = 1.0
        if fold_plan.how == "fold":  # one that takes more out names more
            share = min(share, FOLD_SHARE * max(1.0, fold_plan.gain / NAMED_GAIN))
        max_tokens = min(int(policy.anchor_tokens * share), fold_plan.gain // 2)
        return self._names.anchor_line(FOLD_TITLE, visible, max_tokens)

    async def _sweep_event(self, plan: SweepPlan, reason: SweepReason) -> SweepMade:
        transcript = self._session.transcript
        policy = self._session.policy
        items = [item for seq in plan.swept if (item := transcript.messages.item(seq)) is not None]
        answers = [item for item in items if isinstance(item.event, ToolAnswered)]
        messages = [item for item in items if isinstance(item.event, UserSpoke) and item.event.short]
        holders = answers or messages
        if not holders or not policy.anchor_tokens:
            return SweepMade(plan.swept, plan.saved, reason)
        self._names.update(transcript)
        line = self._names.sweep_line(transcript, plan.swept, int(policy.anchor_tokens * SWEEP_SHARE))
        if not line:
            return SweepMade(plan.swept, plan.saved, reason)
        tokens = await self._note_tokens.count(f"\n{line}")
        if tokens > plan.saved // 2:
            return SweepMade(plan.swept, plan.saved, reason)
        return SweepMade(plan.swept, plan.saved - tokens, reason, line, tokens, holders[-1].seq)

    async def _sweep(
        self, plan: Callable[[], SweepPlan | None], reason: SweepReason, current: SweepPlan | None = None
    ) -> None:
        """Record the sweep that `plan` returns; `current` is what it would return now."""
        first = current or plan()
        if first is None:
            return
        transcript = self._session.transcript
        newest = transcript.newest
        event = await self._sweep_event(first, reason)

        def decide() -> list[Event]:
            sweep_plan = first if transcript.newest is newest else plan()
            if sweep_plan is None:
                return []
            is_same = sweep_plan.swept == event.swept
            swept = event if is_same else SweepMade(sweep_plan.swept, sweep_plan.saved, reason)
            averted_at = self._handover_averted_by(swept.saved)
            return [msgspec.structs.replace(swept, averted_handover_at=averted_at)]

        await self._session.record_decided(decide)

    async def sweep_oldest(self, tokens: int, newest: int, restored: bool = True, last: bool = True) -> None:
        """Sweep the oldest content that frees these tokens of the model, but for so many newest steps.

        For the others see `sweep_plans.sweep_now`.
        """
        policy = self._session.policy
        needed = self._own_count(tokens)
        transcript = self._session.transcript
        await self._sweep(
            lambda: sweep_plans.sweep_now(transcript, policy, newest, needed, restored, last),
            SweepReason.OVERFLOW,
        )

    async def sweep_unfitting(self, limit: int) -> None:
        """Sweep each message that alone is too large for a request of at most `limit` tokens of the model."""
        session = self._session
        transcript = session.transcript
        fixed = session.frame.fixed_tokens + transcript.opening_tokens
        room = int(limit / self.gauge().ratio) - fixed
        await self._sweep(lambda: sweep_plans.sweep_unfitting(transcript, room), SweepReason.OVERFLOW)

    async def sweep_newest_call(self) -> None:
        """Sweep what the newest calls were given, if that frees most."""
        transcript = self._session.transcript
        policy = self._session.policy
        await self._sweep(lambda: sweep_plans.sweep_newest_call(transcript, policy), SweepReason.OVERFLOW)

    async def sweep_images(self, tokens: int, newest: bool = False, restored: bool = True) -> None:
        """Sweep the oldest images that free these tokens; for the others see `sweep_plans.sweep_images`."""
        needed = self._own_count(tokens)
        transcript = self._session.transcript
        await self._sweep(
            lambda: sweep_plans.sweep_images(transcript, newest, needed, restored), SweepReason.OVERFLOW
        )

    async def fold_oldest(self, tokens: int) -> None:
        """Replace the oldest steps that free these tokens of the model by notes, if the policy makes any."""
        policy = self._session.policy
        gauge = self.gauge()
        needed = self._own_count(tokens)
        full = msgspec.structs.replace(gauge, used=gauge.window)  # a provider's window may be far smaller
        for plan in self._due_folds(full, None, 0, is_cold=True):
            if needed <= 0:
                break
            await self._record_fold(plan, policy, gauge.window)
            needed -= plan.gain

    def _own_count(self, tokens: int) -> int:
        """Return tokens of the model by our count, rounded up."""
        return int(tokens / self.gauge().ratio) + 1

    async def sweep_messages(self, seqs: Sequence[int], reason: SweepReason = SweepReason.REFUSED) -> None:
        await self._sweep(lambda: self._sweep_of_messages(seqs), reason)

    async def leave_out_filtered(self, seqs: Sequence[int]) -> None:
        """Leave out the outputs that a provider's filter refused."""
        session = self._session
        for seq in seqs:
            planned = plan_filtered(session.transcript, seq, session.policy.handle_digits)
            if planned is not None:
                (tokens,) = await session.counter.count([planned.text])
                event = excluded_event(planned, tokens, session.transcript, session.policy, session.frame)
                await session.record(msgspec.structs.replace(event, by_filter=True))

    async def leave_out_refused(self, ended: TurnEnded) -> None:
        """Replace what the model's server refused in a turn: images, or an output."""
        if ended.cause == "filter":
            await self.leave_out_filtered(ended.images)
        else:
            await self.sweep_messages(ended.images)

    async def sweep_savings(self, seqs: Sequence[int]) -> int:
        """Return the tokens, by our count, that `sweep_messages` would save, but for kept names."""
        plan = self._sweep_of_messages(seqs)
        return (await self._sweep_event(plan, SweepReason.MANUAL)).saved if plan is not None else 0

    def _sweep_of_messages(self, seqs: Sequence[int]) -> SweepPlan | None:
        transcript = self._session.transcript
        fresh = tuple(
            seq for seq in seqs if transcript.messages.item(seq) and seq not in transcript.window.swept
        )
        return SweepPlan(fresh, max(0, caching.tokens_saved(transcript, fresh)), 0.0) if fresh else None

    async def truncate(self, tokens: int, why_no_model: OptionalText = "") -> None:
        """Leave out the oldest messages that free these tokens of the model, but for the user's words.

        `why_no_model` says why no model wrote a summary of them; empty if none was asked.
        """
        policy = self._session.policy
        frame = self._session.frame
        for plan in sweep_plans.plan_truncations(self._session.transcript, int(tokens / frame.ratio)):
            await self._record_fold(plan, policy, self._session.managed_window, why_no_model)


def note_text(
    fold_plan: FoldPlan,
    items: Sequence[LogItem],
    user_words: Sequence[LogItem],
    digest: str,
    entries: int,
    policy: ContextPolicy,
    window_size: int,
    todo_list: TodoList,
    reverts: Mapping[str, FileRevert],
    later: Sequence[LogItem],
) -> str:
    """Return the note of a fold plan, by its kind.

    `user_words` are the items with words of the user, `reverts` the user's of changed files, by path, `later`
    the messages behind the items.
    """
    if fold_plan.how == "truncate":
        user_tokens = min(user_text_budget(policy.user_text_tokens, window_size), fold_plan.gain // 4)
        return step_notes.render_truncation_note(
            *(digest, entries, len(items), policy.handle_digits),
            *(user_words, user_tokens, policy.condense_message, todo_list),
        )
    if fold_plan.how == "condense":
        max_tokens = early_compaction.condensed_tokens(policy, window_size)
        user_tokens = user_text_budget(policy.user_text_tokens, window_size)
        return step_notes.render_condensed_note(
            items, digest, entries, max_tokens, user_tokens, policy, user_words, todo_list, reverts, later
        )
    return step_notes.render_fold_note(items, digest, entries, policy.handle_digits, todo_list)


def _placement_threshold(policy: ContextPolicy) -> float:
    """Return the share of the window at which prepared observations are placed: before a handover at last."""
    return min(policy.observe_place_at, policy.handover_at)


# Model calls and observations so far, and whether rewrites are on hold.
_Conditions = tuple[int, int, bool]


class EarlyRewrites:
    """Makes the due rewrites of one session without delaying a request: the outputs are awaited anyway.

    They are decided without the outputs, which are among the protected newest messages.
    """

    def __init__(self, session: Session, rewriter: WindowRewriter) -> None:
        self._session = session
        self._rewriter = rewriter
        self._task: asyncio.Task[None] | None = None
        self._made_for: tuple[_Conditions, ContextPolicy] | None = None
        self._last_rewrite_seq = 0  # after they were made

    def start(self) -> None:
        if self._task is None or self._task.done():
            self._task = self._session.scope.start(self.make(), f"rewrites {self._session.id}")

    async def make(self) -> None:
        """Make them. A failure is left to the next request, which makes them again."""
        conditions = self._conditions()
        policy = self._session.policy
        with suppress(HelixError):
            await self._rewriter.apply_due_rewrites()
            self._made_for = conditions, policy
            self._last_rewrite_seq = self._session.transcript.window.last_rewrite_seq

    async def wait(self) -> None:
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def interrupt(self) -> None:
        """Cancel those that are being made: what is not recorded by now comes before the next request."""
        if self._task is not None:
            self._task.cancel()

    async def cancel(self) -> None:
        self.interrupt()
        await self.wait()

    def suffice(self) -> bool:
        """Return True if the next request needs no others.

        It does after another model call, rewrite or policy, after new observations or a change of the hold,
        with a cold provider cache, and under pressure.
        """
        if (
            self._made_for is None
            or self._last_rewrite_seq != self._session.transcript.window.last_rewrite_seq
        ):
            return False
        conditions, policy = self._made_for
        is_same = conditions == self._conditions() and policy is self._session.policy
        return is_same and not self._rewriter.is_cold() and not self._rewriter.gauge().is_due

    def _conditions(self) -> _Conditions:
        transcript = self._session.transcript
        return transcript.messages.steps, len(transcript.rewrites.observations), transcript.on_hold
