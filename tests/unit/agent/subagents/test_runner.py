"""Subagents: sessions of their own, side by side; only the result reaches the parent."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.agent.session_updates import ApprovalRequested, ResponseDelta
from helix_desktop.agent.subagents.runner import SubagentResult
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.rewrite import SweepMade
from helix_desktop.domain.events.session import (
    ApprovalGiven,
    AssistantSpoke,
    SessionStarted,
    ToolAnswered,
    TurnEnded,
)
from helix_desktop.domain.messages import ModelInfo, ModelResponse, Usage
from helix_desktop.domain.store.entries import SessionSummary
from tests.support.scripted_model import (
    ScriptedModel,
    replies_in_order,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)
from tests.support.subagent_rig import (
    PARENT_PROMPT,
    SubagentRig,
    are_valid,
    delegate_script,
    requests_text,
    start_subagents,
    waiting_script,
)

SWEEPING = msgspec.structs.replace(PROFILES["plain"], protect_steps=2, least_saving=1)


async def test_several_work_side_by_side() -> None:
    """Both run at once; each brings back its own result, under the call that asked for it."""
    scripts = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": waiting_script("alpha"),
        "beta": waiting_script("beta"),
    }
    family = SubagentRig(scripts)
    await start_subagents(family, 2)
    family.tools.gate.set()
    await family.wait_until_idle()
    await family.assert_consistent()
    alpha, beta = await family.subagent_sessions()
    for child, call, words in ((alpha, "c0", "alpha"), (beta, "c1", "beta")):
        log = [one.event for one in await family.stored_log(child)]
        assert log[0] == SessionStarted(words, family.conversation.session.id, call)
        assert log[-1] == TurnEnded("done")
        (answer,) = [one for one in family.events(ToolAnswered) if one.call_id == call]
        assert answer.subagent == child
        assert answer.ok
        assert answer.text.startswith(f"{words} found")
        assert f"session {child}, 2 model calls" in answer.text
    assert tool_result_texts(family.requests_of(PARENT_PROMPT)[-1]) == [
        one.text for one in family.events(ToolAnswered)
    ]
    assert len(family.requests_of("alpha")) == len(family.requests_of("beta")) == 2


async def test_their_status_is_told_while_they_run() -> None:
    """The parent's listeners hear each phase with use, window and steps, and nothing else of them."""
    family = SubagentRig({PARENT_PROMPT: delegate_script("alpha"), "alpha": waiting_script("alpha")})
    await start_subagents(family, 1)
    (child,) = await family.subagent_sessions()
    at_work = family.progress_of(child)[-1]
    assert (at_work.phase, at_work.steps, at_work.title) == ("working", 1, "alpha")
    assert 0 < at_work.used < at_work.window == 8_000
    arrived = len(family.updates_of(ResponseDelta))
    family.tools.gate.set()
    await family.wait_until_idle()
    moves = family.progress_of(child)
    assert [one.phase for one in moves[-3:]] == ["thinking", "thinking", "done"]
    assert moves[-1].steps == 2
    assert moves[-1].used > at_work.used
    assert "".join(one.text for one in family.updates_of(ResponseDelta)[arrived:]) == "Done."
    assert len(moves) == len(set(moves)), "what does not change is not told again"


async def test_windows_are_apart() -> None:
    """No word of the parent is sent for a subagent, and of a subagent only its last words for the parent."""
    family = SubagentRig(
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
    await family.begin()
    await family.conversation.run(PARENT_PROMPT)
    await family.conversation.run("And now?")
    await family.assert_consistent()
    parents, childs = (
        requests_text(family.requests_of(PARENT_PROMPT)),
        requests_text(family.requests_of("alpha")),
    )
    assert "childs-" not in parents
    assert "the result" in parents
    assert "parents-" not in childs
    assert PARENT_PROMPT not in childs
    first = family.requests_of("alpha")[0]
    assert [one.role for one in first.messages] == ["system", "user"]
    assert are_valid(family.model.requests)


async def test_a_policy_of_its_own_acts() -> None:
    """With the same outputs in both windows the subagent's are swept, and the parent's are not."""
    outputs = [
        tool_call_reply(("say", {"text": "words " * 40, "times": 3}), text="On.", id_prefix=f"k{step}")
        for step in range(6)
    ]
    family = SubagentRig(
        {
            PARENT_PROMPT: replies_in_order(*outputs, tool_call_reply(("delegate", {"task": "alpha"}))),
            "alpha": replies_in_order(*outputs),
        },
        PROFILES["off"],
    )
    family.delegating_tools.policy = SWEEPING
    await family.begin()
    await family.conversation.run(PARENT_PROMPT)
    (child,) = await family.subagent_sessions()
    sweeps = [one for one in await family.stored_log(child) if isinstance(one.event, SweepMade)]
    assert sweeps
    assert family.events(SweepMade) == []
    assert any("[CACHED]" in text for text in tool_result_texts(family.requests_of("alpha")[-1]))
    assert not any("[CACHED]" in text for text in tool_result_texts(family.requests_of(PARENT_PROMPT)[-1]))
    await family.assert_consistent()


async def test_a_policy_that_is_not_given_is_the_rooms() -> None:
    """What the person changes for the workspace holds for its subagents from the next step on."""
    outputs = [
        tool_call_reply(("say", {"text": "words " * 40, "times": 3}), id_prefix=f"k{step}")
        for step in range(6)
    ]
    family = SubagentRig(
        {
            PARENT_PROMPT: delegate_script("alpha"),
            "alpha": replies_in_order(tool_call_reply(("wait", {}), id_prefix="w-"), *outputs),
        }
    )
    await start_subagents(family, 1)
    family.workspace.policy = SWEEPING
    family.tools.gate.set()
    await family.wait_until_idle()
    (child,) = await family.subagent_sessions()
    assert [one for one in await family.stored_log(child) if isinstance(one.event, SweepMade)]


async def test_a_model_of_its_own_answers() -> None:
    """The given model is asked, and its window counts; the parent's is asked for the parent alone."""
    own = ScriptedModel(
        replies_in_order(text_reply("By another.")), ModelInfo("test", "other", window=5_000, reserve=100)
    )
    family = SubagentRig({PARENT_PROMPT: delegate_script("alpha")})
    family.delegating_tools.model = own
    await family.begin()
    await family.conversation.run(PARENT_PROMPT)
    (child,) = await family.subagent_sessions()
    assert family.requests_of("alpha") == []
    assert len(own.requests) == 1
    assert family.progress_of(child)[-1].window == 5_000
    assert family.events(ToolAnswered)[0].text.startswith("By another.")


async def test_a_large_result_goes_through_intake() -> None:
    """Its preview stands in the parent's window; all of it is in the cache of the workspace."""
    lines = [f"finding number {number} in module {number % 7}" for number in range(1_500)]
    family = SubagentRig(
        {PARENT_PROMPT: delegate_script("alpha"), "alpha": replies_in_order(text_reply("\n".join(lines)))}
    )
    await family.begin()
    await family.conversation.run(PARENT_PROMPT)
    (answer,) = family.events(ToolAnswered)
    assert answer.form == "preview"
    assert answer.tokens <= family.workspace.policy.preview_tokens
    kept = (await family.store.get(answer.digest)).decode()
    assert kept.startswith("\n".join(lines))
    assert f"session {answer.subagent}" in kept
    assert answer.subagent == (await family.subagent_sessions())[0]
    await family.assert_consistent()


async def test_what_it_cost_is_counted() -> None:
    """Reported tokens where the provider reports them, else our own count."""
    reported = ModelResponse("Found.", usage=Usage(1_000, 20))
    family = SubagentRig({"alpha": replies_in_order(tool_call_reply(("say", {}), id_prefix="k"), [reported])})
    await family.begin()
    result = await family.conversation.subagents.run("alpha", title=" a  title\nin two lines ")
    log = [one.event for one in await family.stored_log(result.session)]
    first = next(one for one in log if isinstance(one, AssistantSpoke))
    assert first.usage is None
    counted = first.estimate + first.tokens
    assert result == SubagentResult(result.session, "Found.", 2, 1_020 + counted, "done")
    assert counted > 0
    assert Transcript(await family.stored_log(result.session)).title == "a title in two lines"


async def test_a_session_without_a_title_is_named_after_its_task() -> None:
    """As a person's session is named after their first message."""
    family = SubagentRig({})
    await family.begin()
    await family.conversation.subagents.run("Find the callers of login().")
    (one,) = await family.workspace.sessions(family.conversation.session.id)
    assert one.title == "Find the callers of login()."


async def test_they_stay_out_of_the_list_and_can_be_opened() -> None:
    """A room's sessions are those that a person began; a subagent's is there by its id."""
    family = SubagentRig({PARENT_PROMPT: delegate_script("alpha", "beta")})
    await family.begin()
    await family.conversation.run(PARENT_PROMPT)
    assert [one.id for one in await family.workspace.sessions()] == [family.conversation.session.id]
    assert len(await family.store.sessions()) == 3
    children = await family.subagent_sessions()
    assert {one.parent for one in await family.workspace.sessions(family.conversation.session.id)} == {
        family.conversation.session.id
    }
    opened = await family.workspace.open_session(children[0])
    assert opened.session.transcript.parent == family.conversation.session.id
    assert await family.workspace.sessions(children[0]) == []


async def test_one_that_is_looked_at_is_the_one_that_runs() -> None:
    """Opened while it works it is the same conversation, is heard, and can be spoken to afterwards."""
    family = SubagentRig({PARENT_PROMPT: delegate_script("alpha"), "alpha": waiting_script("alpha")})
    await start_subagents(family, 1)
    (child,) = await family.subagent_sessions()
    opened = await family.workspace.open_session(child)
    assert opened.is_running
    family.tools.gate.set()
    await family.wait_until_idle()
    assert not opened.is_running
    assert "alpha found" in "".join(one.text for one in family.updates_of(ResponseDelta))
    assert await family.workspace.open_session(child) is opened
    told = family.progress_of(child)
    assert (await opened.run("Tell me more.")).how == "done"
    assert family.progress_of(child) == told, "what the person says there is not the parent's any more"
    assert opened.session.log == await family.stored_log(child)
    await family.assert_consistent()


async def test_its_questions_are_asked_at_the_parent() -> None:
    """Two calls of one id wait side by side, each under an id of its own, and each is answered."""
    asking = tool_call_reply(("ask", {"text": "child"}), ("say", {}), id_prefix="k")
    family = SubagentRig(
        {
            PARENT_PROMPT: delegate_script("alpha", "beta"),
            "alpha": replies_in_order(asking),
            "beta": replies_in_order(asking),
        }
    )
    await family.begin()
    await family.conversation.send(PARENT_PROMPT)
    await family.wait_until(lambda: len(family.conversation.asks) == 2)
    alpha, beta = await family.subagent_sessions()
    first, second = family.conversation.asks
    assert first.call_id != second.call_id
    assert {first.subagent_title, second.subagent_title} == {"alpha", "beta"}
    assert {one.ask for one in family.updates_of(ApprovalRequested)} == {first, second}
    await family.wait_until(lambda: family.tools.executed_calls == ["k1", "k1"])
    await family.wait_until(
        lambda: family.progress_of(alpha)[-1].phase == family.progress_of(beta)[-1].phase == "waiting"
    )
    assert not family.conversation.decide("k0", "once"), "no such call waits here"
    assert family.conversation.decide(first.call_id, "deny")
    assert family.conversation.decide(second.call_id, "once")
    await family.wait_until_idle()
    assert family.conversation.asks == []
    decided = []
    for child in (alpha, beta):
        events = [one.event for one in await family.stored_log(child)]
        decided += [one.decision for one in events if isinstance(one, ApprovalGiven)]
        assert [one.call_id for one in events if isinstance(one, ApprovalGiven)] == ["k0"]
    assert sorted(decided) == ["deny", "once"]
    assert family.events(ApprovalGiven) == []


async def test_a_saved_rule_holds_for_them() -> None:
    """Permissions are the workspace's."""
    asking = replies_in_order(tool_call_reply(("ask", {}), id_prefix="k"))
    family = SubagentRig(
        {PARENT_PROMPT: replies_in_order(tool_call_reply(("ask", {}), id_prefix="p")), "alpha": asking}
    )
    await family.begin()
    await family.conversation.send(PARENT_PROMPT)
    await family.wait_until(lambda: family.conversation.asks)
    family.conversation.decide("p0", "always")
    await family.wait_until_idle()
    result = await family.conversation.subagents.run("alpha")
    given = [
        one.event for one in await family.stored_log(result.session) if isinstance(one.event, ApprovalGiven)
    ]
    assert [(one.decision, one.rule) for one in given] == [("always", "Use ask, whatever it is asked")]


async def test_there_are_none_of_their_own() -> None:
    """They are not told of the tool; calling it, or going on with one by hand, is refused and says why."""
    nested = replies_in_order(tool_call_reply(("delegate", {"task": "beta"}), ("say", {}), id_prefix="k"))
    family = SubagentRig({PARENT_PROMPT: delegate_script("alpha"), "alpha": nested})
    await family.begin()
    await family.conversation.run(PARENT_PROMPT)
    (child,) = await family.subagent_sessions()
    assert [spec.name for spec in family.requests_of("alpha")[0].tools] == ["say"]
    assert [spec.name for spec in family.requests_of(PARENT_PROMPT)[0].tools] == ["say", "delegate"]
    refused = tool_result_texts(family.requests_of("alpha")[-1])[0]
    assert refused.startswith("A subagent cannot start subagents.")
    assert len(await family.store.sessions()) == 2
    opened = await family.workspace.open_session(child)
    with pytest.raises(ToolError, match="cannot start subagents"):
        await opened.subagents.run("beta")
    assert len(await family.store.sessions()) == 2


async def test_a_task_is_needed() -> None:
    """Nothing is begun for nothing."""
    family = SubagentRig({})
    await family.begin()
    with pytest.raises(ToolError, match="no task"):
        await family.conversation.subagents.run("  ")
    assert len(await family.store.sessions()) == 1


async def test_it_is_told_what_it_is() -> None:
    """Its system prompt is the workspace's with the subagents' own after it; the parent's is not changed."""
    family = SubagentRig({PARENT_PROMPT: delegate_script("alpha")})
    await family.begin()
    await family.conversation.run(PARENT_PROMPT)
    systems = [family.requests_of(one)[0].messages[0].text for one in (PARENT_PROMPT, "alpha")]
    assert systems == ["You are an agent.", "You are an agent.\n\nOnly your last words count."]


def test_lists_of_other_versions_are_read() -> None:
    """A summary of before has no parent and knows no ratio; one of later may know more."""
    row = {"id": "s", "title": "t", "created": 5, "updated": 6, "messages": 2, "model": "a/b", "events": 4}
    known = msgspec.msgpack.decode(msgspec.msgpack.encode(row), type=SessionSummary)
    assert (known.parent, known.ratios, known.events) == ("", {}, 4)
    later = msgspec.msgpack.encode({**row, "parent": "p", "ratios": {"a/b": 1.25}, "of later": 1})
    assert msgspec.msgpack.decode(later, type=SessionSummary).ratios == {"a/b": 1.25}


def test_what_is_not_done_does_not_look_done() -> None:
    """A result without words, or one that was cut off, is told as what it is."""
    cut = SubagentResult("s" * 32, "", 1, 10, "interrupted").output
    assert not cut.ok
    assert b"stopped before it was done" in cut.content
    assert b"1 model call]" in cut.content
    assert SubagentResult("s" * 32, "Found.", 2, 10, "done").output.ok
