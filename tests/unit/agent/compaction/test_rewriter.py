"""The window rewriter: notes, what is on hold, and what is made while tools run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from helix_desktop.agent.compaction.rewriter import NoteTokens
from helix_desktop.agent.session import ErrorRaised
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.rewrites import caching
from helix_desktop.context.rewrites.compaction_due import CompactionOutlook
from helix_desktop.context.rewrites.step_notes import render_fold_note
from helix_desktop.context.summaries.index_entry import build_index_entry
from helix_desktop.domain.errors import HelixError, StoreWriteFailed
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    HandoverTrigger,
    PlacementReason,
    SweepMade,
    SweepReason,
)
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced
from helix_desktop.domain.store import Commit
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.token_counters import MessageTokenCounter
from tests.support.agent_rig import AgentRig, GatedStore, begin_with
from tests.support.handover_rig import MANUAL_ONLY, NO_SWEEP, working
from tests.support.histories import build_history
from tests.support.observation_rig import PLACE_AT_ONCE, rig_after_turns, run_turns, thinking_turn_script
from tests.support.peer_rig import token_counter
from tests.support.scripted_model import (
    OBSERVATIONS,
    ScriptedModel,
    ScriptedReply,
    WordCounter,
    replies_in_order,
    text_reply,
    thinking_script,
    tool_call_reply,
)

FOLDING = msgspec.structs.replace(
    PROFILES["classic"], protect_steps=2, protect_tokens=0, fold_after_steps=2, fold_least=0, sweep_min=0
)


async def test_the_index_of_a_fold_is_stored_with_its_tokens() -> None:
    """Recalling it has a price, and the cache names it: an estimate, and marked as one."""
    tool_calls = [
        tool_call_reply(("say", {"text": f"word{n}", "times": 200}), id_prefix=f"s{n}") for n in range(8)
    ]
    rig, _ = await begin_with(*tool_calls, text_reply("Done."), policy=FOLDING)
    await rig.conversation.run("Look.")
    rig.clock.advance_s(10_000)
    await rig.conversation.run("Look again.")
    folds = rig.events(FoldMade)
    assert folds
    for fold in folds:
        text = (await rig.store.get(fold.index)).decode()
        entry = await rig.store.entry(fold.index)
        (counted,) = await token_counter().count([text])
        assert 0.6 * counted < entry.tokens < 1.6 * counted
        assert entry.is_estimated


async def test_the_index_of_a_fold_is_the_same_before_and_after_a_restart() -> None:
    """Its lines are made when the messages come; in a session that was opened again there are none yet."""
    first, second = ({"text": f"word{n}", "times": 200} for n in range(2))
    tool_calls = [tool_call_reply(("say", first), ("say", second), id_prefix=f"s{n}") for n in range(8)]
    rig, _ = await begin_with(*tool_calls, text_reply("Done."), policy=FOLDING)
    await rig.conversation.run("Look.")
    rig.clock.advance_s(10_000)
    await rig.conversation.run("Look again.")
    log = rig.conversation.session.log
    (fold, *_) = ((record.seq, record.event) for record in log if isinstance(record.event, FoldMade))
    before = Transcript(log[: fold[0] - 1])
    text, entries = build_index_entry(before, fold[1].after, fold[1].upto)
    assert text.count("word0") > 1
    assert (text.encode(), entries) == (await rig.store.get(fold[1].index), fold[1].index_entries)


EAGER = msgspec.structs.replace(
    PROFILES["balanced"], observe_at=0.0, handover_cooldown_s=0, handover_least_messages=2
)


async def test_an_undone_handover_comes_again_only_without_hold() -> None:
    """Held across a restart; what does not fit any more makes room all the same; let go, it is compacted."""
    rig, conversation = await begin_with(script=thinking_script(12), policy=EAGER)
    await rig.run_and_wait("Think.")
    (seq,) = conversation.session.transcript.rewrites.handovers
    await conversation.hold(True)
    await conversation.hold(True)
    await conversation.window.undo(seq)
    assert conversation.window.measure()[1].is_due
    window = conversation.window.measure()[0]
    reopened = await rig.create_workspace(rig.store, EAGER).open_session(conversation.session.id)
    assert reopened.session.transcript.on_hold
    rig.switch_to(reopened)
    await reopened.run("And now?")
    await rig.wait_until_idle()
    assert (
        reopened.window.measure()[0].request.messages[: len(window.request.messages)]
        == window.request.messages
    )
    assert len(rig.events(HandoverMade)) == 1
    assert await reopened.window.read_outlook() == CompactionOutlook("hold")

    await reopened.run("words " * 300)
    assert [handover.trigger for handover in rig.events(HandoverMade)[1:]] == [HandoverTrigger.OVERFLOW]
    assert reopened.session.transcript.on_hold

    await reopened.hold(False)
    for _ in range(3):
        await reopened.run("words " * 2_000)
        await rig.wait_until_idle()
    assert rig.events(HandoverMade)[2].trigger is HandoverTrigger.THRESHOLD
    assert rig.events(HoldSet) == [HoldSet(), HoldSet(on=False)]


@pytest.mark.expect_errors("task record .* failed")
async def test_a_turn_that_could_not_be_recorded_starts_no_work_on_the_window() -> None:
    """What is due waits for a turn that is: the request would be paid for, and its result lost."""
    rig = await rig_after_turns(0)
    await rig.conversation.hold(True)
    await run_turns(rig, 4)
    await rig.conversation.hold(False)
    first_failing_write, rig.store.first_failing_write = rig.store.first_failing_write, 0
    await rig.run_and_wait("And now?")
    assert len(rig.updates_of(ErrorRaised)) == 1
    assert not rig.model.observation_requests
    rig.store.first_failing_write = first_failing_write
    await run_turns(rig, 1)
    assert rig.model.observation_requests


async def test_the_last_answer_stays_verbatim_in_the_turn_that_edits_it() -> None:
    """The handover inside the running turn quotes it, also where the context is full when it starts."""
    answer = "The second paragraph stands here word for word, as it was written in the turn before."
    for script, policy in ((working(19, 380), NO_SWEEP), (thinking_script(18), MANUAL_ONLY)):
        rig, conversation = await begin_with(text_reply(answer), policy=policy)
        await conversation.run("Write two paragraphs. Never touch main.")
        rig.model.script = script
        await rig.run_and_wait("Edit the second paragraph.")
        (handover, *_) = rig.events(HandoverMade)
        is_panic = handover.trigger is HandoverTrigger.OVERFLOW
        assert is_panic == (policy is MANUAL_ONLY)
        window = rig.conversation.window.measure()[0].request
        assert f"e4 agent: {answer}" in window.messages[1].text
        assert handover.words == (4,)
        assert handover.handle_digits == NO_SWEEP.handle_digits
        await rig.assert_consistent()


class _AskedCounter:
    """The bundled vocabulary, with the characters that it was asked for; fails while `is_damaged`."""

    def __init__(self) -> None:
        self._counter = MessageTokenCounter.bundled()
        self.chars = 0
        self.is_damaged = False

    async def count(self, texts: Sequence[str]) -> list[int]:
        if self.is_damaged:
            raise HelixError(verbatim("The vocabulary is damaged."))
        self.chars += sum(map(len, texts))
        return await self._counter.count(texts)


async def test_a_note_is_counted_from_its_messages() -> None:
    counter, items = _AskedCounter(), build_history(20).transcript.messages.items
    tokens = NoteTokens(counter)
    await tokens.read_ahead(items)
    counter.chars = 0
    note = render_fold_note(items, "b" * 64, 20)
    assert await tokens.count(note) == MessageTokenCounter.bundled().text_tokens(note)
    assert counter.chars < len(note) / 3
    counter.chars = 0
    long = note * (50_000 // len(note) + 1)
    assert await tokens.count(long) == MessageTokenCounter.bundled().text_tokens(long)
    assert counter.chars < len(note)


async def test_a_counter_that_fails_fails_where_the_tokens_are_needed() -> None:
    counter, items = _AskedCounter(), build_history(3).transcript.messages.items
    counter.is_damaged, tokens = True, NoteTokens(counter)
    await tokens.read_ahead(items)
    counter.is_damaged = False
    assert await tokens.count("a note") == 2


@pytest.mark.parametrize(("fold_after", "rewrite"), [(2, FoldMade), (0, SweepMade)])
async def test_outputs_of_a_tool_that_is_never_cached_stay_until_a_handover(
    fold_after: int, rewrite: type[FoldMade] | type[SweepMade]
) -> None:
    """Neither a note nor a marker replaces them; those of other tools leave as before."""
    policy = msgspec.structs.replace(
        FOLDING, fold_after_steps=fold_after, sweep="at once", least_saving=1, never_cache=("read",)
    )
    calls = [
        tool_call_reply((("say", "read")[n % 2], {"text": f"word{n}", "times": 200}), id_prefix=f"s{n}")
        for n in range(12)
    ]
    rig, conversation = await begin_with(*calls, *[text_reply("Done.")] * 3, policy=policy)
    await rig.say("Look.", "Look again.")
    rig.clock.advance_s(10_000)
    await conversation.run("And again.")
    transcript = conversation.session.transcript
    outputs = [item for item in transcript.messages.items if isinstance(item.event, ToolAnswered)]
    gone = {item.seq for item in outputs if not transcript.window.shows(item.seq)} | transcript.window.masked
    named = {item.seq: item.event.name for item in outputs if isinstance(item.event, ToolAnswered)}
    never = [seq for seq, name in named.items() if name == "read"]
    assert len(never) == 6
    assert gone == named.keys() - set(never)
    assert rig.events(rewrite)
    assert caching.closed_candidates(transcript, policy, 0) == [], "nor where room is made at once"
    conversation.handovers.start()
    await rig.wait_until_idle()
    assert not any(map(transcript.window.shows, never[:4])), "the user compacted them"


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
    await rig.send_first("Look.")
    await hanging.wait()
    async with asyncio.timeout(300):
        await rig.conversation.stop()
    assert rig.events(TurnEnded) == [TurnEnded("stopped")]
    await rig.assert_consistent()
    assert (await rig.conversation.run("Go on.")).how == "done"
    assert rig.events(FoldMade)
