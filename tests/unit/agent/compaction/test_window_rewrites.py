"""Rewrites of the window: what is due, also while tools run, and what makes a request fit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from helix_desktop.agent.compaction.context_compaction import OverflowSteps
from helix_desktop.agent.compaction.handover_writer import HandoverWriter
from helix_desktop.agent.compaction.rewriter import NoteTokens, WindowRewriter
from helix_desktop.agent.session import ErrorRaised
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.context.rewrites import caching
from helix_desktop.context.rewrites.compaction_due import CompactionOutlook
from helix_desktop.context.rewrites.step_notes import render_fold_note
from helix_desktop.context.summaries.index_entry import build_index_entry
from helix_desktop.context.window.window import UNSHOWN_NOTE
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import (
    ContextWindowExceeded,
    HelixError,
    ModelRequestRejected,
    StoreWriteFailed,
)
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    HandoverTrigger,
    PlacementReason,
    SweepMade,
    SweepReason,
)
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.store import Commit
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.token_counters import MessageTokenCounter
from tests.support.agent_rig import WITHOUT_CHECKPOINTS, AgentRig, GatedStore, begin_with
from tests.support.compaction_rig import (
    MANUAL_ONLY,
    NO_SWEEP,
    PLACE_AT_ONCE,
    rig_after_turns,
    run_turns,
    thinking_turn_script,
    working,
)
from tests.support.histories import build_history
from tests.support.image_bytes import png
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


async def test_the_index_of_a_fold_is_stored_with_its_tokens_and_is_the_same_after_a_restart() -> None:
    """Recalling it has a price, and the cache names it: an estimate, and marked as one.

    Its lines are made when the messages come; in a session that was opened again there are none yet.
    """
    first, second = ({"text": f"word{n}", "times": 200} for n in range(2))
    tool_calls = [tool_call_reply(("say", first), ("say", second), id_prefix=f"s{n}") for n in range(8)]
    rig, _ = await begin_with(*tool_calls, text_reply("Done."), policy=FOLDING)
    await rig.run_and_wait("Look.")
    rig.clock.advance_s(10_000)
    await rig.run_and_wait("Look again.")
    log = rig.conversation.session.log
    folds = [(record.seq, record.event) for record in log if isinstance(record.event, FoldMade)]
    assert folds
    for seq, fold in folds:
        text, entries = build_index_entry(Transcript(log[: seq - 1]), fold.after, fold.upto)
        assert text.count("word0") > 1
        assert (text.encode(), entries) == (await rig.store.get(fold.index), fold.index_entries)
        entry = await rig.store.entry(fold.index)
        (counted,) = await token_counter().count([text])
        assert 0.6 * counted < entry.tokens < 1.6 * counted
        assert entry.is_estimated


async def test_the_parts_of_a_request_are_counted_once_until_it_changes() -> None:
    rig, conversation = await begin_with(text_reply("Done."), text_reply("Again."), policy=FOLDING)
    await rig.run_and_wait("Look.")
    parts = conversation.window.items()
    assert conversation.window.items() is parts
    await rig.run_and_wait("Look again.")
    assert {part.seq for part in conversation.window.items()} > {part.seq for part in parts}


EAGER = msgspec.structs.replace(
    WITHOUT_CHECKPOINTS, observe_at=0.0, handover_cooldown_s=0, handover_least_messages=2
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
    first_failing_write = rig.store.first_failing_write
    rig.store.first_failing_write = 0
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
    counter = _AskedCounter()
    items = build_history(20).transcript.messages.items
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
    counter = _AskedCounter()
    items = build_history(3).transcript.messages.items
    counter.is_damaged = True
    tokens = NoteTokens(counter)
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
    gone = {item.seq for item in outputs if not transcript.window.shows(item.seq)} | transcript.window.swept
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
    checkpoint_tokens=0,
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


INFO = ModelInfo("test", "scripted", window=2_000, reserve=100)
VISION_MODEL = msgspec.structs.replace(INFO, images=True)
# Nothing acts before these steps: no sweep pays, no handover is due, no output is gated.
STILL = msgspec.structs.replace(
    PROFILES["classic"],
    checkpoint_tokens=0,
    sweep_fixed=10_000_000,
    handover_cooldown_s=100_000,
    intake_above=0,
    preview_above=0.8,
    least_saving=5,
)


def wide_step(word_count: int, key: str, calls: int = 1) -> ScriptedReply:
    return tool_call_reply(
        *(("say", {"text": f"word{n}", "times": word_count // 2}) for n in range(calls)), id_prefix=key
    )


def rig_of(*replies: ScriptedReply, policy: ContextPolicy = STILL, info: ModelInfo = INFO) -> AgentRig:
    """Return a conversation with a small window and a policy that waits for the overflow steps."""
    return AgentRig(ScriptedModel(replies_in_order(*replies), info), policy)


async def check_outputs_stored(rig: AgentRig) -> None:
    """Every output of the session is in the store, byte for byte under its hash."""
    for answer in rig.events(ToolAnswered):
        if answer.digest:
            assert len(await rig.store.get(answer.digest)) == answer.size


async def test_a_batch_that_makes_a_due_compaction_needless_says_so() -> None:
    """Its line said "to save tokens" where the panel had said that it compacts at 85 %."""
    batches = {"protect_steps": 9, "protect_tokens": 6_400, "sweep_fixed": 5_600, "previous_turn_share": 0.0}
    rig = rig_of(
        *(wide_step(440, f"s{n}") for n in range(4)), policy=msgspec.structs.replace(STILL, **batches)
    )
    await rig.run_first("Work.")
    (swept,) = rig.events(SweepMade)
    assert (swept.reason, swept.averted_handover_at) == (SweepReason.BATCH, 0.8)


async def sizes(rig: AgentRig) -> list[int]:
    """Return the tokens of each request that was sent, as the rig counts them."""
    count = WordCounter().count
    return [
        sum(await count([message.text for message in request.messages])) for request in rig.model.requests
    ]


def texts_of(rig: AgentRig) -> str:
    """Return what the newest request says, without the arguments of calls."""
    return "\n".join(message.text for message in rig.model.requests[-1].messages)


async def test_a_call_larger_than_the_context_window_leaves_alone() -> None:
    """What it was given, a file body, is cached; outputs were cached and messages left out to make room."""
    body = "line of the file " * 900
    rig = rig_of(
        wide_step(300, "read"),
        text_reply("The first answer. " * 40),
        tool_call_reply(("say", {"text": "written", "times": 2, "body": body}), id_prefix="write"),
    )
    await rig.run_first("The first question.")
    assert (await rig.conversation.run("Write the file.")).how == "done"
    calls = [it for it in rig.conversation.session.transcript.messages.items if "write0" in str(it.event)]
    (sweep,) = rig.events(SweepMade)
    assert sweep.swept == (calls[0].seq,)
    assert rig.events(FoldMade) == rig.events(HandoverMade) == []
    sent = texts_of(rig)
    assert all(words in sent for words in ("The first question.", "The first answer.", "word0 read0"))
    (short,) = rig.events(AssistantSpoke)[-2].short
    assert body.encode() in [await rig.store.get(digest) for digest in short.digests]


async def test_what_the_newest_step_read_leaves_before_messages_do() -> None:
    """A model would have summarized the conversation to keep three outputs that can be recalled."""
    rig = rig_of(text_reply("An answer. " * 500), wide_step(500, "read", calls=3))
    await rig.run_first("Explain it.")
    assert (await rig.conversation.run("Read all.")).how == "done"
    assert rig.events(FoldMade) == rig.events(HandoverMade) == rig.model.summary_requests == []
    outputs = [message.text for message in rig.model.requests[-1].messages if message.role == "tool"]
    assert ["[CACHED]" in output for output in outputs] == [True, True, False]
    assert [UNSHOWN_NOTE in output for output in outputs] == [True, True, False]
    assert "An answer. An answer." in texts_of(rig)


async def test_the_last_output_leaves_before_messages_are_left_out() -> None:
    """No model could summarize the conversation: its messages were left out, and the output stayed."""
    rig = rig_of(text_reply("An answer. " * 500), text_reply("Go on. " * 300), wide_step(700, "read"))
    rig.model.summary_script = lambda _: [ModelRequestRejected(verbatim("Not today."))]
    await rig.begin()
    for words in ("Explain it.", "Go on."):
        await rig.conversation.run(words)
    assert (await rig.conversation.run("Read it.")).how == "done"
    assert [fold for fold in rig.events(FoldMade) if fold.how == "truncate"] == []
    assert "[CACHED]" in texts_of(rig)
    assert "An answer. An answer." in texts_of(rig)


async def test_a_cut_that_no_model_was_asked_about_is_no_fallback_and_leaves_what_the_user_said() -> None:
    """A summary would have freed too little, so none was asked for, and nothing failed.

    The newest messages are whole, as far as there is room; of older ones the user's own words stay.
    """
    rig = rig_of(*(text_reply(f"answer {n} " + "because it is so " * 60) for n in range(9)))
    await rig.begin()
    for number in range(9):
        await rig.conversation.run(f"Question {number} about part{number}?")
    cuts = rig.events(FoldMade)
    assert {cut.how for cut in cuts} == {"truncate"}
    text = texts_of(rig)
    assert all(f"Question {number} about part{number}?" in text for number in range(9))
    assert ("answer 0" in text, "answer 7" in text) == (False, True)
    assert rig.model.summary_requests == []
    assert cuts
    assert {cut.fallback for cut in cuts} == {""}


async def test_a_cut_says_why_no_model_summarized_what_it_leaves_out() -> None:
    """Each says it, as the summary without a model before it does."""
    rig = rig_of(*(text_reply(f"answer {n} " + "because it is so " * 40) for n in range(6)))
    await rig.begin()
    for number in range(6):
        await rig.conversation.run(f"Question {number}?")
    session = rig.conversation.session
    rewriter = WindowRewriter(session)
    await OverflowSteps(session, rewriter, HandoverWriter(session, rewriter)).finish(
        500, 500, verbatim("Not today.")
    )
    cuts = [event for event in rig.events(FoldMade) if event.how == "truncate"]
    assert {event.fallback for event in [*rig.events(HandoverMade), *cuts]} == {"Not today."}
    assert cuts


async def test_images_become_text_and_hash() -> None:
    """When images fill the window: all but those of the newest message become text and hash, undoably."""
    rig = rig_of(text_reply("A lamp."), text_reply("Another."), info=VISION_MODEL)
    await rig.begin()
    session_id = rig.conversation.session.id
    shots = [png(700, 700, n) for n in range(3)]
    attached = [
        await rig.workspace.contents.attach_data(session_id, data, f"shot {n}.png")
        for n, data in enumerate(shots)
    ]
    await rig.conversation.run("What are these?", attached[:2])
    assert rig.events(SweepMade) == []
    await rig.conversation.run("And this?", attached[2:])

    (sweep,) = rig.events(SweepMade)
    first, second = rig.model.requests
    assert sweep.reason is SweepReason.OVERFLOW
    assert [list(request.image_data.values()) for request in (first, second)] == [shots[:2], shots[2:]]
    older = second.messages[1]
    assert all(image.image and image.image.marker in older.text for image in attached[:2])
    assert [image.digest for image in second.messages[-1].images] == [attached[2].digest]
    for attachment, data in zip(attached, shots, strict=True):
        assert await rig.store.get(attachment.digest) == data
    before = rig.conversation.window.measure()[0].estimate
    await rig.conversation.window.undo(
        next(recorded.seq for recorded in rig.conversation.session.log if recorded.event is sweep)
    )
    assert rig.conversation.window.measure()[0].estimate == before + sweep.saved


async def test_a_single_message_with_too_many_images() -> None:
    """The last step takes those of the newest message too: the agent gets their names and hashes."""
    rig = rig_of(text_reply("Too many."), info=VISION_MODEL)
    await rig.begin()
    session_id = rig.conversation.session.id
    attached = [
        await rig.workspace.contents.attach_data(session_id, png(700, 700, n), f"{n}.png") for n in range(4)
    ]
    await rig.conversation.run("What are these?", attached)
    (request,) = rig.model.requests
    assert request.image_data == {}
    assert all(image.image and image.image.marker in request.messages[-1].text for image in attached)


@pytest.mark.parametrize(
    ("requested_tokens", "window"), [(0, 400), (4_000, 800)], ids=["its window", "both counts"]
)
async def test_the_provider_reports_its_limit(requested_tokens: int, window: int) -> None:
    """Its window is a fraction of our figure: space is made for that at once, in its tokens or ours."""
    overflow = ContextWindowExceeded(
        verbatim("Too long."), request_tokens=requested_tokens, window_size=window
    )
    rig = rig_of(
        *(wide_step(150, f"s{n}") for n in range(6)), [overflow], text_reply("It fits."), policy=STILL
    )
    await rig.begin()
    assert (await rig.conversation.run("Work.")).how == "done"
    refused, again = (
        "".join(message.text for message in sent.messages).split() for sent in rig.model.requests[-2:]
    )
    fits = window * len(refused) / requested_tokens if requested_tokens else window
    assert len(again) <= fits < len(refused) * 0.7
    await check_outputs_stored(rig)


async def test_the_provider_reports_an_overflow_twice() -> None:
    """The second refusal is reported; there is no loop of retries."""
    overflow = ContextWindowExceeded(
        verbatim("Too long."), verbatim("The server counts otherwise."), verbatim("Set the window's size.")
    )
    rig = rig_of(*(wide_step(300, f"s{n}") for n in range(4)), [overflow], [overflow])
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert (ended.how, ended.what) == ("failed", "Too long.")
    assert len(rig.model.requests) == 6


async def test_what_left_for_a_request_that_is_refused_again_comes_back() -> None:
    """The model has seen nothing without it: the window is as it was, and the log says what was undone."""
    overflow = ContextWindowExceeded(verbatim("Too long."), window_size=300)
    texts = [text_reply(f"answer {n} " + "because it is so " * 40) for n in range(4)]
    rig = rig_of(*texts, [overflow], [overflow], text_reply("It fits."))
    await rig.begin()
    for number in range(4):
        await rig.conversation.run(f"Question {number}?")
    assert (await rig.conversation.run("And now?")).how == "failed"
    refused, smaller = (
        "".join(message.text for message in sent.messages) for sent in rig.model.requests[-2:]
    )
    assert len(smaller) < len(refused) / 2
    assert rig.events(FoldMade)
    await rig.conversation.run("Again?")
    assert refused in "".join(message.text for message in rig.model.requests[-1].messages)


async def test_what_the_user_brought_back_leaves_last_and_is_counted() -> None:
    """It was the oldest, so it left first again, without a word that the user had undone that."""
    rig = rig_of(*(wide_step(400, f"s{n}") for n in range(5)), *(text_reply("Done.") for _ in range(4)))
    await rig.run_first("Work.")
    transcript = rig.conversation.session.transcript
    (seq, swept), *_ = transcript.rewrites.sweeps.items()
    await rig.conversation.window.undo(seq)
    await rig.conversation.run("Go on.")
    _, again = rig.events(SweepMade)
    assert again.swept
    assert not set(again.swept) & set(swept.swept)
    assert not transcript.retaken
    await rig.conversation.run("word " * 1_400)
    assert set(swept.swept) <= transcript.window.swept
    assert sum(transcript.retaken.values()) == len(swept.swept)


async def test_images_that_the_user_brought_back_leave_after_others() -> None:
    """They were the oldest, so they left first again."""
    rig = rig_of(*(text_reply("A lamp.") for _ in range(3)), info=VISION_MODEL)
    await rig.begin()
    session = rig.conversation.session
    for number in range(2):
        image = await rig.workspace.contents.attach_data(session.id, png(700, 700, number), f"{number}.png")
        await rig.conversation.run("What is this?", [image])
    restored, other = rig.seqs(UserSpoke)
    await rig.conversation.window.cache_now(restored)
    await rig.conversation.window.undo(*rig.seqs(SweepMade))
    assert session.transcript.restored == {restored}
    await rig.conversation.run("word " * 700)
    assert session.transcript.window.swept == {other}


async def test_a_message_that_fits_no_request_is_cut_by_itself() -> None:
    """Its beginning and end are sent; all of it is stored under the SHA-256 that stands between them."""
    rig = rig_of(text_reply("Done."))
    await rig.begin()
    text = "".join(f"enormous{number} " for number in range(5_000))
    assert (await rig.conversation.run(text)).how == "done"
    digest = digest_of(text.encode())
    (request,) = rig.model.requests
    sent = request.messages[-1].text
    assert sent.startswith("enormous0 ")
    assert sent.endswith("enormous4999 ")
    assert digest[:12] in sent
    assert len(sent) < len(text) // 4
    assert await rig.store.get(digest) == text.encode()
    assert rig.events(UserSpoke)[0].text == text


async def test_off_disables_everything() -> None:
    """With the profile off no request is changed, not even then: the overflow is reported."""
    rig = rig_of(*(wide_step(500, f"s{n}") for n in range(6)), policy=PROFILES["off"])
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert ended.how == "failed"
    assert "off" in ended.fix
    assert ended.remedies == ("policy_settings",)
    assert rig.events(SweepMade) == []
    assert rig.events(HandoverMade) == []


async def test_truncation_can_be_undone() -> None:
    """It keeps pins, and the first and newest message of the user; undone, everything is back."""
    replies = [text_reply(f"answer {n} " + "because it is so " * 60) for n in range(9)]
    rig = rig_of(wide_step(40, "pin"), text_reply("Read."), *replies)
    await rig.run_first("The first words.")
    await rig.conversation.window.pin(rig.seqs(ToolAnswered)[0])
    for number in range(9):
        await rig.conversation.run(f"Question {number}?")
    fold_seqs = rig.seqs(FoldMade)
    assert fold_seqs
    truncated = rig.conversation.window.measure()[0].request.messages
    text = "\n".join(message.text for message in truncated)
    assert all(
        excerpt in text for excerpt in ("The first words.", "Question 8?", "[Pinned output", "left out")
    )
    for seq in reversed(fold_seqs):
        await rig.conversation.window.undo(seq)
    restored = rig.conversation.window.measure()[0].request.messages
    assert [message.text for message in restored if message.role == "user"][-1] == "Question 8?"
    assert sum("because it is so" in message.text for message in restored) == 9
    assert len(truncated) < len(restored)


@pytest.mark.parametrize("window", [600, 1_000, 3_000])
async def test_windows_of_any_size(window: int) -> None:
    """The same work succeeds, or is refused clearly; the log stays valid."""
    rig = rig_of(
        *(wide_step(200, f"s{n}", calls=2) for n in range(6)),
        info=msgspec.structs.replace(INFO, window=window),
    )
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert ended.how == "done" or "doesn't fit the context window" in ended.what
    assert all(used <= window for used in await sizes(rig))
    await check_outputs_stored(rig)
