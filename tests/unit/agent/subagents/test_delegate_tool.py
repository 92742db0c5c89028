"""The tool `delegate`: tasks that the agent gives out, and their sessions."""

from __future__ import annotations

import msgspec

from helix_desktop.agent.models.roles import ModelRoles
from helix_desktop.agent.subagents.runner import MAX_PARALLEL_SUBAGENTS
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.errors import ModelRequestRejected
from helix_desktop.domain.events.rewrite import SweepMade
from helix_desktop.domain.events.session import (
    ApprovalGiven,
    ModelChosen,
    SessionStarted,
    SubagentStarted,
    ToolAnswered,
    TurnEnded,
)
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.tools import SubagentUsage
from tests.support.scripted_model import (
    ScriptedModel,
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

SWEEPING = msgspec.structs.replace(PROFILES["plain"], protect_steps=2, least_saving=1)
MANY = tuple(f"task {number}" for number in range(MAX_PARALLEL_SUBAGENTS + 2))


async def test_the_agent_gives_out_tasks_side_by_side() -> None:
    """Both work at once; the parent's log says which session does which call, and what each took."""
    scripts = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": waiting_script("alpha"),
        "beta": waiting_script("beta"),
    }
    house = DelegateToolRig(scripts)
    await start_subagents(house, 2)
    house.tools.gate.set()
    await house.wait_until_idle()
    await house.assert_consistent()
    alpha, beta = await house.subagent_sessions()
    assert house.events(SubagentStarted) == [
        SubagentStarted("c0", alpha, "alpha"),
        SubagentStarted("c1", beta, "beta"),
    ]
    for child, call in ((alpha, "c0"), (beta, "c1")):
        (answer,) = [one for one in house.events(ToolAnswered) if one.call_id == call]
        spent = house.progress_of(child)[-1].spent_tokens
        assert (answer.subagent, answer.delegated) == (child, SubagentUsage("done", 2, spent))
        assert spent > 0
        assert {one.call_id for one in house.progress_of(child)} == {call}
        assert house.progress_of(child)[-1].current_tool == f"wait {answer.text.split()[0]}"
    assert tool_result_texts(house.requests_of(PARENT_PROMPT)[-1]) == [
        one.text for one in house.events(ToolAnswered)
    ]
    assert house.events(ApprovalGiven) == [], "nobody is asked whether one may begin"
    assert are_valid(house.model.requests)


async def test_only_so_many_work_at_once() -> None:
    """The others wait for a place and say so; all get theirs."""
    house = DelegateToolRig(
        {PARENT_PROMPT: delegate_script(*MANY)} | {one: waiting_script(one) for one in MANY}
    )
    await start_subagents(house, MAX_PARALLEL_SUBAGENTS)
    children = await house.subagent_sessions()
    assert len(children) == len(MANY)
    await house.wait_until(lambda: all(house.progress_of(child) for child in children))
    phases = [house.progress_of(child)[-1].phase for child in children]
    assert phases == ["working"] * MAX_PARALLEL_SUBAGENTS + ["queued", "queued"]
    assert [house.progress_of(child)[-1].started_at_ms > 0 for child in children] == [
        True
    ] * MAX_PARALLEL_SUBAGENTS + [False] * 2
    assert len(house.tools.executed_calls) == MAX_PARALLEL_SUBAGENTS
    house.tools.gate.set()
    await house.wait_until_idle()
    assert [one.text.split(" found")[0] for one in house.events(ToolAnswered)] == sorted(MANY)
    await house.assert_consistent()


async def test_one_that_waits_for_a_place_is_stopped_with_the_others() -> None:
    """It never begins; the calls are answered, and say where the logs are."""
    house = DelegateToolRig(
        {PARENT_PROMPT: delegate_script(*MANY)} | {one: waiting_script(one) for one in MANY}
    )
    await start_subagents(house, MAX_PARALLEL_SUBAGENTS)
    children = await house.subagent_sessions()
    await house.conversation.stop()
    await house.assert_consistent()
    last = (await house.stored_log(children[-1]))[-1].event
    assert isinstance(last, SessionStarted)
    assert [one.subagent for one in house.events(ToolAnswered)] == children
    assert {one.outcome for one in house.events(ToolAnswered)} == {"interrupted"}


async def test_wrong_arguments_are_told_to_the_agent() -> None:
    """What is wrong, and what the tool takes; nothing is begun."""
    calls = tool_call_reply(
        ("delegate", {"job": "x"}), ("delegate", {"task": "x", "model": "best"}), ("delegate", {"task": " "})
    )
    house = DelegateToolRig({PARENT_PROMPT: replies_in_order(calls)})
    await house.begin()
    await house.conversation.run(PARENT_PROMPT)
    unknown, model, empty = tool_result_texts(house.requests_of(PARENT_PROMPT)[-1])
    assert unknown.startswith("delegate was called with wrong arguments.")
    assert "task, title?, model? (one of main, fast, long)" in unknown
    assert "model" in model
    assert empty.startswith("The subagent was given no task.")
    assert len(await house.store.sessions()) == 1


async def test_one_that_fails_says_what_it_took() -> None:
    """Its card can say so, also when the session is read again."""
    house = DelegateToolRig(
        {
            PARENT_PROMPT: delegate_script("alpha"),
            "alpha": replies_in_order(
                tool_call_reply(("say", {}), id_prefix="k"),
                [ModelRequestRejected("The server refused the key.")],
            ),
        }
    )
    await house.begin()
    await house.conversation.run(PARENT_PROMPT)
    (answer,) = house.events(ToolAnswered)
    assert not answer.ok
    assert answer.delegated is not None
    assert (answer.delegated.how, answer.delegated.steps) == ("failed", 1)


async def test_one_opened_after_its_end_goes_on_as_what_it_was() -> None:
    """Its own policy holds, it is told what subagents are told, and it has no tool to start others."""
    outputs = [
        tool_call_reply(("say", {"text": "words " * 40, "times": 3}), id_prefix=f"k{step}")
        for step in range(6)
    ]
    house = DelegateToolRig({"alpha": replies_in_order(text_reply("Begun."), *outputs)}, PROFILES["off"])
    await house.begin()
    done = await house.conversation.subagents.run("alpha", SWEEPING)
    again = house.create_workspace(house.store, PROFILES["off"])
    opened = await again.open_session(done.session)
    assert opened.session.transcript.session_policy == SWEEPING
    assert (await opened.run("Go on.")).how == "done"
    request = house.requests_of("alpha")[-1]
    assert request.messages[0].text.endswith("Only your last words count.")
    assert [spec.name for spec in request.tools] == ["say"]
    assert [one for one in opened.session.log if isinstance(one.event, SweepMade)]
    assert isinstance(opened.session.log[-1].event, TurnEnded)
    await again.close()


async def test_the_role_of_its_model_is_kept() -> None:
    """The workspace's model of that role answers, also later; without one the main model does."""
    fast = ScriptedModel(
        replies_in_order(text_reply("Quickly."), text_reply("Again.")), ModelInfo("test", "fast")
    )
    other = ScriptedModel(replies_in_order(text_reply("Otherwise.")), ModelInfo("test", "other"))
    asked = [("delegate", {"task": "alpha", "title": one, "model": one}) for one in ("fast", "long")]
    house = DelegateToolRig({PARENT_PROMPT: replies_in_order(tool_call_reply(*asked))})
    await house.workspace.set_models(ModelRoles(house.model, fast=fast))
    await house.begin()
    await house.conversation.run(PARENT_PROMPT)
    quick, long = await house.subagent_sessions()
    firsts = [(await house.stored_log(one))[0].event for one in (quick, long)]
    parent = house.conversation.session.id
    assert firsts == [
        SessionStarted("fast", parent, "c0", "fast"),
        SessionStarted("long", parent, "c1", "long"),
    ]
    assert [one.text.split("\n")[0] for one in house.events(ToolAnswered)] == ["Quickly.", "Done."]
    opened = [await house.workspace.open_session(one) for one in (quick, long)]
    await house.workspace.set_models(other)
    await opened[0].run("Go on.")
    await opened[1].run("Go on.")
    assert [(len(one.requests)) for one in (fast, other)] == [2, 1]


async def test_a_subagent_answers_by_the_model_that_its_session_has_chosen() -> None:
    """Also when it is opened later; another session, and one model for all, are not touched by the choice."""
    script = replies_in_order(tool_call_reply(("delegate", {"task": "alpha"})), text_reply("Done."))
    own = ScriptedModel(script, ModelInfo("test", "own"))
    forced = ScriptedModel(replies_in_order(text_reply("Forced.")), ModelInfo("test", "forced"))
    house = DelegateToolRig({PARENT_PROMPT: delegate_script("alpha")})

    house.configured_models["test/own"] = own
    await house.begin()
    parent = house.conversation.session.id
    await house.workspace.choose_model(parent, "test/own")
    await house.conversation.run(PARENT_PROMPT)
    (child,) = await house.subagent_sessions()
    assert [one.event for one in await house.stored_log(child)][1] == ModelChosen("test/own")
    assert (await house.workspace.open_session(child)).model.label == "test/own"
    assert (await house.workspace.create_session()).model.label == house.model.info.label

    await house.workspace.set_models(forced)
    assert house.conversation.model.label == "test/forced"
    await house.workspace.set_models(ModelRoles(house.model))
    assert house.conversation.model.label == "test/own"
    await house.workspace.choose_model(parent, "")
    assert house.conversation.model.label == house.model.info.label
