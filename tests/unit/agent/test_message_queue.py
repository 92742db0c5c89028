"""Queueing and steering while the agent works: nothing typed is lost, and every request stays valid."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.session import MessageQueued, QueueChanged, TurnEnded, UserSpoke
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.providers.anthropic import request as anthropic_request
from helix_desktop.providers.openai_responses import request as openai_responses_request
from tests.support.agent_rig import AgentRig
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
SWEEPING = msgspec.structs.replace(PROFILES["plain"], protect_steps=2, least_saving=1)


async def at_work() -> AgentRig:
    """A turn whose first call waits for the gate."""
    rig = AgentRig(
        ScriptedModel(
            replies_in_order(tool_call_reply(("wait", {}), ("say", {}), id_prefix="w"), text_reply("Looked."))
        )
    )
    talk = await rig.begin()
    await talk.send("First.")
    await rig.tools.started.wait()
    return rig


def spoken(rig: AgentRig) -> list[tuple[str, bool]]:
    """What the person said, and whether it steered."""
    return [(one.text, one.steered) for one in rig.events(UserSpoke)]


async def test_a_steering_message_enters_after_the_answers_of_the_step() -> None:
    """In the same turn, behind both answers, in the order in which they were sent."""
    rig = await at_work()
    await rig.conversation.send("Later.")
    await rig.conversation.send("Only the tests.", steer=True)
    await rig.conversation.send("And be quick.", steer=True)
    assert [one.steer for one in rig.conversation.queue.pending] == [False, True, True]
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert spoken(rig) == [
        ("First.", False),
        ("Only the tests.", True),
        ("And be quick.", True),
        ("Later.", False),
    ]
    second = rig.model.requests[1].messages
    assert [one.role for one in second[-5:]] == ["assistant", "tool", "tool", "user", "user"]
    assert [one.text for one in second[-2:]] == ["Only the tests.", "And be quick."]
    assert len(rig.events(TurnEnded)) == 2
    assert rig.conversation.session.transcript.turns == 2
    await rig.assert_consistent()


async def test_a_steered_turn_is_in_order_for_every_wire_format() -> None:
    """Results before the person's words, and where a format wants turns to alternate they do."""
    rig = await at_work()
    await rig.conversation.send("Only the tests.", steer=True)
    await rig.conversation.send("And be quick.", steer=True)
    rig.tools.gate.set()
    await rig.wait_until_idle()
    request, info = rig.model.requests[1], rig.model.info
    body = json.loads(
        anthropic_request.encode_request(info, request, max_output_tokens=9, breakpoints=False).body
    )
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "user"]
    kinds = [block["type"] for block in body["messages"][-1]["content"]]
    assert kinds == ["tool_result", "tool_result", "text", "text"]
    items = json.loads(openai_responses_request.request_body(info, request))["input"]
    named = [item.get("type", item.get("role")) for item in items]
    outputs = [place for place, kind in enumerate(named) if kind == "function_call_output"]
    calls = [place for place, kind in enumerate(named) if kind == "function_call"]
    assert len(calls) == len(outputs) == 2
    assert max(calls) < min(outputs)
    assert max(outputs) == len(items) - 3, "the two messages stand behind"


async def test_one_that_comes_with_the_last_answer_goes_on_with_the_turn() -> None:
    """The agent answers it before the turn ends."""
    gate = asyncio.Event()
    rig = AgentRig(
        ScriptedModel(replies_in_order([gate, *text_reply("Done so far.")], text_reply("With tests.")))
    )
    talk = await rig.begin()
    await talk.send("First.")
    await rig.wait_until(lambda: rig.model.requests)
    await talk.send("Add tests.", steer=True)
    gate.set()
    await rig.wait_until_idle()
    assert spoken(rig) == [("First.", False), ("Add tests.", True)]
    assert [one.role for one in rig.model.requests[1].messages] == ["system", "user", "assistant", "user"]
    assert rig.events(TurnEnded) == [TurnEnded("done")]
    await rig.assert_consistent()


async def test_what_waits_can_be_changed_until_it_is_sent() -> None:
    """Words, order and purpose; what is taken away is not sent, and what is sent cannot be changed."""
    rig = await at_work()
    talk, queue = rig.conversation, rig.conversation.queue
    for text in ("One.", "Two.", "Three.", "Four."):
        await talk.send(text)
    one, two, three, four = (line.seq for line in queue.pending)
    assert await queue.edit(two, "Two, better.")
    assert await queue.move(four, -9)
    assert await queue.remove(three)
    assert await queue.steer(one)
    assert not await queue.edit(three, "gone")
    assert [(line.text, line.steer) for line in queue.pending] == [
        ("Four.", False),
        ("One.", True),
        ("Two, better.", False),
    ]
    changes = len(rig.events(QueueChanged))
    assert await queue.move(four, -1)
    assert len(rig.events(QueueChanged)) == changes, "what changes nothing is not put on record"
    again = Transcript(await rig.store.events(talk.session.id))
    assert list(again.queued_messages.values()) == [
        MessageQueued("Four."),
        MessageQueued("One.", steer=True),
        MessageQueued("Two, better."),
    ]
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert spoken(rig) == [("First.", False), ("One.", True), ("Four.", False), ("Two, better.", False)]
    assert not await queue.remove(one)
    await rig.assert_consistent()


async def test_after_a_stop_all_of_it_waits() -> None:
    """What was to steer goes first in its place, as soon as the person says so."""
    rig = await at_work()
    await rig.conversation.send("Steer.", steer=True)
    await rig.conversation.send("Queued.")
    await rig.conversation.stop()
    assert [line.text for line in rig.conversation.queue.pending] == ["Steer.", "Queued."]
    rig.conversation.send_next_queued()
    await rig.wait_until_idle()
    assert spoken(rig) == [("First.", False), ("Steer.", False), ("Queued.", False)]
    await rig.assert_consistent()


async def test_one_that_is_about_to_be_sent_is_not_taken_back() -> None:
    """It is out of the list at once, and what is changed meanwhile does not touch it."""
    rig = await at_work()
    await rig.conversation.send("Two.")
    await rig.conversation.send("Three.")
    two, three = (line.seq for line in rig.conversation.queue.pending)
    await rig.conversation.stop()
    rig.conversation.send_next_queued()
    assert [line.seq for line in rig.conversation.queue.pending] == [three]
    assert not await rig.conversation.queue.remove(two)
    assert await rig.conversation.queue.edit(three, "Three, better.")
    await rig.wait_until_idle()
    assert spoken(rig) == [("First.", False), ("Two.", False), ("Three, better.", False)]
    await rig.assert_consistent()


class Steering(RuleBasedStateMachine):
    """A person who queues, steers, changes, stops and undoes in any order while the agent works."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.calls = 0
        self.sent: list[str] = []
        self.gone: set[str] = set()

    def do(self, work: Coroutine[Any, Any, object]) -> None:
        """Do one thing on the loop of this session."""
        self.runner.run(work)

    def play(self, request: ModelRequest) -> ScriptedReply:
        """Two steps with calls, then an answer."""
        self.calls += 1
        if self.calls % 3 == 0:
            return text_reply("Done.")
        return tool_call_reply(
            ("say", {"text": "words " * 30, "times": 2}), ("say", {}), id_prefix=f"c{self.calls}-"
        )

    @initialize()
    def begin(self) -> None:
        """A session in which nothing was said yet."""
        self.rig = AgentRig(ScriptedModel(self.play), SWEEPING)
        self.do(self.rig.begin())

    @rule(steer=st.booleans(), looks=st.integers(0, 40))
    def send(self, steer: bool, looks: int) -> None:
        """Send, and look on for a while."""
        self.sent.append(f"Message {len(self.sent)}.")
        self.do(self.rig.conversation.send(self.sent[-1], steer=steer))
        self.do(self._look(looks))

    async def _look(self, times: int) -> None:
        for _ in range(times):
            await asyncio.sleep(0)

    @rule(which=st.integers(0, 9), deed=st.sampled_from(("edit", "up", "down", "remove", "steer", "wait")))
    def change(self, which: int, deed: str) -> None:
        """Change one of those that wait."""
        if line := self.rig.conversation.queue.pending:
            one = line[which % len(line)]
            self.do(self._change(one.seq, one.text, deed))

    async def _change(self, seq: int, text: str, deed: str) -> None:
        queue = self.rig.conversation.queue
        match deed:
            case "edit":
                if await queue.edit(seq, f"{text} Better."):
                    self.sent[self.sent.index(text)] = f"{text} Better."
            case "up" | "down":
                await queue.move(seq, -1 if deed == "up" else 1)
            case "remove":
                if await queue.remove(seq):
                    self.gone.add(text)
            case _:
                await queue.steer(seq, deed == "steer")

    @rule()
    def stop(self) -> None:
        """Stop the turn."""
        self.do(self.rig.conversation.stop())

    @rule()
    def resume(self) -> None:
        """Send what waits."""

        async def go_on() -> None:
            self.rig.conversation.send_next_queued()

        self.do(go_on())

    @rule(which=st.integers(0, 9))
    def undo(self, which: int) -> None:
        """Take a rewrite back."""
        known = self.rig.conversation.session.transcript
        if held := [seq for seq in known.rewrites.by_seq if known.can_undo(seq)]:
            self.do(self.rig.conversation.undo(held[which % len(held)]))

    @rule()
    def restart(self) -> None:
        """The app goes away in the middle, and comes back to what was stored."""
        self.do(self._restart())

    async def _restart(self) -> None:
        session = self.rig.conversation.session.id
        await self.rig.conversation.close()
        self.rig.workspace = self.rig.create_workspace(self.rig.store, SWEEPING)
        self.rig._conversation = await self.rig.workspace.open_session(session)

    @invariant()
    def every_request_is_valid(self) -> None:
        """Whatever was done, a strict server takes them all."""
        for request in self.rig.model.requests:
            assert lint(request.messages) == []

    def teardown(self) -> None:
        """In the end each message was said once, but those that were taken back."""
        if hasattr(self, "rig"):
            self.do(self._end())
        self.runner.close()

    async def _end(self) -> None:
        talk = self.rig.conversation
        while talk.is_running or talk.session.transcript.queued_messages:
            talk.send_next_queued()
            await self.rig.wait_until_idle()
        await self.rig.assert_consistent()
        said_once = [one.text for one in self.rig.events(UserSpoke)]
        assert sorted(said_once) == sorted(set(self.sent) - self.gone)
        await self.rig.workspace.close()


TestSteering = Steering.TestCase
TestSteering.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
