"""Replay a session under a policy by the live engine's own decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache

from msgspec.structs import replace

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import SummaryBlock
from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.context.summaries.informative_lines import UNCACHED, OutputExtracts
from helix_desktop.context.window.usage_gauge import (
    estimate_next_request,
    handover_threshold,
    request_ratio,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnRetried
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.replay.policy.approximation import SessionSums, approximate_policy
from helix_desktop.replay.policy.engine import PolicyEngine, run_inline
from helix_desktop.replay.policy.policy_replay import PolicyReplay, PolicyRewrite, WindowPoint, partly_exact
from helix_desktop.replay.policy.session import OutputForms, ReplayableEvents, SessionFacts
from helix_desktop.replay.policy.used_identifiers import NameUse, UsedNames, WindowNames
from helix_desktop.replay.request_totals import CACHED, FRESH, SUMMARIZED
from helix_desktop.replay.token_counters import LineTokenCounter


class RequestSums:
    """Running sums, without the requests themselves; tokens as the model counts them.

    As `billed` of `SentTotals`, but of the first message that differs nothing counts as cached: what it has
    in common with the one before is a few tokens.
    """

    def __init__(self, transcript: Transcript, fixed_tokens: int) -> None:
        self._transcript, self._fixed_tokens = transcript, fixed_tokens
        self._previous = 0  # tokens of the request before, by our count
        self._changed_from: int | None = (
            None  # the first event that a rewrite changed since; None: no rewrite
        )
        self.sent = 0
        self._billed = 0.0

    def note_change(self, first_seq: int) -> None:
        """Note that the window changed from an event on; 0: perhaps from the first of all."""
        self._changed_from = first_seq if self._changed_from is None else min(self._changed_from, first_seq)

    def add(self, used: int, estimate: int) -> None:
        """Add the request that would be sent now: its tokens as the model counts them and by our count."""
        shared = min(self._previous, self._unchanged(estimate))
        scale = used / estimate if estimate else 0.0
        self.sent += used
        self._billed += (CACHED * shared + FRESH * (estimate - shared)) * scale
        self._previous, self._changed_from = estimate, None

    def billed(self, summary_tokens: int) -> float:
        """Return what all requests cost, with the input of the summarizing calls, in fresh input tokens."""
        return self._billed + SUMMARIZED * summary_tokens

    def _unchanged(self, estimate: int) -> int:
        """Return the leading tokens that no rewrite changed since the request before."""
        if self._changed_from is None:
            return estimate
        changed = 0
        for entry in reversed(self._transcript.window.entries()):
            if isinstance(entry, SummaryBlock) and isinstance(entry.event, HandoverMade):
                return (
                    self._fixed_tokens + self._transcript.opening_tokens
                )  # what it quotes is not counted here
            if entry.upto < self._changed_from:
                break
            changed += self._transcript.window.entry_tokens(entry)
        return estimate - changed


MS = 1_000  # in a second
_ASKED_EVERY = 64  # events between two looks at whether the replay is still wanted
_TEXTS_AT_ONCE = 200  # read between two such looks
_EXTRACTS = 32_768  # of each kind, remembered; what is new in them has 6,000 characters at most
_PROFILES = frozenset(PROFILES.values())
_MAX_RUNS = len(_PROFILES) + 3  # that can go on with the session; each takes some 40 MB at 10,000 events
ShouldStop = Callable[[], bool]


class ReplayStopped(Exception):
    """A replay was called off: nobody waits for it."""


class SessionReplay:
    """A session that is replayed again and again; what does not depend on the policy is read once."""

    def __init__(self, facts: SessionFacts, counter: LineTokenCounter) -> None:
        self.facts, self._counter = facts, counter
        self.events: list[RecordedEvent] = []
        self._replayable = ReplayableEvents()
        self._names, self._sums = UsedNames(), SessionSums()
        self._uses: dict[int, list[NameUse]] | None = None  # None: to be read
        self._runs: dict[ContextPolicy, _Run] = {}  # the newest last
        self._playing: _Run | None = None
        # Whatever the policy, what is extracted of an output is the same.
        self._extracts = OutputExtracts(*map(lru_cache(maxsize=_EXTRACTS), UNCACHED))
        self._output_forms = OutputForms(counter)

    def add(self, log: Sequence[RecordedEvent]) -> None:
        """Add the next events of the session's log."""
        events = self._replayable.take(log)
        self.events += events
        self._sums.add(events)
        self._names.add(events)
        self._uses = None

    def prepare(self, should_stop: ShouldStop = lambda: False) -> None:
        """Read what coverage needs of the new events; once, it takes longer than a replay.

        Raises ReplayStopped once `should_stop` returns True; the next call goes on from there.
        """
        if self._uses is not None:
            return
        self._counter.text_tokens("")  # loads the vocabulary
        while self._names.read(_TEXTS_AT_ONCE):
            if should_stop():
                raise ReplayStopped
        self._uses = self._names.by_call()

    def approximate(self, policy: ContextPolicy) -> PolicyReplay:
        """Return a first picture of a policy, without the coverage."""
        return approximate_policy(self._sums, policy, self.facts)

    def picture(self, estimate: PolicyReplay) -> PolicyReplay:
        """Return a first picture with what the replay that plays came to so far; for `should_stop`."""
        return partly_exact(self._playing.result(), estimate) if self._playing is not None else estimate

    def run(self, policy: ContextPolicy, should_stop: ShouldStop = lambda: False) -> PolicyReplay:
        """Return the exact replay of a policy, from where an earlier one of it ended or was called off.

        That of another policy will do if each of its decisions is the same under this one. Raises
        ReplayStopped once `should_stop` returns True.
        """
        self.prepare(should_stop)
        result = self._same_run(policy, should_stop)
        return result or self._play(policy, should_stop)

    def _same_run(self, policy: ContextPolicy, should_stop: ShouldStop) -> PolicyReplay | None:
        """Return the replay of another policy that comes to the same; None if there is none."""
        if policy in self._runs:
            return None
        least = len(self.events) // 2  # else most of what is played may be for nothing
        for other in [other for other, run in self._runs.items() if run.played >= least]:
            result = self._play_for(policy, other, should_stop)
            if result is not None:
                return result
        return None

    def _play_for(
        self, policy: ContextPolicy, other: ContextPolicy, should_stop: ShouldStop
    ) -> PolicyReplay | None:
        """Return the replay of the other policy; None once a decision might differ."""
        run = self._runs[other]
        if not run.decides_as(policy):
            return None
        try:
            result = self._play(other, lambda: not run.decides_as(policy) or should_stop())
        except ReplayStopped:
            if run.decides_as(policy):
                raise
            return None
        if not run.decides_as(policy):
            return None
        return replace(result, handover_at=_handover_at(policy, self.facts.info))

    def _play(self, policy: ContextPolicy, should_stop: ShouldStop) -> PolicyReplay:
        run = self._runs.pop(policy, None)
        if run is None:
            key_words = self._names.key_words
            run = _Run(policy, self.facts, self._counter, self._extracts, self._output_forms, key_words)
        self._playing = run
        try:
            run_inline(lambda: run.play(self.events, self._uses or {}, should_stop))
        except ReplayStopped:
            self._keep(policy, run)
            raise
        finally:
            self._playing = None
        self._keep(policy, run)
        return run.result()

    def _keep(self, policy: ContextPolicy, run: _Run) -> None:
        while len(self._runs) >= _MAX_RUNS:
            del self._runs[next(other for other in self._runs if other not in _PROFILES)]
        self._runs[policy] = run


def _handover_at(policy: ContextPolicy, model: ModelInfo) -> int:
    """Return the threshold of a policy in tokens."""
    return handover_threshold(policy.scaled(model.window), model)


class _Run:
    """One replay in progress; between two events nothing runs in its background."""

    def __init__(
        self,
        policy: ContextPolicy,
        facts: SessionFacts,
        counter: LineTokenCounter,
        extracts: OutputExtracts,
        output_forms: OutputForms,
        key_words: Set[str],
    ) -> None:
        self._facts = facts
        self._uses: Mapping[int, Sequence[NameUse]] = {}
        self.played = 0  # events
        engine = PolicyEngine(policy, facts, counter, extracts, output_forms, self._on_rewrite)
        self._engine = engine
        self._handover_at = _handover_at(policy, facts.info)
        transcript = self._transcript = engine.transcript
        self._sums = RequestSums(transcript, facts.fixed_tokens)
        origins, shortened = engine.origins, engine.shortened
        self._in_window = WindowNames(transcript, engine.policy, engine.frame, key_words, origins, shortened)
        self._points: list[WindowPoint] = []
        self._rewrites: list[PolicyRewrite] = []
        self._first_too_large = 0
        self._seq = 0  # the newest event of the session's own log
        self._scale = facts.ratio

    async def play(
        self,
        events: Sequence[RecordedEvent],
        uses: Mapping[int, Sequence[NameUse]],
        should_stop: ShouldStop,
    ) -> None:
        """Feed the events that were not fed before, with a request before each answer."""
        self._uses = uses
        try:
            for recorded in events[self.played :]:
                if self.played % _ASKED_EVERY == 0 and should_stop():
                    raise ReplayStopped
                if isinstance(recorded.event, AssistantSpoke):
                    await self._request(recorded.seq, recorded.event)
                self._note_retry(recorded)
                self._seq = recorded.seq  # what was written while an answer came is behind its request
                await self._engine.step(recorded)
                self.played += 1
        finally:
            await self._engine.scope.close()

    def decides_as(self, policy: ContextPolicy) -> bool:
        """Return True if so far it comes to the same under another policy."""
        return self._engine.decides_as(policy)

    def _note_retry(self, recorded: RecordedEvent) -> None:
        if isinstance(recorded.event, TurnRetried):
            self._sums.note_change(self._engine.seq_at(recorded.event.after) + 1)

    async def _request(self, seq: int, answer: AssistantSpoke) -> None:
        gauge = await self._engine.prepare(answer)
        estimate = self._estimate()
        self._scale = request_ratio(answer, gauge.used / estimate if estimate else 1.0)
        used = round(estimate * self._scale)
        self._points.append(WindowPoint(self._seq, self._engine.now_ms // MS, used))
        self._sums.add(used, estimate)
        if not gauge.fits:
            self._first_too_large = self._first_too_large or len(self._points)
        elif seq in self._uses:
            self._in_window.add(self._uses[seq])

    def _estimate(self) -> int:
        return estimate_next_request(self._transcript, self._engine.policy, self._engine.frame)

    def _on_rewrite(self, recorded: RecordedEvent) -> None:
        event = recorded.event
        if not isinstance(event, SweepMade | FoldMade | ObservationsPlaced | HandoverMade):
            return
        self._sums.note_change(self._transcript.rewrites.first_changed(event))
        freed = event.before - event.after if isinstance(event, HandoverMade) else event.saved * self._scale
        tokens = round(self._estimate() * self._scale)
        kind = str(type(event).__struct_config__.tag)
        rewrite = PolicyRewrite(self._seq, recorded.at // MS, kind, tokens + round(freed), tokens)
        self._rewrites.append(rewrite)

    def result(self) -> PolicyReplay:
        """Return what the run came to."""
        covered = self._in_window.result
        return PolicyReplay(
            points=tuple(self._points),
            rewrites=tuple(self._rewrites),
            window=self._facts.info.window,
            handover_at=self._handover_at,
            sent=self._sums.sent,
            billed=self._sums.billed(self._engine.summary_tokens),
            coverage=covered.share if covered.identifiers else None,
            is_exact=True,
            first_too_large=self._first_too_large,
        )
