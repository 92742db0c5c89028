"""Queueing and steering during a turn: no message is lost, and every request stays valid."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from helix_desktop.context.log.mode_notes import SENT_DURING_TURN
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.conversation import MessageQueued, QueueChanged, TurnEnded, UserSpoke
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.providers import anthropic as anthropic_request
from helix_desktop.providers import openai_responses as openai_responses_request
from tests.support.agent_rig import SWEEPING, AgentRig, begin_with
from tests.support.message_linter import lint
from tests.support.scripted_model import (
    ScriptedModel,
    ScriptedReply,
    replies_in_order,
    text_reply,
    tool_call_reply,
)

WAITING = replies_in_order(
    tool_call_reply(("wait", {}), id_prefix="w"), text_reply("Looked."), text_reply("Done.")
)


async def start_turn() -> AgentRig:
    """Start a turn whose first call waits for the gate."""
    rig, conversation = await begin_with(
        tool_call_reply(("wait", {}), ("say", {}), id_prefix="w"), text_reply("Looked.")
    )
    await conversation.send("First.")
    await rig.tools.started.wait()
    return rig


def user_messages(rig: AgentRig) -> list[tuple[str, bool]]:
    return [(event.text, event.steered) for event in rig.events(UserSpoke)]


async def test_a_steering_message_enters_after_the_answers_of_the_step() -> None:
    """In the same turn, after both answers, in the order of sending, in every wire format."""
    rig = await start_turn()
    await rig.conversation.send("Later.")
    await rig.conversation.send("Only the tests.", steer=True)
    await rig.conversation.send("And be quick.", steer=True)
    assert [message.steer for message in rig.conversation.queue.pending] == [False, True, True]
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert user_messages(rig) == [
        ("First.", False),
        ("Only the tests.", True),
        ("And be quick.", True),
        ("Later.", False),
    ]
    request = rig.model.requests[1]
    info = rig.model.info
    assert [message.role for message in request.messages[-5:]] == [
        *("assistant", "tool", "tool", "user", "user")
    ]
    texts = [message.text for message in request.messages[-2:]]
    assert texts == [f"{SENT_DURING_TURN}\n\nOnly the tests.", "And be quick."], "it is said once"
    assert len(rig.events(TurnEnded)) == 2
    assert rig.conversation.session.transcript.messages.turns == 2
    body = json.loads(
        anthropic_request.encode_request(info, request, max_output_tokens=9, breakpoints=False).body
    )
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    kinds = [block["type"] for block in body["messages"][-1]["content"]]
    assert kinds == ["tool_result", "tool_result", "text", "text"]
    items = json.loads(openai_responses_request.request_body(info, request))["input"]
    item_kinds = [item.get("type", item.get("role")) for item in items]
    outputs = [index for index, kind in enumerate(item_kinds) if kind == "function_call_output"]
    calls = [index for index, kind in enumerate(item_kinds) if kind == "function_call"]
    assert len(calls) == len(outputs) == 2
    assert max(calls) < min(outputs)
    assert max(outputs) == len(items) - 3, "the two messages stand behind"


async def test_a_message_that_is_being_stored_starts_no_turn() -> None:
    """The store may still refuse it; then its sender knows that, and sends it again."""
    rig, conversation = await begin_with(script=WAITING)
    rig.store.gated_event_types = (MessageQueued,)
    session = conversation.session
    recording = session.scope.start(session.record(MessageQueued("First.")), "record a message")
    await rig.store.gate_reached.wait()
    conversation.send_next_queued()
    assert not conversation.is_running
    rig.store.gate.set()
    await recording
    conversation.send_next_queued()
    assert conversation.is_running
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert user_messages(rig) == [("First.", False)]


async def test_steering_during_the_last_answer_continues_the_turn() -> None:
    """The agent answers it before the turn ends."""
    gate = asyncio.Event()
    rig, conversation = await begin_with([gate, *text_reply("Done so far.")], text_reply("With tests."))
    await conversation.send("First.")
    await rig.wait_until(lambda: rig.model.requests)
    await conversation.send("Add tests.", steer=True)
    gate.set()
    await rig.wait_until_idle()
    assert user_messages(rig) == [("First.", False), ("Add tests.", True)]
    assert [message.role for message in rig.model.requests[1].messages] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert rig.events(TurnEnded) == [TurnEnded("done")]


async def test_a_queued_message_can_be_changed_until_it_is_sent() -> None:
    """Text, order and purpose; a removed one is not sent, and a sent one cannot be changed."""
    rig = await start_turn()
    conversation = rig.conversation
    queue = rig.conversation.queue
    for text in ("One.", "Two.", "Three.", "Four."):
        await conversation.send(text)
    first, two, three, four = (line.seq for line in queue.pending)
    assert await queue.edit(two, "Two, better.")
    assert await queue.move(four, -9)
    assert await queue.remove(three)
    assert await queue.steer(first)
    assert not await queue.edit(three, "gone")
    assert [(line.text, line.steer) for line in queue.pending] == [
        ("Four.", False),
        ("One.", True),
        ("Two, better.", False),
    ]
    changes = len(rig.events(QueueChanged))
    assert await queue.move(four, -1)
    assert len(rig.events(QueueChanged)) == changes, "what changes nothing is not put on record"
    again = Transcript(await rig.store.events(conversation.session.id))
    assert list(again.queued_messages.values()) == [
        MessageQueued("Four."),
        MessageQueued("One.", steer=True),
        MessageQueued("Two, better."),
    ]
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert user_messages(rig) == [
        ("First.", False),
        ("One.", True),
        ("Four.", False),
        ("Two, better.", False),
    ]
    assert not await queue.remove(first)


async def test_a_message_about_to_be_sent_cannot_be_withdrawn() -> None:
    """It leaves the list at once, and changes in the meantime do not affect it."""
    rig = await start_turn()
    await rig.conversation.send("Two.")
    await rig.conversation.send("Three.")
    two, three = (line.seq for line in rig.conversation.queue.pending)
    await rig.conversation.stop()
    rig.conversation.send_next_queued()
    assert [line.seq for line in rig.conversation.queue.pending] == [three]
    assert not await rig.conversation.queue.remove(two)
    assert await rig.conversation.queue.edit(three, "Three, better.")
    await rig.wait_until_idle()
    assert user_messages(rig) == [("First.", False), ("Two.", False), ("Three, better.", False)]


class QueueMachine(RuleBasedStateMachine):
    """A user who queues, steers, changes, stops and undoes in any order during a turn."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.calls = 0
        self.sent: list[str] = []
        self.withdrawn: set[str] = set()

    def do(self, work: Coroutine[Any, Any, object]) -> None:
        self.runner.run(work)

    def reply(self, request: ModelRequest) -> ScriptedReply:
        """Return two steps with calls, then an answer."""
        self.calls += 1
        if self.calls % 3 == 0:
            return text_reply("Done.")
        return tool_call_reply(
            ("say", {"text": "words " * 30, "times": 2}), ("say", {}), id_prefix=f"c{self.calls}-"
        )

    @initialize()
    def begin(self) -> None:
        self.rig = AgentRig(ScriptedModel(self.reply), SWEEPING)
        self.do(self.rig.begin())

    @rule(steer=st.booleans(), waits=st.integers(0, 40))
    def send(self, steer: bool, waits: int) -> None:
        self.sent.append(f"Message {len(self.sent)}.")
        self.do(self.rig.conversation.send(self.sent[-1], steer=steer))
        self.do(self._wait(waits))

    async def _wait(self, times: int) -> None:
        for _ in range(times):
            await asyncio.sleep(0)

    @rule(choice=st.integers(0, 9), action=st.sampled_from(("edit", "up", "down", "remove", "steer", "wait")))
    def change(self, choice: int, action: str) -> None:
        if line := self.rig.conversation.queue.pending:
            message = line[choice % len(line)]
            self.do(self._change(message.seq, message.text, action))

    async def _change(self, seq: int, text: str, action: str) -> None:
        queue = self.rig.conversation.queue
        match action:
            case "edit":
                if await queue.edit(seq, f"{text} Better."):
                    self.sent[self.sent.index(text)] = f"{text} Better."
            case "up" | "down":
                await queue.move(seq, -1 if action == "up" else 1)
            case "remove":
                if await queue.remove(seq):
                    self.withdrawn.add(text)
            case _:
                await queue.steer(seq, action == "steer")

    @rule()
    def stop(self) -> None:
        self.do(self.rig.conversation.stop())

    @rule()
    def resume(self) -> None:

        async def send_all() -> None:
            self.rig.conversation.send_next_queued()

        self.do(send_all())

    @rule(choice=st.integers(0, 9))
    def undo(self, choice: int) -> None:
        transcript = self.rig.conversation.session.transcript
        if undoable := [seq for seq in transcript.rewrites.by_seq if transcript.can_undo(seq)]:
            with suppress(CompactionRefused):  # one may stand inside a later one
                self.do(self.rig.conversation.window.undo(undoable[choice % len(undoable)]))

    @rule()
    def restart(self) -> None:
        self.do(self._restart())

    async def _restart(self) -> None:
        session_id = self.rig.conversation.session.id
        await self.rig.conversation.close()
        self.rig.workspace = self.rig.create_workspace(self.rig.store, SWEEPING)
        self.rig._conversation = await self.rig.workspace.open_session(session_id)

    @invariant()
    def every_request_is_valid(self) -> None:
        """A strict server accepts every request."""
        for request in self.rig.model.requests:
            assert lint(request.messages) == []

    def teardown(self) -> None:
        """Each message was recorded once, except withdrawn ones."""
        if hasattr(self, "rig"):
            self.do(self._end())
        self.runner.close()

    async def _end(self) -> None:
        conversation = self.rig.conversation
        while conversation.is_running or conversation.session.transcript.queued_messages:
            conversation.send_next_queued()
            await self.rig.wait_until_idle()
        await self.rig.assert_consistent()
        sent_texts = [event.text for event in self.rig.events(UserSpoke)]
        assert sorted(sent_texts) == sorted(set(self.sent) - self.withdrawn)
        await self.rig.workspace.close()


TestSteering = QueueMachine.TestCase
TestSteering.settings = settings(
    stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
