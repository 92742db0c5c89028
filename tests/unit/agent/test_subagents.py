"""Subagents: sessions that run concurrently, the tool that starts them, and however one ends."""

from __future__ import annotations

import asyncio
import gc

import msgspec
import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.model_roles import ModelRoles
from helix_desktop.agent.session import ApprovalRequested, ResponseDelta, SubagentProgress
from helix_desktop.agent.subagents import MAX_PARALLEL_SUBAGENTS, SubagentResult
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.errors import (
    HelixError,
    ModelRequestRejected,
    StoreWriteFailed,
    SubagentFailed,
    ToolError,
)
from helix_desktop.domain.events.conversation import (
    ApprovalGiven,
    AssistantSpoke,
    SubagentStarted,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.events.rewrite import SweepMade
from helix_desktop.domain.events.session import ModelChosen, SessionStarted
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import (
    CUT_OFF,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    StopReason,
    TurnOutcome,
)
from helix_desktop.domain.store import Commit, Content, SessionSummary
from helix_desktop.domain.tools import SubagentUsage
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.system.task_scope import TaskScope
from tests.support.agent_rig import SWEEPING, GatedStore
from tests.support.scripted_model import (
    SUMMARY,
    ScriptedModel,
    ScriptedReply,
    replies_in_order,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)
from tests.support.subagent_rig import (
    PARENT_PROMPT,
    DelegateToolRig,
    SubagentRig,
    are_valid,
    delegate_script,
    requests_text,
    start_subagents,
    waiting_script,
)


async def test_the_status_of_running_subagents_is_reported() -> None:
    """The parent's listeners get each phase with usage, window and steps, and nothing else of them."""
    rig = SubagentRig({PARENT_PROMPT: delegate_script("alpha"), "alpha": waiting_script("alpha")})
    await start_subagents(rig, 1)
    (child,) = await rig.subagent_sessions()
    progress = rig.progress_of(child)[-1]
    assert (progress.phase, progress.steps, progress.title) == ("working", 1, "alpha")
    assert 0 < progress.used < progress.window == 8_000
    arrived = len(rig.updates_of(ResponseDelta))
    rig.tools.gate.set()
    await rig.wait_until_idle()
    moves = rig.progress_of(child)
    assert [move.phase for move in moves[-3:]] == ["thinking", "thinking", "done"]
    assert moves[-1].steps == 2
    assert moves[-1].used > progress.used
    assert "".join(update.text for update in rig.updates_of(ResponseDelta)[arrived:]) == "Done."
    assert len(moves) == len(set(moves)), "what does not change is not told again"


async def test_windows_are_separate() -> None:
    """A subagent gets no message of the parent, and the parent gets only a subagent's last message."""
    rig = SubagentRig(
        {
            PARENT_PROMPT: replies_in_order(
                tool_call_reply(("say", {"text": "parents-output"}), text="parents-words", id_prefix="p"),
                tool_call_reply(("delegate", {"task": "alpha"})),
                text_reply("All done."),
            ),
            "alpha": replies_in_order(
                tool_call_reply(("say", {"text": "childs-output"}), text="childs-words", id_prefix="k"),
                text_reply("the result"),
            ),
        }
    )
    await rig.begin()
    await rig.say(PARENT_PROMPT, "And now?")
    await rig.assert_consistent()
    parents = requests_text(rig.requests_of(PARENT_PROMPT))
    child_requests = requests_text(rig.requests_of("alpha"))
    assert "childs-" not in parents
    assert "the result" in parents
    assert "parents-" not in child_requests
    assert PARENT_PROMPT not in child_requests
    first = rig.requests_of("alpha")[0]
    assert [message.role for message in first.messages] == ["system", "user"]
    assert are_valid(rig.model.requests)


async def test_subagents_have_the_profile_that_the_workspace_names() -> None:
    """Lean at first, with the workspace's budget; recorded, so that it stays what they began with."""
    limited = msgspec.structs.replace(PROFILES["classic"], budget_tokens=900_000)
    rig = SubagentRig({PARENT_PROMPT: delegate_script("alpha")}, limited)
    await rig.run_first(PARENT_PROMPT)
    (child,) = await rig.subagent_sessions()
    started = (await rig.stored_log(child))[0].event
    assert isinstance(started, SessionStarted)
    assert started.policy["profile"] == "lean"
    opened = (await rig.workspace.open_session(child)).session.transcript.session_policy
    assert opened is not None
    assert opened.protect_steps == PROFILES["lean"].protect_steps
    assert opened.budget_tokens == 900_000


@pytest.mark.parametrize("name", ["same", "off"])
def test_subagents_can_share_the_workspace_s_policy(name: str) -> None:
    """On the user's word, and where nothing is managed."""
    policy = PROFILES["off"] if name == "off" else ContextPolicy(subagent_profile="same")
    assert policy.for_subagents() is None


async def test_a_large_result_goes_through_intake() -> None:
    """Its preview is in the parent's window; all of it is in the cache of the workspace."""
    lines = [f"finding number {number} in module {number % 7}" for number in range(1_500)]
    rig = SubagentRig(
        {PARENT_PROMPT: delegate_script("alpha"), "alpha": replies_in_order(text_reply("\n".join(lines)))}
    )
    await rig.run_first(PARENT_PROMPT)
    (answer,) = rig.events(ToolAnswered)
    assert answer.form == "preview"
    assert answer.tokens <= rig.workspace.policy.preview_tokens
    stored = (await rig.store.get(answer.digest)).decode()
    assert stored.startswith("\n".join(lines))
    assert f"session {answer.subagent}" in stored
    assert answer.subagent == (await rig.subagent_sessions())[0]


async def test_subagents_are_not_listed_but_can_be_opened() -> None:
    """A workspace lists the sessions that a user started; a subagent's is opened by its id."""
    rig = SubagentRig({PARENT_PROMPT: delegate_script("alpha", "beta")})
    await rig.run_first(PARENT_PROMPT)
    assert [session.id for session in await rig.workspace.sessions()] == [rig.conversation.session.id]
    assert len(await rig.store.sessions()) == 3
    children = await rig.subagent_sessions()
    assert {session.parent for session in await rig.workspace.sessions(rig.conversation.session.id)} == {
        rig.conversation.session.id
    }
    opened = await rig.workspace.open_session(children[0])
    assert opened.session.transcript.parent == rig.conversation.session.id
    assert await rig.workspace.sessions(children[0]) == []


async def test_an_opened_subagent_is_the_running_one() -> None:
    """Opened while it runs it is the same conversation, reports events, and takes messages afterwards."""
    rig = SubagentRig({PARENT_PROMPT: delegate_script("alpha"), "alpha": waiting_script("alpha")})
    await start_subagents(rig, 1)
    (child,) = await rig.subagent_sessions()
    opened = await rig.workspace.open_session(child)
    assert opened.is_running
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert not opened.is_running
    assert "alpha found" in "".join(update.text for update in rig.updates_of(ResponseDelta))
    assert await rig.workspace.open_session(child) is opened
    progress = rig.progress_of(child)
    assert (await opened.run("Tell me more.")).how == "done"
    assert rig.progress_of(child) == progress, "what the user says there is not the parent's any more"
    assert opened.session.log == await rig.stored_log(child)


async def test_approval_requests_of_subagents_are_forwarded_to_the_parent() -> None:
    """Two calls of one id wait concurrently, each under an id of its own, and each is answered."""
    child_reply = tool_call_reply(("ask", {"text": "child"}), ("say", {}), id_prefix="k")
    rig = SubagentRig(
        {
            PARENT_PROMPT: delegate_script("alpha", "beta"),
            "alpha": replies_in_order(child_reply),
            "beta": replies_in_order(child_reply),
        }
    )
    await rig.send_first(PARENT_PROMPT)
    await rig.wait_until(lambda: len(rig.conversation.asks) == 2)
    alpha, beta = await rig.subagent_sessions()
    first, second = rig.conversation.asks
    assert first.call_id != second.call_id
    assert {first.subagent_title, second.subagent_title} == {"alpha", "beta"}
    assert {update.ask for update in rig.updates_of(ApprovalRequested)} == {first, second}
    await rig.wait_until(lambda: rig.tools.executed_calls == ["k1", "k1"])
    await rig.wait_until(
        lambda: rig.progress_of(alpha)[-1].phase == rig.progress_of(beta)[-1].phase == "waiting"
    )
    assert not rig.conversation.decide("k0", "once"), "no such call waits here"
    assert rig.conversation.decide(first.call_id, "deny")
    assert rig.conversation.decide(second.call_id, "once")
    await rig.wait_until_idle()
    assert rig.conversation.asks == []
    decided = []
    for child in (alpha, beta):
        events = [recorded.event for recorded in await rig.stored_log(child)]
        decided += [event.decision for event in events if isinstance(event, ApprovalGiven)]
        assert [event.call_id for event in events if isinstance(event, ApprovalGiven)] == ["k0"]
    assert sorted(decided) == ["deny", "once"]
    assert rig.events(ApprovalGiven) == []


async def test_subagents_have_no_subagents() -> None:
    """They do not get the tool; calling it, or continuing with one manually, is refused with a reason."""
    nested = replies_in_order(tool_call_reply(("delegate", {"task": "beta"}), ("say", {}), id_prefix="k"))
    rig = SubagentRig({PARENT_PROMPT: delegate_script("alpha"), "alpha": nested})
    await rig.run_first(PARENT_PROMPT)
    (child,) = await rig.subagent_sessions()
    assert [spec.name for spec in rig.requests_of("alpha")[0].tools] == ["say"]
    assert [spec.name for spec in rig.requests_of(PARENT_PROMPT)[0].tools] == ["say", "delegate"]
    refused = tool_result_texts(rig.requests_of("alpha")[-1])[0]
    assert refused.startswith("A subagent cannot start subagents.")
    assert len(await rig.store.sessions()) == 2
    opened = await rig.workspace.open_session(child)
    with pytest.raises(ToolError, match="cannot start subagents"):
        await opened.subagents.run("beta")
    assert len(await rig.store.sessions()) == 2


def test_summaries_of_other_versions_are_read() -> None:
    """An old summary has no parent and no ratio; a newer one may have more fields."""
    row = {"id": "s", "title": "t", "created": 5, "updated": 6, "messages": 2, "model": "a/b", "events": 4}
    decoded = msgspec.msgpack.decode(msgspec.msgpack.encode(row), type=SessionSummary)
    assert (decoded.parent, decoded.ratios, decoded.events) == ("", {}, 4)
    later = msgspec.msgpack.encode({**row, "parent": "p", "ratios": {"a/b": 1.25}, "of later": 1})
    assert msgspec.msgpack.decode(later, type=SessionSummary).ratios == {"a/b": 1.25}


MANY = tuple(f"task {number}" for number in range(MAX_PARALLEL_SUBAGENTS + 2))


async def test_the_agent_delegates_tasks_concurrently() -> None:
    """Both run at once; the parent's log has the session and cost of each call."""
    scripts = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": waiting_script("alpha"),
        "beta": waiting_script("beta"),
    }
    rig = DelegateToolRig(scripts)
    await start_subagents(rig, 2)
    rig.tools.gate.set()
    await rig.wait_until_idle()
    await rig.assert_consistent()
    alpha, beta = await rig.subagent_sessions()
    assert rig.events(SubagentStarted) == [
        SubagentStarted("c0", alpha, "alpha"),
        SubagentStarted("c1", beta, "beta"),
    ]
    for child, call in ((alpha, "c0"), (beta, "c1")):
        (answer,) = [event for event in rig.events(ToolAnswered) if event.call_id == call]
        spent = rig.progress_of(child)[-1].spent_tokens
        assert (answer.subagent, answer.delegated) == (child, SubagentUsage("done", 2, spent, estimated=True))
        assert spent > 0
        assert {progress.call_id for progress in rig.progress_of(child)} == {call}
        assert rig.progress_of(child)[-1].current_tool == f"wait {answer.text.split()[0]}"
    assert tool_result_texts(rig.requests_of(PARENT_PROMPT)[-1]) == [
        event.text for event in rig.events(ToolAnswered)
    ]
    assert rig.events(ApprovalGiven) == [], "nobody is asked whether one may begin"
    assert are_valid(rig.model.requests)


async def test_concurrent_subagents_are_limited() -> None:
    """The others wait for a place and report it; all get theirs."""
    rig = DelegateToolRig(
        {PARENT_PROMPT: delegate_script(*MANY)} | {task: waiting_script(task) for task in MANY}
    )
    await start_subagents(rig, MAX_PARALLEL_SUBAGENTS)
    children = await rig.subagent_sessions()
    assert len(children) == len(MANY)
    await rig.wait_until(lambda: all(rig.progress_of(child) for child in children))
    phases = [rig.progress_of(child)[-1].phase for child in children]
    assert phases == ["working"] * MAX_PARALLEL_SUBAGENTS + ["queued", "queued"]
    assert [rig.progress_of(child)[-1].started_at_ms > 0 for child in children] == [
        True
    ] * MAX_PARALLEL_SUBAGENTS + [False] * 2
    assert len(rig.tools.executed_calls) == MAX_PARALLEL_SUBAGENTS
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert [event.text.split(" found")[0] for event in rig.events(ToolAnswered)] == sorted(MANY)


async def test_a_waiting_subagent_is_stopped_with_the_others() -> None:
    """It never starts; the calls are answered, and name the logs."""
    rig = DelegateToolRig(
        {PARENT_PROMPT: delegate_script(*MANY)} | {task: waiting_script(task) for task in MANY}
    )
    await start_subagents(rig, MAX_PARALLEL_SUBAGENTS)
    children = await rig.subagent_sessions()
    await rig.conversation.stop()
    await rig.assert_consistent()
    last = (await rig.stored_log(children[-1]))[-1].event
    assert isinstance(last, SessionStarted)
    assert sorted(event.subagent for event in rig.events(ToolAnswered)) == sorted(children)
    assert {event.outcome for event in rig.events(ToolAnswered)} == {"stopped"}
    steps = sorted(event.delegated.steps for event in rig.events(ToolAnswered) if event.delegated)
    assert steps == [0, 0, *[1] * MAX_PARALLEL_SUBAGENTS], "what each took is known, also of one stopped"


async def test_invalid_arguments_are_reported_to_the_agent() -> None:
    """The error and the tool's parameters; nothing is started."""
    calls = tool_call_reply(
        ("delegate", {"job": "x"}), ("delegate", {"task": "x", "model": "best"}), ("delegate", {"task": " "})
    )
    rig = DelegateToolRig({PARENT_PROMPT: replies_in_order(calls)})
    await rig.run_first(PARENT_PROMPT)
    unknown, model, empty = tool_result_texts(rig.requests_of(PARENT_PROMPT)[-1])
    assert unknown.startswith("delegate was called with wrong arguments.")
    assert "task, title?, model? (one of main, fast, long)" in unknown
    assert "model" in model
    assert empty.startswith("The subagent was given no task.")
    assert len(await rig.store.sessions()) == 1


async def test_a_subagent_reopened_after_its_end_keeps_its_role() -> None:
    """Its own policy applies, its prompt is a subagent's, and it has no tool to start others."""
    outputs = [
        tool_call_reply(("say", {"text": "words " * 40, "times": 3}), id_prefix=f"k{step}")
        for step in range(6)
    ]
    rig = DelegateToolRig({"alpha": replies_in_order(text_reply("Begun."), *outputs)}, PROFILES["off"])
    await rig.begin()
    done = await rig.conversation.subagents.run("alpha", SWEEPING)
    again = rig.create_workspace(rig.store, PROFILES["off"])
    opened = await again.open_session(done.session_id)
    assert opened.session.transcript.session_policy == SWEEPING
    assert (await opened.run("Go on.")).how == "done"
    request = rig.requests_of("alpha")[-1]
    assert request.messages[0].text.endswith("Only your last words count.")
    assert [spec.name for spec in request.tools] == ["say"]
    assert [recorded for recorded in opened.session.log if isinstance(recorded.event, SweepMade)]
    assert isinstance(opened.session.log[-1].event, TurnEnded)
    await again.close()


async def test_the_role_of_its_model_is_kept() -> None:
    """The workspace's model of that role answers, also later; without one the main model does."""
    fast = ScriptedModel(
        replies_in_order(text_reply("Quickly."), text_reply("Again.")), ModelInfo("test", "fast")
    )
    other = ScriptedModel(replies_in_order(text_reply("Otherwise.")), ModelInfo("test", "other"))
    delegated_calls = [
        ("delegate", {"task": "alpha", "title": role, "model": role}) for role in ("fast", "long")
    ]
    rig = DelegateToolRig({PARENT_PROMPT: replies_in_order(tool_call_reply(*delegated_calls))})
    await rig.workspace.set_models(ModelRoles(rig.model, fast=fast))
    await rig.run_first(PARENT_PROMPT)
    quick, long = await rig.subagent_sessions()
    first_events = [(await rig.stored_log(child))[0].event for child in (quick, long)]
    parent = rig.conversation.session.id
    policy = {"profile": "lean"}
    assert first_events == [
        SessionStarted("fast", parent, "c0", "fast", policy),
        SessionStarted("long", parent, "c1", "long", policy),
    ]
    assert [event.text.split("\n")[0] for event in rig.events(ToolAnswered)] == ["Quickly.", "Done."]
    opened = [await rig.workspace.open_session(child) for child in (quick, long)]
    await rig.workspace.set_models(other)
    await opened[0].run("Go on.")
    await opened[1].run("Go on.")
    assert [(len(model.requests)) for model in (fast, other)] == [2, 1]


async def test_a_subagent_uses_the_model_chosen_for_its_session() -> None:
    """Also when reopened later; other sessions, and one model for all, are not affected."""
    script = replies_in_order(tool_call_reply(("delegate", {"task": "alpha"})), text_reply("Done."))
    own = ScriptedModel(script, ModelInfo("test", "own"))
    forced = ScriptedModel(replies_in_order(text_reply("Forced.")), ModelInfo("test", "forced"))
    rig = DelegateToolRig({PARENT_PROMPT: delegate_script("alpha")})

    rig.configured_models["test/own"] = own
    await rig.begin()
    parent = rig.conversation.session.id
    await rig.workspace.choose_model(parent, "test/own")
    await rig.conversation.run(PARENT_PROMPT)
    (child,) = await rig.subagent_sessions()
    assert [recorded.event for recorded in await rig.stored_log(child)][1] == ModelChosen("test/own")
    assert (await rig.workspace.open_session(child)).model.label == "test/own"
    assert (await rig.workspace.create_session()).model.label == rig.model.info.label

    await rig.workspace.set_models(forced)
    assert rig.conversation.model.label == "test/forced"
    await rig.workspace.set_models(ModelRoles(rig.model))
    assert rig.conversation.model.label == "test/own"
    await rig.workspace.choose_model(parent, "")
    assert rig.conversation.model.label == rig.model.info.label


@pytest.mark.parametrize("stop", sorted(CUT_OFF))
async def test_an_answer_that_is_not_whole_is_marked_for_the_parent(stop: StopReason) -> None:
    """A whole one has no mark: the parent would take either for the result."""
    half: ScriptedReply = [ModelResponse("Half of", stop=stop)]
    scripts = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": replies_in_order(half),
        "beta": replies_in_order(text_reply("All of it.")),
    }
    rig = DelegateToolRig(scripts)
    await rig.begin()
    assert await rig.conversation.run(PARENT_PROMPT) == TurnEnded("done")
    cut, whole = tool_result_texts(rig.requests_of(PARENT_PROMPT)[-1])
    mark, text, _ = cut.split("\n\n")
    assert mark.startswith("[The subagent's answer is not whole: ")
    assert text == "Half of"
    assert whole.startswith("All of it.")


WRITES = 6  # of a subagent that makes one call: started, asked, spoke, answered, spoke, ended
REFUSED = ModelRequestRejected(
    verbatim("The server refused the key."),
    verbatim("It is not valid."),
    verbatim("Enter another key."),
    details=verbatim("expired yesterday"),
)


async def start_parent_with_subagents(slow: int) -> SubagentRig:
    """Start a parent with two concurrent subagents that call tools; each write takes a while."""
    steps = [
        tool_call_reply(("say", {"text": "words", "times": 60}), ("fail", {}), text="On.", id_prefix=key)
        for key in "ab"
    ]
    scripts = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": replies_in_order(*steps),
        "beta": replies_in_order(*steps),
    }
    store = GatedStore()
    rig = SubagentRig(scripts, SWEEPING, store)
    await rig.begin()
    store.yields_per_write = slow
    await rig.conversation.send(PARENT_PROMPT)
    return rig


@pytest.mark.parametrize("slow", [0, 3])
async def test_stopping_the_parent_stops_its_subagents_at_any_moment(slow: int) -> None:
    """At every turn of the loop: all logs are closed, nothing keeps running, and the parent can go on."""
    ends = set()
    for passes in range(0, await (await start_parent_with_subagents(slow)).passes_until_idle() + 2, 1 + slow):
        rig = await start_parent_with_subagents(slow)
        for _ in range(passes):
            await asyncio.sleep(0)
        await rig.conversation.stop()
        request_count = len(rig.model.requests)
        await rig.assert_consistent()
        for child in await rig.subagent_sessions():
            events = [recorded.event for recorded in await rig.stored_log(child)]
            if any(isinstance(event, UserSpoke) for event in events):
                assert isinstance(events[-1], TurnEnded)
                ends.add(events[-1].how)
            assert await rig.workspace.open_session(child) is not None
        assert len(rig.model.requests) == request_count
        rig.scripts.clear()
        assert (await rig.conversation.run("Go on.")).how == "done"
        await rig.assert_consistent()
    assert ends == {"stopped", "done"}


async def test_closing_interrupts_subagents_at_any_moment() -> None:
    """They end as their parent does, interrupted. A workspace can be closed while they run."""
    ends = set()
    texts = set()
    for passes in range(0, await (await start_parent_with_subagents(0)).passes_until_idle() + 2, 2):
        rig = await start_parent_with_subagents(0)
        for _ in range(passes):
            await asyncio.sleep(0)
        await rig.conversation.close()
        await rig.assert_consistent()
        parent = [recorded.event for recorded in rig.conversation.session.log]
        for event in parent:
            if isinstance(event, ToolAnswered) and event.outcome == "interrupted" and event.subagent:
                texts.add(event.text.partition(".")[0])
        for child in await rig.subagent_sessions():
            last = (await rig.stored_log(child))[-1].event
            if isinstance(last, TurnEnded):
                ends.add((last.how, parent[-1] == TurnEnded("interrupted", cause="closed")))
        await rig.workspace.close()
    assert ends == {("interrupted", True), ("done", True), ("done", False)}
    assert "The app stopped before the subagent ended" in texts, texts


async def test_canceling_twice_does_not_skip_the_end() -> None:
    """However impatient the caller: the log is closed all the same, a moment later."""
    for passes in range(6):
        rig = SubagentRig({"alpha": waiting_script("alpha")})
        await rig.begin()
        rig.store.yields_per_write = 3
        scope = TaskScope()
        run = scope.start(rig.conversation.subagents.run("alpha"), "asked")
        await rig.tools.started.wait()
        run.cancel()
        for _ in range(1 + passes):
            await asyncio.sleep(0)
        run.cancel()
        await scope.close()
        await wait_for_subagent(rig, "stopped")
        await rig.workspace.close()
        assert rig.tools.canceled_calls == ["alpha-0"]


async def start_handover_at_end(summary: asyncio.Event) -> SubagentRig:
    requested = asyncio.Event()

    def summarize(_: ModelRequest) -> ScriptedReply:
        requested.set()
        return [summary, *text_reply(SUMMARY)]

    steps = [tool_call_reply(("say", {}), text="thinking " * 770, id_prefix=f"k{step}") for step in range(9)]
    rig = SubagentRig(
        {"alpha": replies_in_order(*steps, [requested, *text_reply("All thought.")])}, PROFILES["plain"]
    )
    rig.model.summary_script = summarize
    await rig.begin()
    return rig


async def test_background_work_of_a_turn_ends_with_it() -> None:
    """A handover that nobody needs any more is not waited for."""
    rig = await start_handover_at_end(asyncio.Event())
    result = await rig.conversation.subagents.run("alpha")
    assert result.text == "All thought."
    assert len(rig.model.summary_requests) == 1
    assert not [
        recorded
        for recorded in await rig.stored_log(result.session_id)
        if isinstance(recorded.event, HandoverMade)
    ]


async def test_a_subagent_can_be_opened_at_its_very_end() -> None:
    """Released or not yet: the opened session is complete, and stops when the user wants it."""
    for passes in range(6):
        summary = asyncio.Event()
        rig = await start_handover_at_end(summary)
        scope = TaskScope()
        run = scope.start(rig.conversation.subagents.run("alpha"), "asked")
        child = await wait_for_subagent(rig, "done")
        for _ in range(passes):
            await asyncio.sleep(0)
        opened = await rig.workspace.open_session(child)
        assert (await run).ended == "done"
        summary.set()
        await opened.wait_for_background_work()
        rig.model.script = replies_in_order(tool_call_reply(("wait", {}), id_prefix="w-"))
        await opened.send("Wait.")
        await rig.tools.started.wait()
        await opened.stop()
        ends = [recorded.event for recorded in opened.session.log if isinstance(recorded.event, TurnEnded)]
        await opened.wait_for_background_work()  # a background handover may be recorded later
        assert ends[-1] == TurnEnded("stopped")
        await rig.assert_consistent()
        await rig.workspace.close()
        await scope.close()


async def test_the_workspace_keeps_no_ended_subagent() -> None:
    """However many there were, only what the user has opened stays in memory."""
    rig = SubagentRig({"looked at": waiting_script("alpha")})
    await rig.begin()
    scope = TaskScope()
    run = scope.start(rig.conversation.subagents.run("looked at"), "asked")
    await rig.tools.started.wait()
    opened = await rig.workspace.open_session((await rig.subagent_sessions())[0])
    rig.tools.gate.set()
    await run
    for number in range(10):
        await rig.conversation.subagents.run(f"task {number}")
    gc.collect()
    conversations = [value for value in gc.get_objects() if isinstance(value, Conversation)]
    children = [
        conversation
        for conversation in conversations
        if conversation.session.transcript.parent == rig.conversation.session.id
    ]
    assert children == [opened]
    assert rig.workspace.conversations == (rig.conversation, opened)
    await scope.close()


async def test_a_subagent_without_a_call_ends_with_its_parent_too() -> None:
    """Stopping the parent, which runs no turn, ends it; the caller gets its text so far."""
    rig = SubagentRig(
        {"alpha": replies_in_order(tool_call_reply(("wait", {}), text="I begin.", id_prefix="k-"))}
    )
    await rig.begin()
    scope = TaskScope()
    run = scope.start(rig.conversation.subagents.run("alpha"), "asked")
    await rig.tools.started.wait()
    await rig.conversation.stop()
    result = await run
    assert (result.text, result.ended, result.steps) == ("I begin.", "stopped", 1)
    assert (await rig.stored_log(result.session_id))[-1].event == TurnEnded("stopped")
    await rig.assert_consistent()
    await scope.close()


async def test_a_subagent_stopped_before_it_started_does_not_start() -> None:
    """Its session exists, its task was never sent."""
    rig = SubagentRig({})
    await rig.begin()
    rig.store.gated_event_types = (SessionStarted,)
    scope = TaskScope()
    run = scope.start(rig.conversation.subagents.run("alpha"), "asked")
    await rig.store.gate_reached.wait()
    await rig.conversation.stop()
    rig.store.gate.set()
    result = await run
    assert (result.text, result.ended, result.steps) == ("", "stopped", 0)
    assert rig.model.requests == []
    await scope.close()


@pytest.mark.parametrize("by_its_call", [False, True])
async def test_the_user_can_stop_a_single_subagent(by_its_call: bool) -> None:
    """The parent is informed, gets the text so far, and goes on; so does the other subagent."""
    scripts = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": waiting_script("alpha"),
        "beta": waiting_script("beta"),
    }
    rig = SubagentRig(scripts)
    await start_subagents(rig, 2)
    alpha, beta = await rig.subagent_sessions()
    if by_its_call:
        assert rig.conversation.running_calls.stop("c0")
    else:
        await (await rig.workspace.open_session(alpha)).stop()
    await rig.wait_until(lambda: rig.progress_of(alpha)[-1].phase == "stopped")
    rig.tools.gate.set()
    await rig.wait_until_idle()
    stopped, done = sorted(rig.events(ToolAnswered), key=lambda event: str(event.call_id))
    assert (stopped.ok, stopped.subagent, done.ok, done.subagent) == (False, alpha, True, beta)
    assert stopped.delegated is not None
    assert (stopped.delegated.how, stopped.delegated.steps, stopped.delegated.tokens > 0) == (
        "stopped",
        1,
        True,
    )
    assert by_its_call or stopped.text.startswith("The subagent was stopped before it was done.")
    assert rig.events(TurnEnded) == [TurnEnded("done")]


async def test_a_failure_is_reported_to_the_parent_with_the_link() -> None:
    """What, why, in the server's words too, what to do, and where the log is; all others go on."""
    scripts = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": lambda _: [REFUSED],
        "beta": replies_in_order(text_reply("Found.")),
    }
    rig = SubagentRig(scripts)
    await rig.begin()
    assert (await rig.conversation.run(PARENT_PROMPT)).how == "done"
    alpha, _ = await rig.subagent_sessions()
    failed, succeeded = sorted(rig.events(ToolAnswered), key=lambda event: str(event.call_id))
    assert (failed.ok, failed.subagent) == (False, alpha)
    assert failed.delegated is not None
    assert (failed.delegated.how, failed.delegated.steps) == ("failed", 0)
    parts = (
        "could not do its task",
        "refused the key",
        "It is not valid.",
        "expired yesterday",
        "another key.",
    )
    for part in (*parts, alpha):
        assert part in failed.text
    assert succeeded.text.startswith("Found.")
    assert rig.progress_of(alpha)[-1].phase == "failed"
    with pytest.raises(SubagentFailed) as raised:
        await rig.conversation.subagents.run("alpha")
    assert (await rig.stored_log(raised.value.session_id))[-1].event == TurnEnded(
        "failed",
        REFUSED.what,
        REFUSED.why,
        REFUSED.fix,
        remedies=REFUSED.remedies,
        details="expired yesterday",
    )


@pytest.mark.expect_errors("task record .* failed")
@pytest.mark.parametrize("refused", range(1, WRITES + 2))
async def test_a_full_disk_fails_a_subagent_and_nothing_hangs(refused: int) -> None:
    """Whichever write fails first: the caller gets the error, and with free space everything goes on."""
    rig = SubagentRig({"alpha": replies_in_order(tool_call_reply(("say", {}), text="On.", id_prefix="k"))})
    conversation = await rig.begin()
    rig.store.first_failing_write = rig.store.write_count + refused
    outcome = await outcome_of(rig)
    if refused > WRITES:
        assert isinstance(outcome, SubagentResult)
    else:
        assert isinstance(outcome, StoreWriteFailed if refused == 1 else SubagentFailed)
        assert "disk is full" in str(outcome)
    rig.store.first_failing_write = 10**9
    rig.scripts.clear()
    for child in await rig.subagent_sessions():
        again = await rig.create_workspace(rig.store, SWEEPING).open_session(child)
        assert (await again.run("Go on.")).how == "done"
    assert (await conversation.run("Go on.")).how == "done"


@pytest.mark.expect_errors("task turn .* failed")
async def test_an_internal_error_fails_a_subagent_and_nothing_hangs() -> None:
    """An unexpected error also ends the subagent's turn, and is reported."""

    def broken(_: object) -> list[ModelResponse]:
        raise ZeroDivisionError("division by zero")

    rig = SubagentRig({"alpha": broken})
    await rig.begin()
    with pytest.raises(SubagentFailed, match="Something went wrong"):
        await rig.conversation.subagents.run("alpha")


async def test_a_subagent_interrupted_by_a_crash_is_repaired_when_opened() -> None:
    """After every event of its log, as any session; it stays its parent's, and unlisted."""
    rig = SubagentRig(
        {
            PARENT_PROMPT: delegate_script("alpha"),
            "alpha": replies_in_order(tool_call_reply(("say", {}), ("fail", {}), id_prefix="k")),
        }
    )
    await rig.run_first(PARENT_PROMPT)
    (child,) = await rig.subagent_sessions()
    log = await rig.stored_log(child)
    (summary,) = await rig.workspace.sessions(rig.conversation.session.id)
    for length in range(1, len(log) + 1):
        store = GatedStore()
        await store.commit(Commit(child, contents=await contents_of(rig, log)))
        await store.commit(Commit(child, log[:length], summary=summary))
        workspace = rig.create_workspace(store, SWEEPING)
        assert await workspace.sessions() == []
        assert [session.id for session in await workspace.sessions(rig.conversation.session.id)] == [child]
        conversation = await workspace.open_session(child)
        assert conversation.session.log[:length] == log[:length]
        assert not conversation.session.transcript.open_calls
        assert not conversation.session.transcript.turn_open
        cut = isinstance(log[length - 1].event, UserSpoke | AssistantSpoke | ToolAnswered)
        assert (conversation.session.log[-1].event == TurnEnded("interrupted", interruption="crash")) == cut
        assert (await conversation.run("Go on.")).how == "done"
        (after,) = await store.sessions()
        assert after.parent == rig.conversation.session.id
        await workspace.close()


async def wait_for_subagent(rig: SubagentRig, ended: TurnOutcome) -> str:
    """Return the session of the subagent with that outcome, as soon as its parent reports it."""
    sessions: list[str] = []

    def is_reported() -> bool:
        sessions[:] = [
            update.session_id for update in rig.updates_of(SubagentProgress) if update.phase == ended
        ]
        return bool(sessions)

    await rig.wait_until(is_reported)
    return sessions[0]


async def outcome_of(rig: SubagentRig) -> SubagentResult | HelixError:
    try:
        return await rig.conversation.subagents.run("alpha")
    except HelixError as error:
        return error


async def contents_of(rig: SubagentRig, log: list[RecordedEvent]) -> list[Content]:
    digests = {digest for recorded in log for digest in digests_in(recorded.event)}
    return [Content(digest, await rig.store.get(digest)) for digest in digests]
