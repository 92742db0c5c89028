"""Checkpoints: written beside the turns, shown in no request, and what the next handover begins with."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.session import CompactionProgress, ErrorRaised, PreparationProgress
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.errors import CompactionRefused, ModelUnreachable
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import (
    Bullet,
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    HandoverPrepared,
)
from helix_desktop.domain.messages import ModelInfo, ModelRequest, ModelResponse, TextDelta, Usage
from helix_desktop.domain.store import Commit
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.handover.versions import ChooseVersion, edit_refusal, recorded_versions, version_before
from helix_desktop.words.summaries import handover_titles
from tests.support.agent_rig import AgentRig, GatedStore
from tests.support.scripted_model import (
    SUMMARY,
    Script,
    ScriptedModel,
    ScriptedReply,
    text_reply,
    tool_call_reply,
)

EVERY_2000 = msgspec.structs.replace(PROFILES["balanced"], checkpoint_tokens=2_000)
WIDE = ModelInfo("test", "scripted", window=128_000, reserve=400)


def thinking_turns(calls: int = 1, words: int = 520) -> Script:
    """Return a model that makes so many calls a turn, thinking aloud, and then says `Done.`"""

    def play(request: ModelRequest) -> ScriptedReply:
        newest = max(n for n, message in enumerate(request.messages) if message.role == "user")
        made = sum(message.role == "assistant" for message in request.messages[newest:])
        if made == calls:
            return text_reply("Done.")
        say = ("say", {"times": 40})
        return tool_call_reply(say, text="word " * words, id_prefix=f"w{len(request.messages)}-")

    return play


async def rig_with(
    policy: ContextPolicy = EVERY_2000,
    script: Script | None = None,
    summary: Script | None = None,
    info: ModelInfo = WIDE,
    is_unattended: bool = False,
) -> AgentRig:
    model = ScriptedModel(script or thinking_turns(), info, summary_script=summary)
    rig = AgentRig(model, policy, approver=FixedApprover("once") if is_unattended else None)
    await rig.begin()
    return rig


async def run_turns(rig: AgentRig, count: int, text: str = "Think. Never touch main.") -> None:
    for _ in range(count):
        assert (await rig.conversation.run(text)).how == "done"
        await rig.wait_until_idle()
        await rig.conversation.checkpoints.wait()
        rig.clock.advance_s(61)


def checkpoints(rig: AgentRig) -> dict[int, HandoverPrepared]:
    return rig.conversation.session.transcript.checkpoints


def next_request(rig: AgentRig) -> ModelRequest:
    return rig.conversation.window.measure()[0].request


async def test_enough_history_brings_a_checkpoint_that_changes_no_request() -> None:
    gate = asyncio.Event()
    rig = await rig_with(summary=lambda _: [gate, *text_reply(SUMMARY)])
    await run_turns(rig, 3)
    assert not checkpoints(rig)
    assert (await rig.conversation.run("And now?")).how == "done"
    before = next_request(rig)
    gate.set()
    await rig.conversation.checkpoints.wait()
    assert next_request(rig) == before
    ((seq, prepared),) = checkpoints(rig).items()
    assert 0 < prepared.handover.upto < seq
    assert prepared.history >= EVERY_2000.checkpoint_tokens
    assert prepared.handover.sections[0].title == "Project Background"
    assert prepared.handover.index == ""
    assert rig.events(HandoverMade) == []


async def test_the_next_one_updates_it_and_reads_only_what_came_since() -> None:
    """Both can be compared; only the newest one can be edited."""
    rig = await rig_with()
    await run_turns(rig, 4, text="The first part.")
    await run_turns(rig, 4, text="The second part.")
    before, after = (request.messages[-1].text for request in rig.model.summary_requests)
    assert "The former handover, to be updated" not in before
    assert "The former handover, to be updated" in after
    assert "e3 user: The first part." in before
    assert "e3 user: The first part." not in after
    assert "user: The second part." in after
    (first, _), (second, updated) = checkpoints(rig).items()
    assert updated.handover.checkpoint == first
    transcript = rig.conversation.session.transcript
    log = rig.conversation.session.log
    versions = recorded_versions(transcript, log, is_managed=True)
    assert [(version.seq, version.state) for version in versions] == [
        (second, "Not in context yet"), (first, ""),
    ]  # fmt: skip
    (version,) = recorded_versions(transcript, log[: second - 1], is_managed=True)
    assert version.seq == first
    assert version_before(transcript, second) == first
    assert edit_refusal(transcript, second) is None
    refusal = edit_refusal(transcript, first)
    assert refusal is not None
    assert refusal.intent == ChooseVersion(second)


def parallel_calls(request: ModelRequest) -> ScriptedReply:
    """Read twice what makes 2,000 tokens together, beside a call that waits; then say `Done.`"""
    if request.messages[-1].role == "tool":
        return text_reply("Done.")
    read = ("say", {"times": 550, "target": "a.txt"})
    return tool_call_reply(read, read, ("wait", {}), id_prefix=f"p{len(request.messages)}-")


async def test_one_is_begun_between_two_results_of_a_step() -> None:
    """It covers the results so far, while a call still runs, and the next one reads what came after them."""
    rig = await rig_with(script=parallel_calls)
    await rig.conversation.send("Read.")
    await rig.wait_until(lambda: checkpoints(rig))
    transcript = rig.conversation.session.transcript
    assert list(transcript.open_calls) == ["p2-2"]
    ((seq, prepared),) = checkpoints(rig).items()
    newest = transcript.messages.items[-1]
    assert prepared.handover.upto == newest.seq < seq
    assert isinstance(newest.event, ToolAnswered)
    assert newest.event.call_id == "p2-1"
    assert prepared.history == transcript.messages.full_total_tokens
    (first,) = rig.model.summary_requests
    assert first.messages[-1].text.count(" tool say a.txt") == 2
    rig.tools.gate.set()
    await rig.wait_until_idle()
    rig.clock.advance_s(61)
    rig.model.script = thinking_turns()
    await run_turns(rig, 4)
    second = rig.model.summary_requests[1].messages[-1].text
    assert second.count(" tool wait") == 1
    assert " tool say a.txt" not in second


async def test_a_step_brings_none_before_its_first_result() -> None:
    """What its answer says counts, but a record that ends with a call would say nothing of its result."""
    rig = await rig_with(script=lambda _: tool_call_reply(("wait", {}), text="word " * 2_100))
    await rig.conversation.send("Think.")
    await rig.tools.started.wait()
    rig.conversation.checkpoints.start_due()
    await rig.conversation.checkpoints.wait()
    assert rig.model.summary_requests == []
    await rig.conversation.close()


async def test_an_unattended_run_writes_none() -> None:
    """Nobody could use it: not within a turn, and not after it."""
    rig = await rig_with(script=thinking_turns(5), is_unattended=True)
    await run_turns(rig, 4)
    assert rig.model.summary_requests == []
    assert rig.conversation.session.transcript.messages.full_total_tokens > EVERY_2000.checkpoint_tokens


async def test_opening_a_session_asks_no_model() -> None:
    """What was due when it closed waits for the next turn, however long the session is looked at."""
    gate = asyncio.Event()
    rig = await rig_with(summary=lambda _: [gate, *text_reply(SUMMARY)])
    for _ in range(4):
        await rig.conversation.run("Think.")
    await rig.wait_until(lambda: len(rig.model.summary_requests) == 1)
    await rig.conversation.close()
    assert not checkpoints(rig)
    gate.set()
    reopened = rig.create_workspace(rig.store, EVERY_2000)
    conversation = await reopened.open_session(rig.conversation.session.id)
    rig.switch_to(conversation)
    rig.clock.advance_s(3_600)
    await rig.wait_until_idle()
    await conversation.checkpoints.wait()
    assert len(rig.model.summary_requests) == 1
    assert not checkpoints(rig)
    await run_turns(rig, 1)
    assert len(checkpoints(rig)) == 1
    await reopened.close()


async def test_opening_a_session_that_a_crash_cut_off_asks_no_model() -> None:
    """Its open calls get their answers then, one after the other: no step of this process runs."""
    rig = await rig_with(script=parallel_calls, policy=PROFILES["balanced"])
    await rig.conversation.send("Read.")
    session = rig.conversation.session
    await rig.wait_until(lambda: len(session.transcript.open_calls) == 1)
    log = list(session.log)
    cut = next(n for n, entry in enumerate(log) if isinstance(entry.event, ToolAnswered))
    rig.tools.gate.set()
    await rig.wait_until_idle()
    store = GatedStore()
    await store.commit(Commit(session.id, log[:cut]))
    reopened = rig.create_workspace(store, msgspec.structs.replace(EVERY_2000, checkpoint_tokens=1))
    conversation = await reopened.open_session(session.id)
    await conversation.checkpoints.wait()
    results = [entry for entry in conversation.session.log if isinstance(entry.event, ToolAnswered)]
    assert len(results) == 3
    assert rig.model.summary_requests == []
    await reopened.close()


async def test_none_is_paid_for_that_could_not_be_recorded() -> None:
    """As where another process writes the session that is only shown here: nothing is said either."""
    rig = await rig_with(script=lambda _: text_reply("word " * 2_100), is_unattended=True)
    await run_turns(rig, 1)
    rig.store.first_failing_write = rig.store.write_count + 1
    conversation = await rig.create_workspace(rig.store, EVERY_2000).open_session(rig.conversation.session.id)
    conversation.checkpoints.start_due()
    await conversation.checkpoints.wait()
    assert rig.model.summary_requests == []
    assert rig.updates_of(ErrorRaised) == []


@pytest.mark.parametrize(
    "policy",
    [
        msgspec.structs.replace(EVERY_2000, checkpoint_tokens=0),
        msgspec.structs.replace(EVERY_2000, enabled=False),
        msgspec.structs.replace(EVERY_2000, prepare_early=False),
        msgspec.structs.replace(EVERY_2000, budget_tokens=4_000),
    ],
    ids=["none", "off", "not early", "budget"],
)
async def test_the_policy_and_the_budget_turn_them_off(policy: ContextPolicy) -> None:
    rig = await rig_with(policy)
    for _ in range(6):
        await rig.conversation.run("Think.")
        await rig.conversation.checkpoints.wait()
        rig.clock.advance_s(61)
    assert rig.model.summary_requests == []


async def test_on_hold_none_is_written() -> None:
    rig = await rig_with()
    await rig.conversation.hold(True)
    await run_turns(rig, 6)
    assert rig.model.summary_requests == []
    await rig.conversation.hold(False)
    await run_turns(rig, 1)
    assert len(checkpoints(rig)) == 1


async def test_the_cooldown_holds_between_two() -> None:
    rig = await rig_with(script=thinking_turns(5))
    for _ in range(3):
        await rig.conversation.run("Think.")
        await rig.conversation.checkpoints.wait()
    assert len(checkpoints(rig)) == 1
    rig.clock.advance_s(60)
    await run_turns(rig, 1)
    assert len(checkpoints(rig)) == 2


REFUSED: ScriptedReply = [TextDelta("No."), ModelResponse("No.", usage=Usage(900, 2))]


def failures(rig: AgentRig) -> list[HandoverDiscarded]:
    return [event for event in rig.events(HandoverDiscarded) if event.failed is not None]


async def test_a_failure_is_recorded_and_paid_for() -> None:
    rig = await rig_with(summary=lambda _: REFUSED)
    await run_turns(rig, 4)
    (event,) = failures(rig)
    assert event.spent == 3 * 902, "it was asked again, saying why"
    assert event.prepared is None
    assert event.failed is not None
    assert event.failed.work == "checkpoint"
    assert event.failed.read > 0
    assert rig.events(HandoverFailed) == []
    assert rig.conversation.session.transcript.handover_failures == 0


async def test_what_a_failed_one_had_read_is_read_again_by_no_process_until_10000_tokens_came() -> None:
    policy = PROFILES["balanced"]
    rig = await rig_with(policy, thinking_turns(words=2_600), lambda _: REFUSED)
    while not failures(rig):
        await run_turns(rig, 1)
    (event,) = failures(rig)
    assert event.failed is not None
    read_upto = event.failed.upto
    requests = len(rig.model.summary_requests)
    rig.model.summary_script = lambda _: text_reply(SUMMARY)
    workspace = rig.create_workspace(rig.store, policy)
    conversation = await workspace.open_session(rig.conversation.session.id)
    rig.switch_to(conversation)
    messages = conversation.session.transcript.messages
    while messages.full_tokens_after(read_upto) < 10_000:
        assert len(rig.model.summary_requests) == requests
        await run_turns(rig, 1)
    await run_turns(rig, 1)
    assert len(rig.model.summary_requests) == requests + 1
    assert len(checkpoints(rig)) == 1
    await workspace.close()


async def test_a_request_that_brought_no_text_counts_as_no_reading() -> None:
    """It is tried again after a pause, without new messages; three times in a row are not the end."""

    def unreachable(_: ModelRequest) -> ScriptedReply:
        return [ModelUnreachable(verbatim("The server is away."))]

    rig = await rig_with(summary=unreachable)
    await run_turns(rig, 4)
    (event,) = failures(rig)
    assert event.failed is not None
    assert (event.failed.upto, event.failed.refused) == (0, "")
    for _ in range(6):
        rig.clock.advance_s(240)
        await run_turns(rig, 1)
    assert len(failures(rig)) > 3
    rig.model.summary_script = lambda _: text_reply(SUMMARY)
    rig.clock.advance_s(240)
    await run_turns(rig, 1)
    assert len(checkpoints(rig)) == 1


async def test_after_three_texts_that_were_not_used_none_is_tried_until_a_handover() -> None:
    rig = await rig_with(summary=lambda _: REFUSED)
    await run_turns(rig, 80)
    assert len(failures(rig)) == 3
    rig.model.summary_script = lambda _: text_reply(SUMMARY)
    rig.clock.advance_s(240)
    await run_turns(rig, 2)
    assert not checkpoints(rig)
    rig.conversation.handovers.start()
    await rig.wait_until_idle()
    assert len(rig.events(HandoverMade)) == 1
    await run_turns(rig, 4)
    assert len(checkpoints(rig)) == 1


async def test_each_is_said_while_it_is_written() -> None:
    rig = await rig_with()
    await run_turns(rig, 4)
    began, ended = rig.updates_of(PreparationProgress)
    assert began.work == "checkpoint"
    assert began.estimate is not None
    assert began.estimate.tokens > 0
    assert ended == PreparationProgress("checkpoint")


SMALL = ModelInfo("test", "scripted", window=8_000, reserve=400)
HANDOVERS = msgspec.structs.replace(
    EVERY_2000, observe_at=0.0, fold_after_steps=0, handover_least_messages=2, protect_steps=1_000
)


async def test_a_handover_begins_with_the_newest_checkpoint() -> None:
    """It is brought up to date: what the checkpoint covers is not read again."""
    rig = await rig_with(HANDOVERS, info=SMALL)
    await run_turns(rig, 4, text="The first part.")
    ((seq, _),) = checkpoints(rig).items()
    while not rig.events(HandoverMade):
        await run_turns(rig, 1, text="The second part.")
    (handover,) = rig.events(HandoverMade)
    newest = max(at for at, prepared in checkpoints(rig).items() if at <= handover.checkpoint)
    assert handover.checkpoint == newest >= seq
    assert handover.trigger is HandoverTrigger.THRESHOLD
    assert "The first part." not in "\n".join(
        line for line in rig.model.summary_requests[-1].messages[-1].text.splitlines() if "user:" in line
    )


async def test_a_handover_without_a_model_begins_with_the_newest_checkpoint_and_asks_nothing() -> None:
    rig = await rig_with(HANDOVERS, info=SMALL)
    await run_turns(rig, 4, text="The first part.")
    requests = len(rig.model.summary_requests)
    handovers = rig.conversation.handovers
    phases = list[str]()
    rig.conversation.session.on(CompactionProgress, lambda update: phases.append(update.phase))
    first, second = await asyncio.gather(handovers.previews.preview(), handovers.previews.preview())
    assert first.event.checkpoint == max(checkpoints(rig))
    assert first.text == second.text
    assert (phases, rig.events(HandoverMade), len(rig.model.summary_requests)) == ([], [], requests)
    await handovers.writer.commit(first, first.text)
    (made,) = rig.events(HandoverMade)
    assert (made.sections, made.checkpoint) == (first.event.sections, first.event.checkpoint)
    assert rig.conversation.window.measure()[1].used == first.event.after < first.event.before


async def test_a_checkpoint_that_says_all_is_put_in_place_without_a_call() -> None:
    policy = msgspec.structs.replace(HANDOVERS, checkpoint_tokens=1, handover_cooldown_s=0)
    rig = await rig_with(policy, thinking_turns(3), info=SMALL)
    await run_turns(rig, 3)
    assert rig.events(HandoverMade) == []
    rig.conversation.checkpoints.start_due()
    await rig.conversation.checkpoints.wait()
    await rig.run_and_wait("word " * 1_500)
    (handover,) = rig.events(HandoverMade)
    prepared = checkpoints(rig)[handover.checkpoint]
    since = rig.conversation.session.transcript.messages.between(prepared.handover.upto, handover.upto)
    assert {item.seq for item in since} <= {handover.kept}, "but for the message that stays"
    assert (handover.sections, handover.model) == (prepared.handover.sections, prepared.handover.model)
    assert (handover.calls, handover.spent) == (0, 0)
    assert handover.index
    await rig.conversation.close()


async def test_the_newest_one_can_be_edited_and_the_next_begins_with_that() -> None:
    rig = await rig_with()
    await run_turns(rig, 4)
    ((seq, prepared),) = checkpoints(rig).items()
    before = next_request(rig)
    revisions = rig.conversation.handovers.revisions
    draft = await revisions.draft(seq)
    assert draft.handover == prepared.handover
    words = Bullet("Ask Ann before the release")
    changed = tuple(msgspec.structs.replace(one, bullets=(words,)) for one in draft.handover.sections)
    await revisions.record(draft, changed)
    assert next_request(rig) == before
    edited_seq = max(checkpoints(rig))
    edited = checkpoints(rig)[edited_seq].handover
    assert (edited.edited, edited.revises, edited.upto) == (True, seq, prepared.handover.upto)
    assert list(checkpoints(rig)) == [seq, edited_seq], "the former text stays"
    with pytest.raises(CompactionRefused, match="A newer one replaced it"):
        await revisions.record(draft, changed)
    titles = handover_titles(rig.conversation.session.transcript)
    name = "Handover summary of parts of turns 1–4"
    assert list(titles.values()) == [f"{name}, prepared", f"{name}, prepared, edited"]
    await run_turns(rig, 4)
    assert "Ask Ann before the release" in rig.model.summary_requests[-1].messages[-1].text


async def test_a_session_can_start_from_a_checkpoint() -> None:
    rig = await rig_with()
    await run_turns(rig, 4)
    ((seq, prepared),) = checkpoints(rig).items()
    conversation = await rig.workspace.continue_session(rig.conversation.session.id, seq)
    rig.switch_to(conversation)
    (handover,) = rig.events(HandoverMade)
    assert (handover.origin_seq, handover.trigger) == (seq, HandoverTrigger.CONTINUED)
    texts = [bullet.text for section in handover.sections for bullet in section.bullets]
    assert texts == [bullet.text for section in prepared.handover.sections for bullet in section.bullets]
    index = (await rig.store.get(handover.index)).decode()
    assert "Think. Never touch main." in index, "the way back to what it covers"
    assert (handover.checkpoint, handover.revises) == (0, 0)


async def test_a_version_goes_on_with_the_checkpoint_of_what_it_shares() -> None:
    """It begins before the checkpoint's event, but behind all that it covers: no model writes it again."""
    gate = asyncio.Event()
    rig = await rig_with(summary=lambda _: [gate, *text_reply(SUMMARY)])
    await run_turns(rig, 3)
    for text in ("And now?", "And then?"):
        assert (await rig.conversation.run(text)).how == "done"
    gate.set()
    await rig.conversation.checkpoints.wait()
    ((seq, prepared),) = checkpoints(rig).items()
    session = rig.conversation.session
    asked = [entry.seq for entry in session.log if isinstance(entry.event, UserSpoke)]
    retried = asked[-1]
    assert prepared.handover.upto < retried < seq
    version = await rig.workspace.branches.open_for_retry(session.id, retried)
    ((own_seq, shared),) = version.session.transcript.checkpoints.items()
    assert retried < own_seq
    assert (shared.handover.sections, shared.handover.upto) == (
        prepared.handover.sections,
        prepared.handover.upto,
    )
    assert not version.session.transcript.spending.tokens, "paid for in the parent"
    earlier = await rig.workspace.branches.open_for_retry(session.id, asked[0])
    assert not earlier.session.transcript.checkpoints, "it covers messages that this version doesn't have"
    assert len(rig.model.summary_requests) == 1
