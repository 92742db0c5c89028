"""All user actions in any order, and cancellation between any two awaits: state, log and store agree."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
import pytest
from hypothesis import settings

from helix_desktop.agent.compaction.handover_writer import HandoverDraft
from helix_desktop.agent.session import CompactionProgress, ObservationProgress, Phase
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.request_validation import problems
from helix_desktop.domain.errors import CompactionRefused, HelixError, ModelUnreachable
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    MessageQueued,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.system.task_scope import TaskScope
from tests.support.agent_rig import AgentRig, GatedStore, begin_with
from tests.support.compaction_rig import rig_after_turns
from tests.support.scripted_model import (
    OBSERVATIONS,
    SUMMARY,
    ScriptedModel,
    ScriptedReply,
    replies_in_order,
    text_reply,
    tool_call_reply,
)

POLICY = msgspec.structs.replace(
    PROFILES["lean"], observe_at=0.15, observe_place_at=0.2, reflect_at=0.05, handover_at=0.5,
    handover_cooldown_s=1, protect_steps=2, fold_after_steps=6, ledger_tokens=60, intake_ask=False,
)  # fmt: skip
Action = Callable[[], Awaitable[None]]


class RandomUser:
    """A conversation and a user who takes one action after another, whatever is in progress."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.gates: list[asyncio.Event] = []
        self.rig = AgentRig(
            ScriptedModel(self._work, summary_script=self._summarize, observation_script=self._observe),
            POLICY,
        )
        self.scope = TaskScope()
        self.sent: list[str] = []
        self.refusals: list[HelixError] = []
        self.draft: HandoverDraft | None = None
        self.patient = True
        self.unreachable = 0.15  # share of the requests for summaries and observations that fail
        self.calls = 0
        self.summaries = 0

    def _work(self, request: ModelRequest) -> ScriptedReply:
        if request.messages[-1].role == "user" or self.chance.random() < 0.5:
            self.calls += 1
            say = ("say", {"times": self.chance.choice((5, 60, 300))})
            return tool_call_reply(
                say, text="word " * self.chance.choice((5, 150, 400)), id_prefix=f"c{self.calls}-"
            )
        return text_reply("Done.")

    def _slowly(self, text: str) -> ScriptedReply:
        if self.chance.random() < self.unreachable:
            return [ModelUnreachable(verbatim("The server does not answer."))]
        gate = asyncio.Event()
        if self.patient:
            self.gates.append(gate)
        else:
            gate.set()
        return [gate, *text_reply(text)]

    def _summarize(self, request: ModelRequest) -> ScriptedReply:
        self.summaries += 1
        record = "\n".join(message.text for message in request.messages)
        cited = ", ".join(f"e{seq}" for seq in re.findall(r"\be(\d+) user", record))
        return self._slowly(SUMMARY.replace("[e4]", f"[{cited}]" if cited else "[e4]"))

    def _observe(self, request: ModelRequest) -> ScriptedReply:
        many = "\n".join(f"- (2) Fact {n} of {len(self.gates)} [e3, e{n + 4}]" for n in range(9))
        return self._slowly(self.chance.choice((OBSERVATIONS, many, "Nothing.")))

    async def act(self) -> None:
        """Take one action; an impossible one is refused with a message and changes nothing."""
        conversation = self.rig.conversation
        actions: tuple[Action, ...] = (
            self._send, self._send, self._send, self._send, self._wait, self._wait, self._open_gate,
            self._open_gate, conversation.stop, self._undo, self._undo, self._redo, self._pin,
            self._start_draft, self._drafted, self._accept, self._accept, self._cancel,
        )  # fmt: skip
        try:
            await self.chance.choice(actions)()
        except HelixError as refused:
            self.refusals.append(refused)

    async def _send(self) -> None:
        self.sent.append(f"Message {len(self.sent)}.")
        await self.rig.conversation.send(self.sent[-1])

    async def _wait(self) -> None:
        for _ in range(self.chance.randint(1, 60)):
            await asyncio.sleep(0)
        for _ in range(self.chance.randint(0, 4)):
            await asyncio.to_thread(int)  # started threads go on meanwhile, however slow they are
        self.rig.clock.advance_s(self.chance.choice((0, 1, 400)))

    async def _open_gate(self) -> None:
        if self.gates:
            self.chance.choice(self.gates).set()

    async def _undo(self) -> None:
        transcript = self.rig.conversation.session.transcript
        if undoable := [seq for seq in transcript.rewrites.by_seq if transcript.can_undo(seq)]:
            with suppress(CompactionRefused):  # one may stand inside a later one
                await self.rig.conversation.window.undo(self.chance.choice(undoable))

    async def _redo(self) -> None:
        if undone := sorted(self.rig.conversation.session.transcript.rewrites.undone):
            with suppress(CompactionRefused):
                await self.rig.conversation.window.redo(self.chance.choice(undone))

    async def _pin(self) -> None:
        items = self.rig.conversation.session.transcript.messages.items
        if outputs := [item.seq for item in items if isinstance(item.event, ToolAnswered)]:
            await self.rig.conversation.window.pin(self.chance.choice(outputs))
            await self.rig.conversation.window.unpin(self.chance.choice(outputs))

    async def _start_draft(self) -> None:
        self.chance.choice(
            (self.rig.conversation.handovers.start, self.rig.conversation.observations.start)
        )()

    async def _drafted(self) -> None:
        async def write() -> None:
            try:
                self.draft = await self.rig.conversation.handovers.writer.draft("the tests")
            except CompactionRefused as refused:
                self.refusals.append(refused)

        self.scope.start(write(), "drafting")

    async def _accept(self) -> None:
        if self.draft is not None:
            draft = self.draft
            self.draft = None
            text = draft.text.replace("A fact", "My fact") if self.chance.random() < 0.8 else None
            await self.rig.conversation.handovers.writer.commit(draft, text)

    async def _cancel(self) -> None:
        self.chance.choice(
            (self.rig.conversation.handovers.cancel, self.rig.conversation.observations.cancel)
        )()

    async def do_rare(self) -> None:
        """Let an edited draft overtake a handover, and undo and redo it: a rare case. Call when idle."""
        conversation = self.rig.conversation
        self.unreachable = 0.0
        draft = await self._draft_something()
        self.patient = True
        summaries = self.summaries
        conversation.handovers.start()
        await self.rig.wait_until(lambda: self.summaries > summaries)
        # In fewer words: a longer text than a draft that frees nothing is refused.
        await conversation.handovers.writer.commit(draft, draft.text.replace("A fact", "Fact"))
        await self.end()
        edited_seq = next(
            seq for seq in reversed(conversation.session.transcript.rewrites.by_seq) if self._is_edited(seq)
        )
        await conversation.window.undo(edited_seq)
        await conversation.window.redo(edited_seq)

    async def _draft_something(self) -> HandoverDraft:
        while True:
            try:
                return await self.rig.conversation.handovers.writer.draft("the tests")
            except CompactionRefused:  # there is too little yet
                await self._send()
                await self.rig.wait_until_idle()

    def _is_edited(self, seq: int) -> bool:
        event = self.rig.conversation.session.log[seq - 1].event
        return isinstance(event, HandoverMade) and event.edited

    async def end(self) -> None:
        """Wait for everything in progress; queued messages are sent."""
        conversation = self.rig.conversation
        self.patient = False
        for gate in self.gates:
            gate.set()
        while conversation.is_running or conversation.session.transcript.queued_messages:
            conversation.send_next_queued()
            await self.rig.wait_until_idle()
        await self.rig.wait_until_idle()
        await self.scope.close()
        await conversation.session.drain()


@pytest.mark.hypothesis
@pytest.mark.parametrize("seed", range(settings().max_examples))
async def test_nothing_is_lost_in_any_order_of_actions(seed: int) -> None:
    """Each message is recorded once, in order; all requests were valid; log, store and state agree."""
    user = RandomUser(seed)
    conversation = await user.rig.begin()
    for _ in range(70):
        await user.act()
        window, now = conversation.window.measure()
        assert now.used >= 0
        assert window.estimate == sum(row.tokens for row in conversation.window.items())
    await user.end()
    await user.do_rare()
    assert all(refusal.what and refusal.why for refusal in user.refusals)
    messages = [event.text for event in user.rig.events(UserSpoke)]
    assert messages == user.sent
    assert len(user.rig.events(MessageQueued)) < len(messages)
    for request in user.rig.model.observation_requests:
        assert problems(request.messages) == []
    for event in (*user.rig.events(HandoverMade), *user.rig.events(ObservationsMade)):
        assert (await user.rig.store.get(event.index)).startswith(b"Index of cached outputs")
    placement = [event.made for event in user.rig.events(ObservationsPlaced)]
    assert len(placement) == len(set(placement))
    await user.rig.assert_consistent()


PLAIN = msgspec.structs.replace(PROFILES["plain"], protect_steps=2, least_saving=1)


async def start_turn(slow: int) -> AgentRig:
    """Start a turn with concurrent calls, a question, a sweep and a final text; each write takes a while."""
    arguments = {"text": "words", "times": 60}
    script = replies_in_order(
        tool_call_reply(("say", arguments), ("ask", {}), text="First"),
        tool_call_reply(("say", arguments), ("fail", {}), text="Second", id_prefix="d"),
        tool_call_reply(("say", arguments), id_prefix="e"),
        text_reply("That was all."),
    )
    store = GatedStore()
    rig, _ = await begin_with(script=script, policy=PLAIN, store=store, approver=FixedApprover("once"))
    store.yields_per_write = slow
    await rig.conversation.send("Go.")
    return rig


@pytest.mark.parametrize("slow", [0, 3])
async def test_a_turn_can_be_stopped_at_any_moment(slow: int) -> None:
    """At every turn of the loop: the message is kept, each call has one answer, the turn one end."""
    for passes in range(await (await start_turn(slow)).passes_until_idle() + 2):
        rig = await start_turn(slow)
        for _ in range(passes):
            await asyncio.sleep(0)
        await rig.conversation.stop()
        await rig.assert_consistent()
        assert len(rig.events(UserSpoke)) == 1
        assert len(rig.events(TurnEnded)) == 1
        calls = [call.id for answer in rig.events(AssistantSpoke) for call in answer.calls]
        assert sorted(calls) == sorted(event.call_id for event in rig.events(ToolAnswered))
        rig.model.script = replies_in_order()
        assert (await rig.conversation.run("Go on.")).how == "done"
        await rig.assert_consistent()


@pytest.mark.parametrize("slow", [0, 3])
async def test_a_workspace_can_be_closed_at_any_moment(slow: int) -> None:
    """Closing ends the turn first; the store then opens with the same state."""
    for passes in range(0, await (await start_turn(slow)).passes_until_idle() + 2, 5):
        rig = await start_turn(slow)
        for _ in range(passes):
            await asyncio.sleep(0)
        await rig.conversation.close()
        assert await rig.store.events(rig.conversation.session.id) == rig.conversation.session.log
        assert not rig.conversation.session.transcript.turn_open
        await rig.workspace.close()


async def long_conversation() -> AgentRig:
    """Run two turns, the first long enough for a handover to pay."""
    rig, _ = await begin_with(
        *[tool_call_reply(("say", {}), text="thinking " * 400, id_prefix=f"k{n}") for n in range(9)]
    )
    await rig.say("Go.", "And now?")
    return rig


@pytest.mark.parametrize("phase", ["read", "summarize", "check", "write", "idle"])
@pytest.mark.parametrize("progress", [CompactionProgress, ObservationProgress])
async def test_a_summary_can_be_canceled_at_any_moment(
    progress: type[CompactionProgress | ObservationProgress], phase: Phase
) -> None:
    """In any phase, a little into it: made or not, never half; another can be made at once."""
    is_handover = progress is CompactionProgress
    kinds = (HandoverMade,) if is_handover else (ObservationsMade, ObservationsPlaced)
    for passes in range(7):
        rig = await (long_conversation() if is_handover else rig_after_turns(3))
        rig.store.yields_per_write = 2
        conversation = rig.conversation
        job = conversation.handovers if is_handover else conversation.observations
        job.start()
        if passes or phase != "read":  # else immediately
            await rig.wait_until(
                lambda rig=rig: phase in [update.phase for update in rig.updates_of(progress)]
            )
        for _ in range(passes):
            await asyncio.sleep(0)
        phases = {update.phase for update in rig.updates_of(progress)}
        job.cancel()
        await conversation.wait_for_background_work()
        await conversation.session.drain()
        await rig.assert_consistent()
        counts = [len(rig.events(kind)) for kind in kinds]
        assert counts == sorted(counts, reverse=True), "what is placed was made"
        assert max(counts) <= ("write" in phases)
        assert counts[-1] == 1 or phase != "idle" or not is_handover
        if not counts[-1]:
            job.start()
            await conversation.wait_for_background_work()
        assert [len(rig.events(kind)) for kind in kinds] == [1] * len(kinds)
        await rig.assert_consistent()
