"""The live engine, fed with a session's events under any policy; and which fields of the policy it read."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from math import floor, inf
from operator import attrgetter
from typing import Any, TypeAlias, Union, cast

from msgspec.structs import replace

from helix_desktop.agent.compaction.manager import ContextManager
from helix_desktop.agent.models import ModelRoles, RunSettingsSource
from helix_desktop.agent.ports import TokenCounter
from helix_desktop.agent.session import Session
from helix_desktop.agent.session_services import split_versions
from helix_desktop.config.paths import load_prompts
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, TurnRetried
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import Excluded, FormChosen, Pinned, Redone, Undone, Unpinned
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.store import Content
from helix_desktop.replay.policy.policy_replay import OutputForms
from helix_desktop.replay.recording import SessionFacts
from helix_desktop.replay.replayer import SummaryWriter
from helix_desktop.replay.token_counters import MessageTokenCounter
from helix_desktop.store.memory import MemoryStore
from helix_desktop.system.clock import ClockMs
from helix_desktop.system.task_scope import TaskScope

Number: TypeAlias = int | float
Operand: TypeAlias = Union[int, float, "TracedNumber"]
Operation: TypeAlias = Callable[[Number, Number], Number]


class TracedNumber:
    """A number as the engine uses it, and how it comes from a policy.

    What it is compared with bounds what it may be otherwise. What is computed from it is traced as well, and
    what is read in any other way (as text, as an index) may be nothing else. It is no `int` or `float`: what
    would use it unseen fails.
    """

    def __init__(
        self, value: Number, of: Callable[[ContextPolicy], Number], trace: list[TracedNumber]
    ) -> None:
        self.value, self._of, self._trace = value, of, trace
        self._low, self._high, self._is_fixed = -inf, inf, False
        self._others: dict[TracedNumber, int] = {}  # what it was compared with: 1 if above that, -1 if below
        self._results: dict[tuple[Operation, Number, type, bool], TracedNumber] = {}
        trace.append(self)

    def decides_as(self, policy: ContextPolicy) -> bool:
        """Return True if under another policy each comparison so far has the same answer."""
        value = self._of(policy)
        if any(_order(value, other._of(policy)) != order for other, order in self._others.items()):
            return False
        return value == self.value or (not self._is_fixed and self._low < value < self._high)

    def _compare(self, other: Operand) -> int:
        """Return 1, 0 or -1 for above, equal or below, and note what that rests on."""
        if isinstance(other, TracedNumber):
            order = self._others[other] = _order(self.value, other.value)
            return order
        order = _order(self.value, other)
        if order > 0:
            self._low = max(self._low, other)
        elif order < 0:
            self._high = min(self._high, other)
        else:
            self._is_fixed = True
        return order

    def _fixed(self) -> Number:
        """Return the plain number, for what has to be the same."""
        self._is_fixed = True
        return self.value

    def _derive(self, operation: Operation, other: Operand, *, is_right: bool = False) -> Operand:
        """Return what an operation makes of it; `is_right`: it is the right operand."""
        if isinstance(other, TracedNumber):
            left, right = (other, self) if is_right else (self, other)
            return operation(left._fixed(), right._fixed())
        key = operation, other, type(other), is_right
        result = self._results.get(key)
        if result is None:
            of = self._of
            value = operation(other, self.value) if is_right else operation(self.value, other)
            if is_right:
                result = TracedNumber(value, lambda policy: operation(other, of(policy)), self._trace)
            else:
                result = TracedNumber(value, lambda policy: operation(of(policy), other), self._trace)
            self._results[key] = result
        return result

    def __lt__(self, other: Operand) -> bool:
        return self._compare(other) < 0

    def __le__(self, other: Operand) -> bool:
        return self._compare(other) <= 0

    def __gt__(self, other: Operand) -> bool:
        return self._compare(other) > 0

    def __ge__(self, other: Operand) -> bool:
        return self._compare(other) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | float | TracedNumber):
            return False
        return self is other or self._compare(other) == 0

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        return self._compare(0) != 0

    def __add__(self, other: Operand) -> Operand:
        return self._derive(operator.add, other)

    def __radd__(self, other: Operand) -> Operand:
        return self._derive(operator.add, other, is_right=True)

    def __sub__(self, other: Operand) -> Operand:
        return self._derive(operator.sub, other)

    def __rsub__(self, other: Operand) -> Operand:
        return self._derive(operator.sub, other, is_right=True)

    def __mul__(self, other: Operand) -> Operand:
        return self._derive(operator.mul, other)

    def __rmul__(self, other: Operand) -> Operand:
        return self._derive(operator.mul, other, is_right=True)

    def __truediv__(self, other: Operand) -> Operand:
        return self._derive(operator.truediv, other)

    def __floordiv__(self, other: Operand) -> Operand:
        return self._derive(operator.floordiv, other)

    def __lshift__(self, other: Operand) -> Operand:
        return self._derive(_shifted, other)

    def __floor__(self) -> Operand:
        return self._derive(_floor, 0)

    def __int__(self) -> int:
        return int(self._fixed())

    def __float__(self) -> float:
        return float(self._fixed())

    def __index__(self) -> int:
        number = self._fixed()
        if isinstance(number, float):
            raise TypeError("a share is no index")
        return number

    def __round__(self, digits: int | None = None) -> Number:
        return round(self._fixed(), digits)

    def __str__(self) -> str:
        return str(self._fixed())

    def __format__(self, spec: str) -> str:
        return format(self._fixed(), spec)


def _order(left: Number, right: Number) -> int:
    return (left > right) - (left < right)


def _floor(number: Number, _: Number) -> int:
    return floor(number)


def _shifted(number: Number, bits: Number) -> int:
    return int(number) << int(bits)


_FIELDS = frozenset(ContextPolicy.__struct_fields__)
THRESHOLDS = frozenset({
    "intake_above", "preview_above", "sweep_min", "sweep_max", "sweep_fixed", "protect_recalls",
    "previous_turn_share", "cache_ttl_s", "fold_least", "condense_at", "observe_at", "observe_place_at",
    "reflect_at", "handover_at", "handover_cooldown_s", "handover_least_gain", "panic_at",
})  # fmt: skip
"""Fields that others are compared with: most of a session is far from them."""


class TracedPolicy:
    """A policy that remembers which fields were read; it has no methods, for theirs would not be seen."""

    def __init__(self, policy: ContextPolicy) -> None:
        self._policy = policy
        self._numbers: list[TracedNumber] = []

    def __getattr__(self, name: str) -> Any:
        """Return a field when it is read for the first time; from then on it is an attribute."""
        if name not in _FIELDS:
            raise AttributeError(name)
        value = getattr(self._policy, name)
        if name in THRESHOLDS:
            value = TracedNumber(value, attrgetter(name), self._numbers)
        self.__dict__[name] = value
        return value

    def decides_as(self, policy: ContextPolicy) -> bool:
        """Return True if all that was read so far is the same in another policy, or leads to the same."""
        read = self.__dict__.keys() & _FIELDS
        different = {name for name in read if getattr(self._policy, name) != getattr(policy, name)}
        if different - THRESHOLDS:
            return False
        return not different or all(number.decides_as(policy) for number in self._numbers)


_SESSION = "0" * 32
OnRewrite = Callable[[RecordedEvent], None]


class _UnstoredSession(Session):
    """A session whose events are applied at once, and stored nowhere."""

    def __init__(
        self,
        counter: TokenCounter,
        clock: ClockMs,
        scope: TaskScope,
        settings: RunSettingsSource,
        on_rewrite: OnRewrite,
    ) -> None:
        prompts, versions = split_versions(load_prompts())
        super().__init__(
            _SESSION,
            MemoryStore(clock),
            counter,
            clock,
            scope,
            [],
            Transcript(),
            settings,
            prompts=prompts,
            prompt_versions=versions,
        )
        self._on_rewrite = on_rewrite

    def feed(self, at: int, event: Event) -> None:
        self.transcript.apply(RecordedEvent(self.transcript.last_seq + 1, at, event))

    async def record_decided(
        self,
        decide: Callable[[], Sequence[Event]],
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
        ends_partial_answer: bool = False,
    ) -> list[RecordedEvent]:
        applied = []
        for event in decide():
            recorded = RecordedEvent(self.transcript.last_seq + 1, self.clock(), event)
            self.transcript.apply(recorded)
            self._on_rewrite(recorded)
            applied.append(recorded)
        return applied


class PolicyEngine:
    """One session under one policy: `step` feeds its events, `prepare` is the moment before a request.

    `seqs` are the events' numbers in this run by those in the session's log, `origins` the other way round:
    rewrites have numbers too.
    """

    def __init__(
        self,
        policy: ContextPolicy,
        facts: SessionFacts,
        counter: MessageTokenCounter,
        output_forms: OutputForms,
        on_rewrite: OnRewrite,
    ) -> None:
        self._traced = TracedPolicy(_without_checkpoints(policy).scaled(facts.info.window))
        self.policy = cast("ContextPolicy", self._traced)  # the engine reads nothing but fields of it
        self.now_ms = 0
        self.seqs: dict[int, int] = {0: 0}
        self.origins: dict[int, int] = {}
        self.scope = TaskScope()
        self.shortened: set[int] = set()  # outputs of this run that would come with less of their text
        self._facts, self._output_forms = facts, output_forms
        self._request_seq = 0  # the last event before the newest request
        self._frames: dict[str, PromptFrame] = {}
        self._writer = SummaryWriter(facts.info, counter)
        self._settings = (self.policy, self._frame_of(facts.info.label), ModelRoles(self._writer))
        self._session = _UnstoredSession(
            counter, lambda: self.now_ms, self.scope, lambda: self._settings, on_rewrite
        )
        self.transcript = self._session.transcript
        self._manager = ContextManager(self._session, stays_open=False)

    def decides_as(self, policy: ContextPolicy) -> bool:
        """Return True if so far it would have done the same under another policy."""
        return self._traced.decides_as(_without_checkpoints(policy).scaled(self._facts.info.window))

    @property
    def frame(self) -> PromptFrame:
        return self._settings[1]

    @property
    def summary_tokens(self) -> int:
        """The tokens that summarizing calls would have read."""
        return sum(self._writer.input_tokens)

    def _frame_of(self, label: str) -> PromptFrame:
        """Return the frame with the model that answered: the provider's cache of another one has nothing."""
        frame = self._frames.get(label)
        if frame is None:
            provider, _, name = label.partition("/")
            info = replace(self._facts.info, provider=provider, name=name)
            frame = self._frames[label] = PromptFrame(
                info, "", (), 0, self._facts.fixed_tokens, self._facts.ratio
            )
        return frame

    async def prepare(self, answer: AssistantSpoke) -> UsageGauge:
        """Do what is due before the request that `answer` came from; return the usage of that request.

        What that starts in the background is ready when the answer comes.
        """
        if answer.model != self._settings[1].info.label:
            policy, _, roles = self._settings
            self._settings = (policy, self._frame_of(answer.model), roles)
        gauge = await self._manager.apply_due_work()
        self._request_seq = self.transcript.last_seq
        return gauge

    async def step(self, recorded: RecordedEvent) -> None:
        event = recorded.event
        if isinstance(event, AssistantSpoke):
            await self._manager.wait_for_background_work()
        self.now_ms = recorded.at
        self._session.feed(recorded.at, self._renumbered(await self._in_due_form(event)))
        seq = self.seqs[recorded.seq] = self.transcript.last_seq
        self.origins[seq] = recorded.seq
        if isinstance(event, AssistantSpoke) and event.calls:
            await self._manager.early_rewrites.make()
        if isinstance(event, TurnEnded):
            self._manager.after_turn()
            await self._manager.wait_for_background_work()

    async def _in_due_form(self, event: Event) -> Event:
        """Return an output in the form that the policy would have given it; any other event as it is."""
        if not isinstance(event, ToolAnswered):
            return event
        output = await self._output_forms.under(self.policy, event, self._facts.info.window)
        if output.text != event.text:
            self.shortened.add(self.transcript.last_seq + 1)
        return output

    def _renumbered(self, event: Event) -> Event:
        """Return an event that names others by their numbers with the numbers of this run."""
        match event:
            case Pinned() | Unpinned() | FormChosen() | Undone() | Redone():
                return replace(event, target=self.seqs.get(event.target, 0))
            case HoldSet():
                return HoldSet(on=False)  # the user's choice, whatever the policy
            case Excluded(targets=targets):
                return replace(event, targets=tuple(self.seqs.get(seq, 0) for seq in targets))
            case TurnRetried(after=seq):
                return replace(event, after=self.seq_at(seq))
            case AssistantSpoke(sent_after=seq):
                reached = self.transcript.rewritten_after(self._request_seq)
                return event if seq == reached else replace(event, sent_after=reached)
        return event

    def seq_at(self, seq: int) -> int:
        """Return the number in this run of an event of the session's log, or of the newest one before it."""
        while seq not in self.seqs:
            seq -= 1
        return self.seqs[seq]


def _without_checkpoints(policy: ContextPolicy) -> ContextPolicy:
    """Return the policy without checkpoints: they change no request, and a replay would make each again."""
    return replace(policy, checkpoint_tokens=0)


class _InlineExecutor(ThreadPoolExecutor):
    """Runs what the engine gives to threads at once: nothing waits for a replay's loop."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - it is the awaiting caller's
            future.set_exception(error)
        return future


def run_inline(work: Callable[[], Any]) -> Any:
    """Run a coroutine to its end on a loop of its own that starts no thread."""

    async def main() -> Any:
        asyncio.get_running_loop().set_default_executor(_InlineExecutor(1))
        return await work()

    return asyncio.run(main())
