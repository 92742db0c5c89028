"""Subagents: sessions that run concurrently, and the tool that starts them."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.agent.model_roles import ModelRoles
from helix_desktop.agent.session import ApprovalRequested, ResponseDelta
from helix_desktop.agent.subagents import MAX_PARALLEL_SUBAGENTS, SubagentResult
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import ApprovalGiven, SubagentStarted, ToolAnswered, TurnEnded
from helix_desktop.domain.events.rewrite import SweepMade
from helix_desktop.domain.events.session import ModelChosen, SessionStarted
from helix_desktop.domain.messages import CUT_OFF, ModelInfo, ModelResponse, StopReason
from helix_desktop.domain.store import SessionSummary
from helix_desktop.domain.tools import SubagentUsage
from tests.support.agent_rig import SWEEPING
from tests.support.scripted_model import (
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
    parents, child_requests = (
        requests_text(rig.requests_of(PARENT_PROMPT)),
        requests_text(rig.requests_of("alpha")),
    )
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


async def test_a_shared_policy_is_the_workspace_s() -> None:
    """A change for the workspace applies to its subagents from the next step on."""
    outputs = [
        tool_call_reply(("say", {"text": "words " * 40, "times": 3}), id_prefix=f"k{step}")
        for step in range(6)
    ]
    rig = SubagentRig(
        {
            PARENT_PROMPT: delegate_script("alpha"),
            "alpha": replies_in_order(tool_call_reply(("wait", {}), id_prefix="w-"), *outputs),
        },
        ContextPolicy(subagent_profile="same"),
    )
    await start_subagents(rig, 1)
    rig.workspace.policy = SWEEPING
    rig.tools.gate.set()
    await rig.wait_until_idle()
    (child,) = await rig.subagent_sessions()
    assert [recorded for recorded in await rig.stored_log(child) if isinstance(recorded.event, SweepMade)]


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


def test_an_incomplete_result_is_reported_as_such() -> None:
    """A result without text, or a truncated one, is described as what it is."""
    cut = SubagentResult("s" * 32, "", 1, 10, "interrupted").output
    assert not cut.ok
    assert b"stopped before it was done" in cut.content
    assert b"1 model call]" in cut.content
    assert SubagentResult("s" * 32, "Found.", 2, 10, "done").output.ok


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
