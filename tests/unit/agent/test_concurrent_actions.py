"""Everything a person can do, in any order, while slow summaries and observations are being written."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from helix_desktop.agent.window.handover_draft import HandoverDraft
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.window.request_validation import problems
from helix_desktop.domain.errors import CompactionRefused, HelixError, ModelUnreachable
from helix_desktop.domain.events.session import MessageQueued, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.system.task_scope import TaskScope
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import (
    OBSERVATIONS,
    SUMMARY,
    ScriptedModel,
    ScriptedReply,
    text_reply,
    tool_call_reply,
)

POLICY = msgspec.structs.replace(
    PROFILES["lean"],
    observe_at=0.15,
    observe_place_at=0.2,
    reflect_at=0.05,
    handover_at=0.5,
    handover_cooldown_s=1,
    protect_steps=2,
    fold_after_steps=6,
    ledger_tokens=60,
    intake_ask=False,
)
ALL_OF_IT = {
    "HandoverMade", "HandoverFailed", "ObservationsMade", "ObservationsPlaced", "ObservationsFailed",
    "FoldMade", "SweepMade", "Undone", "Redone", "Pinned", "MessageQueued", "manual", "threshold", "edited",
}  # fmt: skip
Action = Callable[[], Awaitable[None]]


class Crowd:
    """A conversation and a person who does one thing after the other, whatever is under way."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.gates: list[asyncio.Event] = []
        self.rig = AgentRig(
            ScriptedModel(self._work, summary_script=self._sum, observation_script=self._note), POLICY
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
            return [ModelUnreachable("The server does not answer.")]
        gate = asyncio.Event()
        if self.patient:
            self.gates.append(gate)
        else:
            gate.set()
        return [gate, *text_reply(text)]

    def _sum(self, request: ModelRequest) -> ScriptedReply:
        self.summaries += 1
        record = "\n".join(message.text for message in request.messages)
        cited = ", ".join(f"e{seq}" for seq in re.findall(r"\be(\d+) user", record))
        return self._slowly(SUMMARY.replace("[e4]", f"[{cited}]" if cited else "[e4]"))

    def _note(self, request: ModelRequest) -> ScriptedReply:
        many = "\n".join(f"- (2) Fact {n} of {len(self.gates)} [e3, e{n + 4}]" for n in range(9))
        return self._slowly(self.chance.choice((OBSERVATIONS, many, "Nothing.")))

    async def act(self) -> None:
        """One thing; what cannot be done now is refused with words, and nothing else happens."""
        talk = self.rig.conversation
        actions: tuple[Action, ...] = (
            self._send, self._send, self._send, self._send, self._look_on, self._look_on, self._open_gate,
            self._open_gate, talk.stop, self._take_back, self._take_back, self._again, self._pin, self._begin,
            self._drafted, self._taken, self._taken, self._cancel,
        )  # fmt: skip
        try:
            await self.chance.choice(actions)()
        except HelixError as refused:
            self.refusals.append(refused)

    async def _send(self) -> None:
        self.sent.append(f"Message {len(self.sent)}.")
        await self.rig.conversation.send(self.sent[-1])

    async def _look_on(self) -> None:
        for _ in range(self.chance.randint(1, 60)):
            await asyncio.sleep(0)
        for _ in range(self.chance.randint(0, 4)):
            await asyncio.to_thread(int)  # what threads have begun goes on meanwhile, however slow they are
        self.rig.clock.advance_s(self.chance.choice((0, 1, 400)))

    async def _open_gate(self) -> None:
        if self.gates:
            self.chance.choice(self.gates).set()

    async def _take_back(self) -> None:
        known = self.rig.conversation.session.transcript
        if held := [seq for seq in known.rewrites.by_seq if known.can_undo(seq)]:
            await self.rig.conversation.undo(self.chance.choice(held))

    async def _again(self) -> None:
        if gone := sorted(self.rig.conversation.session.transcript.rewrites.undone):
            await self.rig.conversation.redo(self.chance.choice(gone))

    async def _pin(self) -> None:
        items = self.rig.conversation.session.transcript.items
        if outputs := [one.seq for one in items if isinstance(one.event, ToolAnswered)]:
            await self.rig.conversation.pin(self.chance.choice(outputs))
            await self.rig.conversation.unpin(self.chance.choice(outputs))

    async def _begin(self) -> None:
        self.chance.choice((self.rig.conversation.compact, self.rig.conversation.observe))()

    async def _drafted(self) -> None:
        async def write() -> None:
            try:
                self.draft = await self.rig.conversation.draft_handover("the tests")
            except CompactionRefused as refused:
                self.refusals.append(refused)

        self.scope.start(write(), "drafting")

    async def _taken(self) -> None:
        if self.draft is not None:
            draft, self.draft = self.draft, None
            text = draft.text.replace("A fact", "My fact") if self.chance.random() < 0.8 else None
            await self.rig.conversation.commit_handover(draft, text)

    async def _cancel(self) -> None:
        self.chance.choice(
            (self.rig.conversation.cancel_compaction, self.rig.conversation.cancel_observation)
        )()

    async def do_rare(self) -> None:
        """Do what chance seldom brings: a handover overtaken by an edited draft, which is undone and redone.

        Call it when nothing is under way.
        """
        talk, self.unreachable = self.rig.conversation, 0.0
        draft = await self._draft_something()
        self.patient, asked = True, self.summaries
        talk.compact()
        await self.rig.wait_until(lambda: self.summaries > asked)
        await talk.commit_handover(draft, draft.text.replace("A fact", "My fact"))
        await self.end()
        made = next(seq for seq in reversed(talk.session.transcript.rewrites.by_seq) if self._is_edited(seq))
        await talk.undo(made)
        await talk.redo(made)

    async def _draft_something(self) -> HandoverDraft:
        while True:
            try:
                return await self.rig.conversation.draft_handover("the tests")
            except CompactionRefused:  # there is too little yet
                await self._send()
                await self.rig.wait_until_idle()

    def _is_edited(self, seq: int) -> bool:
        event = self.rig.conversation.session.log[seq - 1].event
        return isinstance(event, HandoverMade) and event.edited

    async def end(self) -> None:
        """Let all that is under way end; what waited is sent."""
        talk = self.rig.conversation
        self.patient = False
        for gate in self.gates:
            gate.set()
        while talk.is_running or talk.session.transcript.queued_messages:
            talk.send_next_queued()
            await self.rig.wait_until_idle()
        await self.rig.wait_until_idle()
        await self.scope.close()
        await talk.session.drain()


@pytest.mark.parametrize("seed", range(24))
async def test_nothing_is_lost_whatever_is_done_at_once(seed: int) -> None:
    """Each message is said once, in order; every request was valid; log, store and state agree."""
    crowd = Crowd(seed)
    talk = await crowd.rig.begin()
    for _ in range(70):
        await crowd.act()
        window, now = talk.measure()
        assert now.used >= 0
        assert window.estimate == sum(row.tokens for row in talk.rows())
    await crowd.end()
    await crowd.do_rare()
    assert all(one.what and one.why for one in crowd.refusals)
    spoken = [one.text for one in crowd.rig.events(UserSpoke)]
    assert spoken == crowd.sent
    assert len(crowd.rig.events(MessageQueued)) < len(spoken)
    for request in crowd.rig.model.observation_requests:
        assert problems(request.messages) == []
    for one in (*crowd.rig.events(HandoverMade), *crowd.rig.events(ObservationsMade)):
        assert (await crowd.rig.store.get(one.index)).startswith(b"Index of cached outputs")
    placed = [one.made for one in crowd.rig.events(ObservationsPlaced)]
    assert len(placed) == len(set(placed))
    await crowd.rig.assert_consistent()


async def test_the_crowd_does_it_all() -> None:
    """What the test above is about does happen in it."""
    seen: set[str] = set()
    for seed in range(60):  # a few are enough; what threads finish first is not the seed's to say
        if seen >= ALL_OF_IT:
            break
        crowd = Crowd(seed)
        await crowd.rig.begin()
        for _ in range(70):
            await crowd.act()
        await crowd.end()
        await crowd.do_rare()
        seen |= {type(one.event).__name__ for one in crowd.rig.conversation.session.log}
        seen |= {one.trigger for one in crowd.rig.events(HandoverMade)}
        seen |= {"edited" for one in crowd.rig.events(HandoverMade) if one.edited}
        seen |= {"reflection" for one in crowd.rig.events(ObservationsMade) if one.reflection}
    assert seen >= ALL_OF_IT
