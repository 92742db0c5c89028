"""A first picture of a replay within a moment: the policy's thresholds on plain sums, no text is read.

It follows the order in which the live engine acts, but protects by steps and tokens alone, takes what notes
and handovers need from their bounds, and knows neither what is superseded nor what is in work.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from threading import Lock
from typing import NamedTuple

import msgspec

from helix_desktop.context.log.message_log import FRAMING_TOKENS, saving_of, tokens_of, word_tokens_of
from helix_desktop.context.policy_numbers import ContextPolicy, managed_window
from helix_desktop.context.rewrites.caching import (
    MIN_PROTECTED_STEPS,
    PROVIDER_CACHED_PRICE,
    excess_tokens,
    names_line_tokens,
    rewrite_price,
)
from helix_desktop.context.rewrites.compaction_due import OBSERVATION_TOKENS, SUMMARY_TOKENS
from helix_desktop.context.rewrites.early_compaction import (
    HEADER_TOKENS,
    NOTE_CALLS,
    PHRASE_TOKENS,
    condensed_tokens,
)
from helix_desktop.context.summaries.handover import user_text_budget
from helix_desktop.context.window.provider_cache import cache_prices
from helix_desktop.context.window.used_tokens import gauge_of, request_ratio
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    MessageEvent,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.session import InstructionsAdded, OpeningGiven
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.replay.billing import bill_of
from helix_desktop.replay.policy.policy_replay import (
    PolicyReplay,
    PolicyRewrite,
    ReplayableEvents,
    WindowPoint,
    may_be_shortened,
    omitted_tokens,
)
from helix_desktop.replay.recording import SessionFacts

_MS = 1_000
_NEVER = 1 << 62  # steps


class _Message(msgspec.Struct, frozen=True, array_like=True):
    """The tokens of a message: in full, what its markers save, and what a note has of it; and its call."""

    tokens: int
    saving: int
    in_note: int
    step: int
    total: int  # of all messages up to it
    user_total: int  # of the user's own words up to it
    tool: str  # whose output it is


class SessionSums:
    """The messages of a session as plain figures; grows with the log."""

    def __init__(self) -> None:
        self.messages: list[_Message] = []
        # Of outputs that a policy gave one: tokens in full, more.
        self._forms: dict[int, tuple[int, int]] = {}
        # seq, at_ms, messages so far, `request_ratio` of what follows (0: not known; None: a turn's end)
        self.moments: list[tuple[int, int, int, float | None]] = []
        self.standing_tokens = 0  # of environment and instructions, as if all of them came at the start
        self._newest = (0, 0)  # seq and time of the newest event
        self._steps = self._total = self._user_total = 0

    def add(self, events: Sequence[RecordedEvent]) -> None:
        for recorded in events:
            event = recorded.event
            if isinstance(event, AssistantSpoke):
                self.moments.append((*self._newest, len(self.messages), request_ratio(event, 0.0)))
                self._steps += 1
            if isinstance(event, MessageEvent):
                tokens = tokens_of(event)
                saving = 0 if isinstance(event, UserSpoke) else saving_of(event)
                phrase = PHRASE_TOKENS if isinstance(event, ToolAnswered) else 2
                self._total += tokens
                self._user_total += event.tokens if isinstance(event, UserSpoke) else 0
                in_note = min(tokens, word_tokens_of(event) + phrase)
                tool = event.name if isinstance(event, ToolAnswered) else ""
                figures = (tokens, saving, in_note, self._steps, self._total, self._user_total, tool)
                if isinstance(event, ToolAnswered) and (
                    (more := omitted_tokens(event)) or may_be_shortened(event)
                ):
                    self._forms[len(self.messages)] = event.full_tokens or event.tokens, more
                self.messages.append(_Message(*figures))
            elif isinstance(event, OpeningGiven):
                self.standing_tokens += sum(text.tokens for text in event.texts)
            elif isinstance(event, InstructionsAdded):
                self.standing_tokens += event.text.tokens + FRAMING_TOKENS
            elif isinstance(event, TurnEnded):
                self.moments.append((recorded.seq, recorded.at, len(self.messages), None))
            self._newest = recorded.seq, recorded.at

    def messages_under(self, policy: ContextPolicy, window_size: int) -> list[_Message]:
        """Return the messages with outputs in the forms that a policy would have given them."""
        changes: dict[int, int] = {}
        for place, (full, more) in self._forms.items():
            is_large = policy.is_large(full, window_size)
            if more and not is_large:
                changes[place] = more
            elif is_large and not more:
                changes[place] = min(0, policy.preview_tokens + FRAMING_TOKENS - self.messages[place].tokens)
        if not changes:
            return self.messages
        first = min(changes)
        added = 0
        messages = self.messages[:first]
        for place, message in enumerate(self.messages[first:], first):
            more = changes.get(place, 0)
            added += more
            tokens = message.tokens + more
            saving = message.saving + more
            total = message.total + added
            messages.append(msgspec.structs.replace(message, tokens=tokens, saving=saving, total=total))
        return messages


class _Limit(NamedTuple):
    """How many messages there are, and how many become ready: see `whole_from` and `excess_tokens`."""

    total: int
    whole_from: int
    excess: int

    def is_freed_by(self, gain: int) -> bool:
        """Return True if the context passed the policy's share for two turns, and this brings it below."""
        return 0 < self.excess <= gain


class _Batch:
    """What has become ready for one kind of rewrite, and what waiting for it has cost."""

    def __init__(self, protected_steps: int, protected_tokens: int, least_steps: int) -> None:
        """Messages are ready behind both protections, or, from `least_steps` on, behind one of them."""
        self._steps = protected_steps
        self._tokens = protected_tokens
        self._least_steps = least_steps
        self.position = self.gain = 0
        self.first: int | None = None  # total tokens before the first ready message
        self.rent = 0.0

    def advance(self, messages: Sequence[_Message], limit: _Limit, step: int, gains: Sequence[int]) -> None:
        """Add those of the messages within the limit that are old enough by model call `step`."""
        count = limit.total
        total = messages[count - 1].total if count else 0
        while self.position < count:
            if self.position >= limit.whole_from and self.gain >= limit.excess:
                break
            message = messages[self.position]
            is_old = message.step <= step - self._steps
            is_far = total - message.total >= self._tokens
            is_either = (is_old or is_far) and message.step <= step - self._least_steps
            if not (is_either or (is_old and is_far)):
                break
            if gains[self.position] > 0:
                self.gain += gains[self.position]
                self.first = message.total - message.tokens if self.first is None else self.first
            self.position += 1
        self.rent += PROVIDER_CACHED_PRICE * self.gain

    def behind(self, total: int) -> int:
        """Return the tokens behind the first ready message that would be sent again."""
        return max(0, total - (self.first or 0) - self.gain)

    def clear(self, position: int = 0) -> None:
        """Start over; what lies before a message is gone."""
        self.gain = 0
        self.first = None
        self.rent = 0.0
        self.position = max(self.position, position)


class _Approximation:
    def __init__(self, sums: SessionSums, policy: ContextPolicy, facts: SessionFacts) -> None:
        self._policy = policy.scaled(facts.info.window)
        self._facts = facts
        self._messages = sums.messages_under(self._policy, facts.info.window)
        self._moments = sums.moments
        floor = max(policy.least_saving, 1)
        policy = self._policy
        never = policy.never_cache
        self._savings = [0 if it.saving < floor or it.tool in never else it.saving for it in self._messages]
        self._saved_upto = list(accumulate(self._savings, initial=0))
        self._gains = [0 if it.tool in never else it.tokens - it.in_note for it in self._messages]
        steps = max(policy.protect_steps, MIN_PROTECTED_STEPS)
        self._sweeps = _Batch(steps, policy.protect_tokens, MIN_PROTECTED_STEPS)
        self._folds = _Batch(policy.fold_after_steps, policy.protect_tokens, _NEVER)
        self._managed_window = managed_window(policy, facts.info.window)
        self._room = self._managed_window / facts.ratio
        self._place_at = min(policy.observe_place_at, policy.handover_at) * self._room
        self._gauge = gauge_of(0, policy, facts.info)
        self._hand_over_at = self._gauge.trigger.distance / facts.ratio
        self._fixed_tokens = facts.fixed_tokens + sums.standing_tokens
        self._window = self._fixed_tokens
        self._ratio = facts.ratio
        self._count = 0  # messages so far
        self._covered = self._swept_upto = self._notes = self._observed = 0
        self._turn_start = self._previous_turn_start = 0  # messages before the running turn, the one before
        self._handed_over_at = 0
        self._summary = 0  # tokens of the handover, or the observations, before the notes
        self._points: list[WindowPoint] = []
        self._rewrites: list[PolicyRewrite] = []

    def play(self) -> PolicyReplay:
        facts = self._facts
        sent = 0
        billed = 0.0
        previous = 0
        prices = cache_prices(facts.info)
        for seq, at, count, ratio in self._moments:
            self._window += self._total(count) - self._total(self._count)
            self._count = count
            if ratio is None:
                self._observe()
                self._previous_turn_start = self._turn_start
                self._turn_start = count
                continue
            shared = float(self._window)
            self._ratio = ratio or facts.ratio
            if self._policy.enabled:
                shared = self._rewrite(seq, at)
            used = round(self._window * self._ratio)
            shared = min(shared, previous)
            previous = self._window
            self._points.append(WindowPoint(seq, at // _MS, used))
            sent += used
            billed += bill_of(self._window, shared, prices) * self._ratio
        return PolicyReplay(
            tuple(self._points),
            tuple(self._rewrites),
            self._managed_window,
            self._gauge.handover_threshold,
            sent,
            billed,
            None,
            is_exact=False,
        )

    @property
    def _price(self) -> float:
        return rewrite_price(self._window - self._fixed_tokens, self._managed_window)

    def _total(self, count: int) -> int:
        return self._messages[count - 1].total if count else 0

    def _saved_between(self, start: int, end: int) -> int:
        """Return what the markers of these messages save together."""
        return self._saved_upto[end] - self._saved_upto[start] if end > start else 0

    def _quoted(self, upto: int) -> int:
        """Return what a summary of the first messages keeps of the user's words, at most."""
        words = self._messages[upto - 1].user_total if upto else 0
        return min(words, user_text_budget(self._policy.user_text_tokens, int(self._room)))

    def _rewrite(self, seq: int, at: int) -> float:
        """Make what is due before a request; return the leading tokens that stay as they were."""
        policy = self._policy
        messages = self._messages
        count = self._count
        step = messages[count - 1].step if count else 0
        sweeps = self._sweeps
        folds = self._folds
        limit = self._limit()
        sweeps.advance(messages, limit, step, self._savings)
        before = self._window
        total = self._total(count)
        shared = float(before)
        if policy.fold_after_steps:
            folds.advance(messages, limit, step, self._gains)
            names = names_line_tokens(policy, folds.gain)
            price = self._price * (folds.behind(total) + names - sweeps.gain)
            price += PROVIDER_CACHED_PRICE * NOTE_CALLS * (HEADER_TOKENS + names)
            is_ready = folds.gain - names >= policy.fold_least
            is_due = folds.rent + sweeps.rent >= price or limit.is_freed_by(folds.gain - names)
            if is_ready and is_due:
                shared = before - (total - (folds.first or 0))
                if self._fold(seq, at):
                    shared = float(self._fixed_tokens + self._summary)
        if sweeps.gain and (limit.is_freed_by(sweeps.gain) or self._is_sweep_due(total)):
            shared = min(shared, before - (total - (sweeps.first or 0)))
            self._shrink(seq, at, SweepMade, sweeps.gain)
            self._swept_upto = sweeps.position
            sweeps.clear()
        if self._observed and self._window >= self._place_at:
            shared = float(self._fixed_tokens)
            self._place(seq, at)
        is_cooled_down = at - self._handed_over_at >= policy.handover_cooldown_s * _MS
        if self._window >= self._hand_over_at and is_cooled_down:
            shared = float(self._fixed_tokens)
            self._hand_over(seq, at)
        return max(0.0, shared)

    def _limit(self) -> _Limit:
        used = round(self._window * self._ratio)
        gauge = msgspec.structs.replace(self._gauge, used=used, ratio=self._ratio)
        excess = excess_tokens(self._policy, gauge)
        is_small = used < self._policy.previous_turn_share * gauge.window
        whole_from = self._previous_turn_start if excess or is_small else self._count
        return _Limit(self._count, whole_from, excess)

    def _is_sweep_due(self, total: int) -> bool:
        policy = self._policy
        sweeps = self._sweeps
        if policy.sweep == "at once":
            return True
        if policy.sweep == "fixed":
            return sweeps.gain >= policy.sweep_fixed
        if sweeps.gain < policy.sweep_min:
            return False
        return sweeps.gain >= policy.sweep_max or sweeps.rent >= self._price * sweeps.behind(total)

    def _shrink(self, seq: int, at: int, kind: type[msgspec.Struct], freed: int) -> None:
        before = self._window
        self._window = max(self._fixed_tokens, self._window - freed)
        ratio = self._ratio
        tag = str(kind.__struct_config__.tag)
        figures = (round(before * ratio), round(self._window * ratio))
        self._rewrites.append(PolicyRewrite(seq, at // _MS, tag, *figures))

    def _fold(self, seq: int, at: int) -> bool:
        """Fold all that is ready; condense the notes once they outgrow their share, and return True then."""
        policy = self._policy
        folds = self._folds
        is_condensed = False
        upto = folds.position
        swept = self._saved_between(self._covered, min(upto, self._swept_upto))
        names = names_line_tokens(policy, folds.gain)
        self._notes += names + sum(message.in_note for message in self._messages[self._covered : upto])
        freed = folds.gain - swept - names
        cap = policy.condense_at * self._room
        if cap and self._notes > cap:
            briefly = condensed_tokens(policy, int(self._room)) + self._quoted(upto)
            briefly += policy.ledger_tokens + policy.anchor_tokens
            if self._notes - briefly >= policy.fold_least:
                freed = freed + self._notes - briefly
                self._notes = briefly
                is_condensed = True
        self._shrink(seq, at, FoldMade, freed)
        beyond = self._saved_between(max(upto, self._swept_upto), self._sweeps.position)
        if beyond:
            self._shrink(seq, at, SweepMade, beyond)
        self._covered = max(self._covered, upto)
        self._swept_upto = max(self._swept_upto, self._sweeps.position, upto)
        folds.clear()
        self._sweeps.clear(upto)
        return is_condensed

    def _observe(self) -> None:
        """Prepare observations at the end of a turn: of all before the turn."""
        policy = self._policy
        if not (policy.enabled and policy.prepare_early and policy.observe_at) or self._observed:
            return
        if self._window - self._fixed_tokens > policy.observe_at * self._room and self._turn_start:
            self._observed = self._turn_start

    def _place(self, seq: int, at: int) -> None:
        tail = self._total(self._count) - self._total(self._observed)
        new_tokens = OBSERVATION_TOKENS + self._policy.ledger_tokens + self._quoted(self._observed)
        freed = self._window - self._fixed_tokens - tail - new_tokens
        self._cover(self._observed)
        self._observed = 0
        self._summary = new_tokens
        if freed > 0:
            self._shrink(seq, at, ObservationsPlaced, freed)

    def _hand_over(self, seq: int, at: int) -> None:
        policy = self._policy
        tail = int(policy.handover_keep * self._room)
        new_tokens = SUMMARY_TOKENS + policy.ledger_tokens + FRAMING_TOKENS + self._quoted(self._count)
        freed = self._window - self._fixed_tokens - tail - new_tokens
        if freed < policy.handover_least_gain * self._room:
            return
        self._handed_over_at = at
        self._cover(self._count)
        self._observed = 0
        self._summary = new_tokens
        self._shrink(seq, at, HandoverMade, freed)

    def _cover(self, position: int) -> None:
        self._covered = max(self._covered, position)
        self._notes = 0
        self._swept_upto = max(self._swept_upto, position)
        self._sweeps.clear(position)
        self._folds.clear(position)


def approximate_policy(sums: SessionSums, policy: ContextPolicy, facts: SessionFacts) -> PolicyReplay:
    """Return the first picture of a policy (its numbers as set): points, rewrites and sums, no coverage."""
    return _Approximation(sums, policy, facts).play()


class FirstPictures:
    """The sums of one session, from any thread; of a longer log of it only what is new is read."""

    def __init__(self, facts: SessionFacts) -> None:
        self._facts = facts
        self._replayable = ReplayableEvents()
        self._sums = SessionSums()
        self._newest: RecordedEvent | None = None
        self._read = 0  # events of the log
        self._lock = Lock()  # a thread goes on when nobody waits for it any more

    def continues_to(self, log: Sequence[RecordedEvent], facts: SessionFacts) -> bool:
        """Return True if this is the same session, read up to an event of that log."""
        if facts != self._facts or len(log) < self._read:
            return False
        return self._newest is None or log[self._read - 1] is self._newest

    def picture(self, log: Sequence[RecordedEvent], policy: ContextPolicy) -> PolicyReplay:
        """Return the first picture of a policy; a tenth of a second at 10,000 events that are new."""
        with self._lock:
            events = log[self._read :]  # a copy: the session goes on meanwhile
            if events:
                self._sums.add(self._replayable.take(events))
                self._read = self._read + len(events)
                self._newest = events[-1]
            return approximate_policy(self._sums, policy, self._facts)
