"""The live engine, fed with a session's events under any policy; and which fields of the policy it read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

from msgspec.structs import replace

from helix_desktop.agent.compaction.context_compaction import ContextCompaction
from helix_desktop.agent.model_roles import ModelRoles
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, TurnRetried
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import Excluded, FormChosen, Pinned, Redone, Undone, Unpinned
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.store import Content
from helix_desktop.replay.policy.policy_replay import ReplayedForms
from helix_desktop.replay.recording import SessionFacts
from helix_desktop.replay.replayer import ReplaySession, SummaryWriter
from helix_desktop.replay.token_counters import MessageTokenCounter
from helix_desktop.system.task_scope import TaskScope

_FIELDS = frozenset(ContextPolicy.__struct_fields__)


class ReadPolicy:
    """A policy that remembers which fields were read; it has no methods, for theirs would not be seen."""

    def __init__(self, policy: ContextPolicy) -> None:
        self._policy = policy

    def __getattr__(self, name: str) -> Any:
        """Return a field when it is read for the first time; from then on it is an attribute."""
        if name not in _FIELDS:
            raise AttributeError(name)
        value = self.__dict__[name] = getattr(self._policy, name)
        return value

    def decides_as(self, policy: ContextPolicy) -> bool:
        """Return True if all that was read so far is the same in another policy."""
        return all(getattr(policy, name) == value for name, value in vars(self).items() if name in _FIELDS)


OnRewrite = Callable[[RecordedEvent], None]


class _UnstoredSession(ReplaySession):
    """A session whose events are applied at once, and stored nowhere."""

    on_rewrite: OnRewrite

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
            self.on_rewrite(recorded)
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
        output_forms: ReplayedForms,
        on_rewrite: OnRewrite,
    ) -> None:
        self._read_policy = ReadPolicy(_without_checkpoints(policy).scaled(facts.info.window))
        self.policy = cast("ContextPolicy", self._read_policy)  # the engine reads nothing but fields of it
        self.now_ms = 0
        self.seqs: dict[int, int] = {0: 0}
        self.origins: dict[int, int] = {}
        self.scope = TaskScope()
        self.shortened: set[int] = set()  # outputs of this run that would come with less of their text
        self._facts = facts
        self._output_forms = output_forms
        self._request_seq = 0  # the last event before the newest request
        self._frames: dict[str, PromptFrame] = {}
        self._writer = SummaryWriter(facts.info, counter)
        self._settings = (self.policy, self._frame_of(facts.info.label), ModelRoles(self._writer))
        self._session = _UnstoredSession(counter, lambda: self.now_ms, self.scope, lambda: self._settings)
        self._session.on_rewrite = on_rewrite
        self.transcript = self._session.transcript
        self._compaction = ContextCompaction(self._session)

    def decides_as(self, policy: ContextPolicy) -> bool:
        """Return True if so far it would have done the same under another policy."""
        return self._read_policy.decides_as(_without_checkpoints(policy).scaled(self._facts.info.window))

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
        gauge = await self._compaction.apply_due_work()
        self._request_seq = self.transcript.last_seq
        return gauge

    async def step(self, recorded: RecordedEvent) -> None:
        event = recorded.event
        if isinstance(event, AssistantSpoke):
            await self._compaction.wait_for_background_work()
        self.now_ms = recorded.at
        self._session.feed(recorded.at, self._renumbered(await self._in_due_form(event)))
        seq = self.seqs[recorded.seq] = self.transcript.last_seq
        self.origins[seq] = recorded.seq
        if isinstance(event, AssistantSpoke) and event.calls:
            await self._compaction.early_rewrites.make()
        if isinstance(event, TurnEnded):
            self._compaction.after_turn()
            await self._compaction.wait_for_background_work()

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
    """Return the policy without checkpoints: a replay would make each again.

    In a request they change nothing but the numbers of later messages.
    """
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
