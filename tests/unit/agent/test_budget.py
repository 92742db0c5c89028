"""What a session may spend: counted over all its calls and its subagents', told at 80 %, a clear stop."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.agent.session_updates import ErrorRaised
from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.domain.cost import Budget, Spending, call_cost, format_usd
from helix_desktop.domain.events.session import AssistantSpoke, BudgetNeared, ToolAnswered, TurnEnded
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelInfo, ModelResponse, Usage
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import (
    SUMMARY,
    Script,
    ScriptedModel,
    ScriptedReply,
    replies_in_order,
    text_reply,
    thinking_script,
    tool_call_reply,
)
from tests.support.subagent_rig import PARENT_PROMPT, DelegateToolRig, delegate_script

PRICED = ModelInfo("test", "priced", 8_000, 400, price_in=2.0, price_cached=0.5, price_out=10.0)
PLAIN = PROFILES["plain"]


# Outputs stay in the window, so that it is the handover that must make room.
NO_SWEEP = msgspec.structs.replace(
    PROFILES["balanced"], protect_steps=1_000, protect_tokens=10**6, preview_above=0.8, observe_at=0.0
)


def costing(play: ScriptedReply, given: int, told: int, cached: int = 0) -> ScriptedReply:
    """The same play with tokens that the provider reports."""
    *pieces, answer = play
    assert isinstance(answer, ModelResponse)
    return [*pieces, msgspec.structs.replace(answer, usage=Usage(given, told, cached))]


def working(each: int) -> Script:
    """A model that calls for ever, each call of `each` tokens in and out."""
    made = iter(range(1_000))
    return lambda _: costing(tool_call_reply(("say", {}), id_prefix=f"s{next(made)}-"), each - 10, 10)


async def begun(script: Script, policy: ContextPolicy = PLAIN, budget: Budget | None = None) -> AgentRig:
    """A session with a budget."""
    rig = AgentRig(ScriptedModel(script, PRICED), policy)
    talk = await rig.begin()
    if budget is not None:
        await talk.budget.set_limit(budget)
    return rig


async def test_a_turn_ends_before_the_step_that_it_cannot_pay() -> None:
    """At 80 % that is told, once; at 100 % it ends with what, why and what to do; then it can go on."""
    rig = await begun(working(300), budget=Budget(tokens=1_000))
    ended = await rig.conversation.run("Go.")
    assert (ended.how, ended.cause) == ("failed", "budget")
    assert "budget of this session" in ended.what
    assert "1,200 of 1,000 tokens" in ended.why
    assert "Raise the budget" in ended.fix
    assert len(rig.model.requests) == 4
    (neared,) = rig.events(BudgetNeared)
    assert (neared.tokens, neared.most_tokens, neared.most_cost) == (900, 1_000, 0.0)
    assert neared.cost == pytest.approx(0.00204)
    assert rig.events(TurnEnded) == [ended]
    await rig.assert_consistent()
    assert (await rig.conversation.run("Once more.")).cause == "budget"
    assert len(rig.model.requests) == 4, "nothing is sent"
    await rig.conversation.budget.set_limit(Budget(tokens=2_000))
    rig.model.script = replies_in_order(costing(text_reply("Done."), 390, 10))
    assert (await rig.conversation.run("Go on.")).how == "done"
    rig.model.script = replies_in_order(text_reply("Done."))
    assert (await rig.conversation.run("And on.")).how == "done"
    assert [one.most_tokens for one in rig.events(BudgetNeared)] == [1_000, 2_000]
    await rig.assert_consistent()


async def test_what_a_step_cost_is_on_record() -> None:
    """By the prices of the model that answered; what the provider had cached is cheaper."""
    step = costing(tool_call_reply(("say", {})), 1_000, 100, 600)
    rig = await begun(replies_in_order(step), budget=Budget(cost=0.002))
    assert (await rig.conversation.run("Go.")).cause == "budget"
    (spoke,) = rig.events(AssistantSpoke)
    assert spoke.cost == pytest.approx((400 * 2.0 + 600 * 0.5 + 100 * 10.0) / 1_000_000)
    assert rig.conversation.budget.spent == Spending(1_100, spoke.cost)
    assert "$0.0021 of $0.0020 are spent" in rig.events(TurnEnded)[0].why
    (listed,) = await rig.workspace.sessions()
    assert (listed.spent, listed.cost) == (1_100, spoke.cost)


async def test_what_is_not_reported_is_estimated() -> None:
    """Also of an answer that was cut off, as far as it had come."""
    rig = await begun(replies_in_order(text_reply("A few words only.")))
    await rig.conversation.run("Go.")
    (spoke,) = rig.events(AssistantSpoke)
    expected = (spoke.estimate * 2.0 + spoke.tokens * 10.0) / 1_000_000
    assert spoke.cost == pytest.approx(expected)
    assert rig.conversation.budget.spent.tokens == spoke.estimate + spoke.tokens > 0


async def test_the_policy_gives_a_budget_to_sessions_without_their_own() -> None:
    """What the person says for a session holds instead, also that it may spend what it takes."""
    policy = msgspec.structs.replace(PLAIN, budget_tokens=500)
    rig = await begun(working(300), policy)
    assert rig.conversation.budget.limit == Budget(500)
    assert (await rig.conversation.run("Go.")).cause == "budget"
    assert len(rig.model.requests) == 2
    await rig.conversation.budget.set_limit(Budget())
    rig.model.script = replies_in_order(text_reply("Done."))
    assert (await rig.conversation.run("Go on.")).how == "done"


async def test_subagents_spend_from_the_budget_of_their_parent() -> None:
    """They end when it is spent, their parent after them; what they took counts after a restart too."""
    scripts: dict[str, Script] = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": working(400),
        "beta": working(400),
    }
    house = DelegateToolRig(scripts, PLAIN)
    await house.begin()
    await house.conversation.budget.set_limit(Budget(tokens=3_000))
    ended = await house.conversation.run(PARENT_PROMPT)
    assert ended.cause == "budget"
    answers = house.events(ToolAnswered)
    assert not any(one.ok for one in answers)
    assert all("The budget of the session that this one works for is spent" in one.text for one in answers)
    own, spent = house.conversation.session.transcript.spending, house.conversation.budget.spent
    assert spent.tokens == own.tokens + sum(one.delegated.tokens for one in answers) >= 3_000
    assert spent.tokens - 400 * 2 < 3_000, "neither began a call when it was spent"
    again = house.create_workspace(house.store, PLAIN)
    opened = await again.open_session(house.conversation.session.id)
    assert opened.budget.spent == spent
    child = await again.open_session(answers[0].subagent)
    assert (await child.run("Go on.")).cause == "budget"
    await house.assert_consistent()
    await again.close()


async def test_no_summary_is_begun_that_cannot_be_paid() -> None:
    """Not by itself, which would only be told as trouble; by hand it says why."""
    model = ScriptedModel(
        thinking_script(9), summary_script=lambda _: costing(text_reply(SUMMARY), 2_000, 100)
    )
    rig = AgentRig(model, NO_SWEEP)
    talk = await rig.begin()
    await talk.run("Go.")
    await talk.run("Wait.")
    model.script = thinking_script(2, 1_600)
    await talk.budget.set_limit(Budget(tokens=talk.budget.spent.tokens + 1))
    assert (await talk.run("Go on.")).cause == "budget"
    await talk.wait_for_background_work()
    assert talk.measure()[1].pressure == "compact", "a handover would be due"
    assert (rig.updates_of(ErrorRaised), model.summary_requests) == ([], [])
    talk.compact()
    await talk.wait_for_background_work()
    assert [one.what for one in rig.updates_of(ErrorRaised)] == ["The budget of this session is spent."]
    assert model.summary_requests == []
    before = talk.budget.spent.tokens
    await talk.budget.set_limit(Budget())
    talk.compact()
    await talk.wait_for_background_work()
    assert [one.spent for one in rig.events(HandoverMade)] == [2_100]
    assert talk.budget.spent.tokens == before + 2_100
    await rig.assert_consistent()


def test_money_is_written_as_people_do() -> None:
    """Cents where there are some, and more digits where these say nothing."""
    assert [format_usd(one) for one in (0.0, 0.00002, 0.0042, 0.1, 12.3, 1234.5)] == [
        "$0.00",
        "< $0.0001",
        "$0.0042",
        "$0.10",
        "$12.30",
        "$1,234.50",
    ]


def test_cached_input_without_a_price_costs_what_other_input_does() -> None:
    """What is not known is not made cheaper than it may be."""
    info = msgspec.structs.replace(PRICED, price_cached=0.0)
    assert call_cost(info, Usage(1_000, 0, 1_000)) == pytest.approx(0.002)
    assert call_cost(ModelInfo("local", "free"), Usage(1_000, 1_000)) == 0.0


def test_of_two_limits_the_nearer_counts() -> None:
    """Without a limit nothing is ever spent."""
    spent = Spending(500, 1.5)
    assert Budget(1_000, 2.0).share(spent) == 0.75
    assert Budget(1_000).share(spent) == 0.5
    assert Budget().share(spent) == 0.0
    assert Budget(1_000, 2.0).usage_text(spent) == "500 of 1,000 tokens, $1.50 of $2.00"
