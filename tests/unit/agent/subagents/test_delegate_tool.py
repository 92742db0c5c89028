"""The tool `delegate`: tasks for subagents, and their sessions."""

from __future__ import annotations

import pytest

from helix_desktop.agent.models import ModelRoles
from helix_desktop.agent.subagents import MAX_PARALLEL_SUBAGENTS
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.errors import ModelRequestRejected
from helix_desktop.domain.events.conversation import ApprovalGiven, SubagentStarted, ToolAnswered, TurnEnded
from helix_desktop.domain.events.rewrite import SweepMade
from helix_desktop.domain.events.session import ModelChosen, SessionStarted
from helix_desktop.domain.messages import CUT_OFF, ModelInfo, ModelResponse, StopReason
from helix_desktop.domain.tools import SubagentUsage
from helix_desktop.domain.translatable_text import verbatim
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
    are_valid,
    delegate_script,
    start_subagents,
    waiting_script,
)

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
    await rig.begin()
    await rig.conversation.run(PARENT_PROMPT)
    unknown, model, empty = tool_result_texts(rig.requests_of(PARENT_PROMPT)[-1])
    assert unknown.startswith("delegate was called with wrong arguments.")
    assert "task, title?, model? (one of main, fast, long)" in unknown
    assert "model" in model
    assert empty.startswith("The subagent was given no task.")
    assert len(await rig.store.sessions()) == 1


async def test_a_failed_subagent_reports_its_cost() -> None:
    """Its card can show it, also when the session is read again."""
    rig = DelegateToolRig(
        {
            PARENT_PROMPT: delegate_script("alpha"),
            "alpha": replies_in_order(
                tool_call_reply(("say", {}), id_prefix="k"),
                [ModelRequestRejected(verbatim("The server refused the key."))],
            ),
        }
    )
    await rig.begin()
    await rig.conversation.run(PARENT_PROMPT)
    (answer,) = rig.events(ToolAnswered)
    assert not answer.ok
    assert answer.delegated is not None
    assert (answer.delegated.how, answer.delegated.steps) == ("failed", 1)


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
    await rig.begin()
    await rig.conversation.run(PARENT_PROMPT)
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
