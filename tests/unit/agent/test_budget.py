"""A session's budget: counted over all its calls and its subagents', reported at 80 %, a clear stop."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.open_workspace import subagent_sessions, total_spending
from helix_desktop.agent.session import ErrorRaised
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.cost import Budget, Spending, call_cost, format_usd
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from helix_desktop.domain.events.session import BudgetNeared
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelInfo, ModelResponse, Usage
from helix_desktop.domain.store import SessionSummary
from tests.support.agent_rig import AgentRig
from tests.support.handover_rig import NO_SWEEP
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
    """Return a model that calls forever, each call of `each` tokens in and out."""
    numbers = iter(range(1_000))
    return lambda _: costing(tool_call_reply(("say", {}), id_prefix=f"s{next(numbers)}-"), each - 10, 10)


async def start_session(
    script: Script, policy: ContextPolicy = PLAIN, budget: Budget | None = None
) -> AgentRig:
    rig = AgentRig(ScriptedModel(script, PRICED), policy)
    conversation = await rig.begin()
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


async def test_unreported_cost_is_estimated() -> None:
    """Also of an interrupted answer, for its text so far."""
    rig = await start_session(replies_in_order(text_reply("A few words only.")))
    await rig.conversation.run("Go.")
    (answer,) = rig.events(AssistantSpoke)
    expected = (answer.estimate * 2.0 + answer.tokens * 10.0) / 1_000_000
    assert answer.cost == pytest.approx(expected)
    assert rig.conversation.budget.spent.tokens == answer.estimate + answer.tokens > 0


async def test_a_stopped_request_costs_what_was_shown_before_it() -> None:
    """Its tokens as the gauge had them, most of them from the provider's cache."""
    never = asyncio.Event()
    reported = costing(text_reply("A few words only."), 1_000, 50, cached=600)
    rig = AgentRig(SendingModel(replies_in_order(reported, [never]), PRICED), PLAIN)
    await (await rig.begin()).run("Go.")
    await rig.conversation.send("Go on.")
    await rig.wait_until(lambda: len(rig.model.requests) == 2)
    used, cost = rig.conversation.window.measure()[1].used, rig.conversation.window.cost()
    assert cost.cached > 0
    await rig.conversation.stop()
    stopped = rig.events(TurnEnded)[-1]
    assert (stopped.spent, stopped.cost) == (used, pytest.approx(cost.cost))


async def test_an_answer_without_a_report_costs_what_was_shown_before_it() -> None:
    """By the reports before it: the model's tokens per token of ours, and what its provider has cached."""
    reported = costing(text_reply("A few words only."), 1_000, 50, cached=600)
    waits = asyncio.Event()
    rig = AgentRig(SendingModel(replies_in_order(reported, [waits, *text_reply("More.")]), PRICED), PLAIN)
    await (await rig.begin()).run("Go.")
    await rig.conversation.send("Go on.")
    await rig.wait_until(lambda: len(rig.model.requests) == 2)
    used, cost = rig.conversation.window.measure()[1].used, rig.conversation.window.cost().cost
    before = rig.conversation.budget.spent
    waits.set()
    await rig.wait_until(lambda: not rig.conversation.is_running)
    answer, spent = rig.events(AssistantSpoke)[-1], rig.conversation.budget.spent
    assert cost is not None
    assert spent.tokens - before.tokens == used + answer.tokens
    assert spent.cost - before.cost == pytest.approx(cost + answer.tokens * PRICED.price_out / 1_000_000)


async def test_the_provider_cache_is_that_of_the_session_s_own_steps() -> None:
    """Subagents have their own: after a restart no more is known of theirs."""
    rig = await start_session(replies_in_order(text_reply("Done.")))
    rig.conversation.budget.subagent_spending["child"] = Spending(90, 0.5, True, 40, 10, 30)
    assert rig.conversation.budget.spent == Spending(90, 0.5, True)


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
    own, spent = rig.conversation.session.transcript.spending, rig.conversation.budget.spent
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
    await conversation.run("Go.")
    await conversation.run("Wait.")
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


def test_money_is_formatted_for_readers() -> None:
    """Cents where there are some, and more digits below a cent."""
    assert [format_usd(amount) for amount in (0.0, 0.00002, 0.0042, 0.1, 12.3, 1234.5)] == [
        "$0.00",
        "< $0.0001",
        "$0.0042",
        "$0.10",
        "$12.30",
        "$1,234.50",
    ]


def test_cached_input_without_a_price_costs_as_other_input() -> None:
    """An unknown price is not assumed to be lower."""
    info = msgspec.structs.replace(PRICED, price_cached=0.0)
    assert call_cost(info, Usage(1_000, 0, 1_000)) == pytest.approx(0.002)
    assert call_cost(ModelInfo("local", "free"), Usage(1_000, 1_000)) == 0.0


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
