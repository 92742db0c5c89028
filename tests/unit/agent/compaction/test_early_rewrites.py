"""Early rewrites: made while the tools of an answer run, so that the next request need not wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from helix_desktop.domain.events.rewrite import FoldMade, PlacementReason, SweepMade, SweepReason
from helix_desktop.domain.events.summary import ObservationsMade, ObservationsPlaced
from helix_desktop.domain.store import Commit
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig, GatedStore, begin_with
from tests.support.observation_rig import PLACE_AT_ONCE, thinking_turn_script
from tests.support.scripted_model import (
    OBSERVATIONS,
    ScriptedModel,
    ScriptedReply,
    WordCounter,
    replies_in_order,
    text_reply,
    tool_call_reply,
)

AT_ONCE = msgspec.structs.replace(
    PROFILES["classic"],
    sweep="at once",
    protect_steps=2,
    protect_tokens=0,
    anchor_tokens=0,
    previous_turn_share=0.0,
)
BATCHES = msgspec.structs.replace(AT_ONCE, sweep="fixed", sweep_fixed=10**6, sweep_min=4)


def say(number: int) -> ScriptedReply:
    return tool_call_reply(("say", {"text": f"word{number}", "times": 200}), id_prefix=f"s{number}")


FOLDS = msgspec.structs.replace(AT_ONCE, fold_after_steps=2, fold_least=0, sweep_min=0)
WAIT = tool_call_reply(("wait", {}), id_prefix="w")


async def test_due_rewrites_stand_between_an_answer_and_its_outputs() -> None:
    """Each of them, while the answers of a turn have calls."""
    replies = [*map(say, range(6)), text_reply("Done.")]
    rig, _ = await begin_with(*replies, policy=AT_ONCE)
    await rig.conversation.run("Look.")
    kinds = [
        recorded.event
        for recorded in rig.conversation.session.log
        if isinstance(recorded.event, AssistantSpoke | SweepMade | ToolAnswered)
    ]
    sweeps = [number for number, event in enumerate(kinds) if isinstance(event, SweepMade)]
    assert len(sweeps) > 2
    assert all(isinstance(kinds[number - 1], AssistantSpoke) for number in sweeps)
    assert all(isinstance(kinds[number + 1], ToolAnswered) for number in sweeps)


async def test_outputs_are_recorded_after_them_although_their_tools_have_run() -> None:
    """So what they decide does not depend on how fast a tool is."""
    store = GatedStore()
    store.gated_event_types = (SweepMade,)
    replies = [*map(say, range(4)), text_reply("Done.")]
    rig, _ = await begin_with(*replies, policy=AT_ONCE, store=store)
    await rig.conversation.send("Look.")
    await store.gate_reached.wait()
    answers = len(rig.events(AssistantSpoke))
    await rig.wait_until(lambda: len(rig.tools.executed_calls) == answers)
    assert len(rig.events(ToolAnswered)) == answers - 1
    store.gate.set()
    await rig.wait_until_idle()
    assert len(rig.events(ToolAnswered)) == len(replies) - 1


async def test_the_text_of_a_file_stays_while_it_is_edited() -> None:
    """The next edit begins with it, whether the output says already that this one was made or not."""
    read = tool_call_reply(("read_file", {"path": "src/a.py", "text": "a", "times": 200}), id_prefix="r")
    edit = tool_call_reply(("edit_file", {"path": "src/a.py", "old_text": "a", "new_text": "b"}))

    async def sweeps(*replies: ScriptedReply) -> list[SweepMade]:
        rig, _ = await begin_with(*replies, text_reply("Done."), policy=AT_ONCE)
        await rig.conversation.run("Look.")
        return rig.events(SweepMade)

    assert len(await sweeps(read, say(1), say(2))) == 1
    assert await sweeps(read, say(1), edit) == []


async def test_a_cache_that_goes_cold_while_a_tool_runs_makes_the_request_look_again() -> None:
    """What was not worth a rewrite when the answer came is worth it now."""
    replies = [*map(say, range(4)), WAIT, text_reply("Done.")]
    rig, _ = await begin_with(*replies, policy=BATCHES)
    await rig.conversation.send("Look.")
    await rig.tools.started.wait()
    assert rig.events(SweepMade) == []
    rig.clock.advance_s(10_000)
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert [sweep.reason for sweep in rig.events(SweepMade)] == [SweepReason.COLD]


async def test_rewrites_that_are_on_hold_no_more_come_before_the_next_request() -> None:
    """The user ends the hold while a tool runs, for which none were made."""
    replies = [*map(say, range(4)), WAIT, text_reply("Done.")]
    rig, _ = await begin_with(*replies, policy=AT_ONCE)
    await rig.conversation.hold(True)
    await rig.conversation.send("Look.")
    await rig.tools.started.wait()
    await rig.conversation.hold(False)
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert [sweep.reason for sweep in rig.events(SweepMade)] == [SweepReason.BATCH]


async def test_observations_that_are_ready_while_a_tool_runs_are_placed_with_the_next_request() -> None:
    """They came after what was due then."""
    observed = asyncio.Event()
    observing = ScriptedModel(
        thinking_turn_script(), observation_script=lambda _: [observed, *text_reply(OBSERVATIONS)]
    )
    rig = AgentRig(observing, PLACE_AT_ONCE)
    await rig.begin()
    for _ in range(4):
        await rig.conversation.run("Think. Never touch main.")
    rig.model.script = replies_in_order(WAIT, text_reply("Done."))
    await rig.conversation.send("Wait.")
    await rig.tools.started.wait()
    observed.set()
    await rig.wait_until(lambda: rig.events(ObservationsMade))
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert [placed.reason for placed in rig.events(ObservationsPlaced)] == [PlacementReason.IMMEDIATE]


@pytest.mark.expect_errors("task record")
async def test_what_the_store_refused_is_made_before_the_next_request() -> None:
    """A failure then ends no turn."""

    class RefusesOneSweep(GatedStore):
        refused = 0

        async def commit(self, commit: Commit) -> None:
            if not self.refused and any(isinstance(entry.event, SweepMade) for entry in commit.events):
                self.refused += 1
                raise StoreWriteFailed(verbatim("Full."), verbatim("No room."), verbatim("Make room."))
            await super().commit(commit)

    store = RefusesOneSweep()
    rig, _ = await begin_with(*map(say, range(4)), text_reply("Done."), policy=AT_ONCE, store=store)
    assert (await rig.conversation.run("Look.")).how == "done"
    assert store.refused == 1
    log = rig.conversation.session.log
    first = next(number for number, entry in enumerate(log) if isinstance(entry.event, SweepMade))
    assert isinstance(log[first - 1].event, ToolAnswered)


async def test_a_stop_does_not_wait_for_those_that_hang() -> None:
    """They are made again before the next request."""

    class HangingCounter(WordCounter):
        async def count(self, texts: Sequence[str]) -> list[int]:
            task = asyncio.current_task()
            if task is not None and task.get_name().startswith("rewrites ") and not hanging.is_set():
                hanging.set()
                await asyncio.Event().wait()
            return await super().count(texts)

    class HangingRig(AgentRig):
        counter = HangingCounter()

    hanging = asyncio.Event()
    rig = HangingRig(ScriptedModel(replies_in_order(*map(say, range(6)), text_reply("Done."))), FOLDS)
    await rig.begin()
    await rig.conversation.send("Look.")
    await hanging.wait()
    async with asyncio.timeout(300):
        await rig.conversation.stop()
    assert rig.events(TurnEnded) == [TurnEnded("stopped")]
    await rig.assert_consistent()
    assert (await rig.conversation.run("Go on.")).how == "done"
    assert rig.events(FoldMade)


async def test_a_stop_while_they_are_made_leaves_nothing_behind() -> None:
    """They are recorded before the turn's end."""
    store = GatedStore()
    store.gated_event_types = (SweepMade,)
    rig, _ = await begin_with(*map(say, range(6)), policy=AT_ONCE, store=store)
    await rig.conversation.send("Look.")
    await store.gate_reached.wait()

    async def end_write() -> None:
        await asyncio.sleep(0)
        store.gate.set()

    await asyncio.gather(rig.conversation.stop(), end_write())
    assert len(rig.events(SweepMade)) == 1
