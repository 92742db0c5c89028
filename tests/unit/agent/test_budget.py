"""A session's budget, and background work that asks before it spends."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.open_workspace import subagent_sessions, total_spending
from helix_desktop.agent.ports import Approver
from helix_desktop.agent.session import ErrorRaised, SpendRequestsChanged
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.cost import Budget, Spending
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from helix_desktop.domain.events.session import BudgetNeared
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelInfo, ModelResponse, Usage
from helix_desktop.domain.store import SessionSummary
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.compaction_rig import NO_SWEEP, PLACE_AT_ONCE, thinking_turn_script
from tests.support.scripted_model import (
    SUMMARY,
    Script,
    ScriptedModel,
    ScriptedReply,
    SendingModel,
    replies_in_order,
    text_reply,
    thinking_script,
    tool_call_reply,
)
from tests.support.subagent_rig import PARENT_PROMPT, DelegateToolRig, delegate_script

PRICED = ModelInfo("test", "priced", 8_000, 400, price_in=2.0, price_cached=0.5, price_out=10.0)
PLAIN = PROFILES["plain"]


def costing(reply: ScriptedReply, input_tokens: int, output_tokens: int, cached: int = 0) -> ScriptedReply:
    *pieces, answer = reply
    assert isinstance(answer, ModelResponse)
    return [*pieces, msgspec.structs.replace(answer, usage=Usage(input_tokens, output_tokens, cached))]


def working(each: int) -> Script:
    numbers = iter(range(1_000))
    return lambda _: costing(tool_call_reply(("say", {}), id_prefix=f"s{next(numbers)}-"), each - 10, 10)


async def start_session(
    script: Script, policy: ContextPolicy = PLAIN, budget: Budget | None = None
) -> AgentRig:
    rig, conversation = await begin_with(script=script, info=PRICED, policy=policy)
    if budget is not None:
        await conversation.budget.set_limit(budget)
    return rig


async def test_a_turn_ends_before_a_step_over_budget() -> None:
    """80 % is reported once; at 100 % it ends with what, why and what to do; then it can go on."""
    rig = await start_session(working(300), budget=Budget(tokens=1_000))
    ended = await rig.conversation.run("Go.")
    assert (ended.how, ended.cause) == ("failed", "budget")
    assert "session budget" in ended.what
    assert "1,200 of 1,000 tokens" in ended.why
    assert "Raise the budget" in ended.fix
    assert len(rig.model.requests) == 4
    (warning,) = rig.events(BudgetNeared)
    assert (warning.tokens, warning.most_tokens, warning.most_cost) == (900, 1_000, 0.0)
    assert warning.cost == pytest.approx(0.00204)
    assert rig.events(TurnEnded) == [ended]
    await rig.assert_consistent()
    assert (await rig.conversation.run("Once more.")).cause == "budget"
    assert len(rig.model.requests) == 4, "nothing is sent"
    await rig.conversation.budget.set_limit(Budget(tokens=2_000))
    rig.model.script = replies_in_order(costing(text_reply("Done."), 390, 10))
    assert (await rig.conversation.run("Go on.")).how == "done"
    rig.model.script = replies_in_order(text_reply("Done."))
    assert (await rig.conversation.run("And on.")).how == "done"
    assert [event.most_tokens for event in rig.events(BudgetNeared)] == [1_000, 2_000]


async def test_the_cost_of_a_step_is_recorded() -> None:
    """By the prices of the model that answered; what the provider had cached is cheaper."""
    step = costing(tool_call_reply(("say", {})), 1_000, 100, 600)
    rig = await start_session(replies_in_order(step), budget=Budget(cost=0.002))
    assert (await rig.conversation.run("Go.")).cause == "budget"
    (answer,) = rig.events(AssistantSpoke)
    assert answer.cost == pytest.approx((400 * 2.0 + 600 * 0.5 + 100 * 10.0) / 1_000_000)
    assert rig.conversation.budget.spent == Spending(1_100, answer.cost, cached=600, fresh=400)
    assert "$0.0021 of $0.0020" in rig.events(TurnEnded)[0].why
    (summary,) = await rig.workspace.sessions()
    assert (summary.spent, summary.cost) == (1_100, answer.cost)


async def test_an_answer_without_a_report_costs_what_was_shown_before_it() -> None:
    """By the reports before it: the model's tokens per token of ours, and what its provider has cached."""
    reported = costing(text_reply("A few words only."), 1_000, 50, cached=600)
    waits = asyncio.Event()
    rig = AgentRig(SendingModel(replies_in_order(reported, [waits, *text_reply("More.")]), PRICED), PLAIN)
    await (await rig.begin()).run("Go.")
    await rig.conversation.send("Go on.")
    await rig.wait_until(lambda: len(rig.model.requests) == 2)
    used = rig.conversation.window.measure()[1].used
    cost = rig.conversation.window.cost().cost
    before = rig.conversation.budget.spent
    waits.set()
    await rig.wait_until(lambda: not rig.conversation.is_running)
    answer = rig.events(AssistantSpoke)[-1]
    spent = rig.conversation.budget.spent
    assert cost is not None
    assert spent.tokens - before.tokens == used + answer.tokens
    assert spent.cost - before.cost == pytest.approx(cost + answer.tokens * PRICED.price_out / 1_000_000)


async def test_the_policy_s_budget_applies_to_sessions_without_their_own() -> None:
    """The user's setting for a session overrides it, also with no limit."""
    policy = msgspec.structs.replace(PLAIN, budget_tokens=500)
    rig = await start_session(working(300), policy)
    assert rig.conversation.budget.limit == Budget(500)
    assert (await rig.conversation.run("Go.")).cause == "budget"
    assert len(rig.model.requests) == 2
    await rig.conversation.budget.set_limit(Budget())
    rig.model.script = replies_in_order(text_reply("Done."))
    assert (await rig.conversation.run("Go on.")).how == "done"


async def test_subagents_spend_from_the_budget_of_their_parent() -> None:
    """They end when it is spent, their parent after them; their cost counts after a restart too."""
    scripts: dict[str, Script] = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": working(400),
        "beta": working(400),
    }
    rig = DelegateToolRig(scripts, PLAIN)
    await rig.begin()
    await rig.conversation.budget.set_limit(Budget(tokens=3_000))
    ended = await rig.conversation.run(PARENT_PROMPT)
    assert ended.cause == "budget"
    answers = rig.events(ToolAnswered)
    assert not any(answer.ok for answer in answers)
    assert all("The budget of the parent session is used up" in answer.text for answer in answers)
    own = rig.conversation.session.transcript.spending
    spent = rig.conversation.budget.spent
    assert spent.tokens == own.tokens + sum(answer.delegated.tokens for answer in answers) >= 3_000
    assert spent.tokens - 400 * 2 < 3_000, "neither began a call when it was spent"
    again = rig.create_workspace(rig.store, PLAIN)
    opened = await again.open_session(rig.conversation.session.id)
    assert opened.budget.spent == spent
    child = await again.open_session(answers[0].subagent)
    assert (await child.run("Go on.")).cause == "budget"
    await rig.assert_consistent()
    await again.close()


async def test_no_summary_is_started_over_budget() -> None:
    """Not automatically, which would only be reported as an error; manually it gives the reason."""
    model = ScriptedModel(
        thinking_script(9), summary_script=lambda _: costing(text_reply(SUMMARY), 2_000, 100)
    )
    rig = AgentRig(model, NO_SWEEP)
    conversation = await rig.begin()
    await rig.say("Go.", "Wait.")
    model.script = thinking_script(2, 1_600)
    await conversation.budget.set_limit(Budget(tokens=conversation.budget.spent.tokens + 1))
    assert (await conversation.run("Go on.")).cause == "budget"
    await conversation.wait_for_background_work()
    assert conversation.window.measure()[1].is_due, "a handover would be due"
    assert (rig.updates_of(ErrorRaised), model.summary_requests) == ([], [])
    conversation.handovers.start()
    await conversation.wait_for_background_work()
    (error,) = rig.updates_of(ErrorRaised)
    assert error.what == "The conversation wasn't compacted."
    assert error.why.startswith("The session budget is used up.")
    assert model.summary_requests == []
    before = conversation.budget.spent.tokens
    await conversation.budget.set_limit(Budget())
    conversation.handovers.start()
    await conversation.wait_for_background_work()
    assert [event.spent for event in rig.events(HandoverMade)] == [2_100]
    assert conversation.budget.spent.tokens == before + 2_100


def test_the_nearer_of_two_limits_counts() -> None:
    """Without a limit nothing is ever exceeded."""
    spent = Spending(500, 1.5)
    assert Budget(1_000, 2.0).share(spent) == 0.75
    assert Budget(1_000).share(spent) == 0.5
    assert Budget().share(spent) == 0.0


def test_what_a_session_spent_includes_its_subagents_alone() -> None:
    session = SessionSummary("s", "Mine", 0, 0, 0, 0, 0, "", 0, spent=10, cost=0.5)
    child, other = (
        SessionSummary(
            name, "", 0, 0, 0, 0, 0, "", 0, parent=parent, spent=5, cost=0.25, estimated=True, unpriced=2
        )
        for name, parent in (("c", "s"), ("d", "o"))
    )
    assert total_spending(session, subagent_sessions([session, child, other])) == Spending(
        15, 0.75, estimated=True, unpriced=2
    )


async def test_what_the_provider_cached_for_subagents_is_not_the_session_s() -> None:
    rig = await start_session(replies_in_order(text_reply("Done.")))
    rig.conversation.budget.subagent_spending["child"] = Spending(90, 0.5, True, 40, 10, 30)
    assert rig.conversation.budget.spent == Spending(90, 0.5, True)


UNPRICED = ModelInfo("test", "unpriced", 8_000, 400)


async def unobserved_session(info: ModelInfo = UNPRICED) -> AgentRig:
    """Return a session with turns that no summary stands for."""
    rig, _ = await begin_with(script=thinking_turn_script(), info=info, policy=PLACE_AT_ONCE)
    for _ in range(5):
        await rig.run_and_wait("Think. Never touch main.")
    return rig


@pytest.mark.parametrize("approver", [None, FixedApprover("deny")], ids=["in the app", "headless"])
async def test_a_budget_without_room_stops_background_work_and_says_so(approver: Approver | None) -> None:
    """Once for the same history; with a larger budget it goes on."""
    rig, _ = await begin_with(script=thinking_script(10), info=UNPRICED, policy=NO_SWEEP, approver=approver)
    await rig.conversation.run("Think.")
    left = 3_000  # enough for another call, too little to read what the handover covers
    await rig.conversation.budget.set_limit(Budget(tokens=rig.conversation.budget.spent.tokens + left))
    answers = asyncio.Event()
    rig.model.script = replies_in_order([answers, ModelResponse("An answer.")])
    turn = asyncio.create_task(rig.conversation.run("Think. " * 300))  # noqa: TID251 - awaited below
    await rig.wait_for_updates(ErrorRaised)
    answers.set()
    assert (await turn).how == "done"
    await rig.wait_until_idle()
    assert rig.model.summary_requests == []
    (warning,) = rig.updates_of(ErrorRaised)
    assert warning.is_warning
    assert warning.what == "The conversation wasn't compacted."
    assert "would exceed the session budget. Used: " in warning.why
    assert "--budget-tokens" in warning.fix
    assert warning.remedies == ("set_budget",)
    await rig.conversation.budget.set_limit(Budget(tokens=10**6))
    await rig.run_and_wait("Go on.")
    assert rig.model.summary_requests
    assert len(rig.updates_of(ErrorRaised)) == 1


async def test_a_spent_budget_stops_background_work_and_says_so_once() -> None:
    """The turn that spent it was complete: nothing else says why nothing is noted after it."""
    policy = msgspec.structs.replace(PLACE_AT_ONCE, observe_at=0.0, observe_place_at=0.0)
    rig, _ = await begin_with(script=lambda _: text_reply("word " * 600), policy=policy)
    for _ in range(6):
        await rig.conversation.run("Think. Never touch main.")
    rig.workspace.policy = PLACE_AT_ONCE
    await rig.conversation.budget.set_limit(Budget(tokens=rig.conversation.budget.spent.tokens + 1))
    assert (await rig.conversation.run("And now?")).how == "done"
    await rig.wait_until_idle()
    assert (await rig.conversation.run("And now?")).cause == "budget"
    (warning,) = rig.updates_of(ErrorRaised)
    assert (warning.what, warning.is_warning) == ("No summary was written.", True)
    assert warning.why.startswith("The session budget is used up. Used: ")
    assert rig.model.observation_requests == []
    await rig.conversation.budget.set_limit(Budget())
    await rig.run_and_wait("Go on.")
    assert len(rig.model.observation_requests) == 1


async def test_notes_that_the_user_asks_for_show_their_price_first() -> None:
    """However little they read, and whatever the policy says: nothing is sent before the answer."""
    rig = await unobserved_session()
    noted = len(rig.model.observation_requests)
    rig.conversation.observations.start(is_price_shown=True)
    await rig.wait_until_idle()
    (request,) = rig.conversation.spend_requests
    assert request.work == "observations"
    assert request.estimate.tokens > 0
    rig.conversation.answer_spend_request("refuse")
    await rig.wait_until_idle()
    assert len(rig.model.observation_requests) == noted
    rig.conversation.observations.start(is_price_shown=True)
    await rig.wait_until_idle()
    rig.conversation.answer_spend_request("allow")
    await rig.wait_until_idle()
    assert len(rig.model.observation_requests) == noted + 1
    assert rig.conversation.spend_requests == ()


async def test_the_demo_model_never_asks() -> None:
    """It sends nothing anywhere."""
    rig = await unobserved_session(msgspec.structs.replace(UNPRICED, demo=True))
    noted = len(rig.model.observation_requests)
    rig.conversation.observations.start(is_price_shown=True)
    await rig.wait_until_idle()
    assert rig.updates_of(SpendRequestsChanged) == []
    assert len(rig.model.observation_requests) == noted + 1
