"""Background work over a limit asks first; meanwhile a full window is still kept valid."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.ports import Approver
from helix_desktop.agent.session import CompactionProgress, ErrorRaised, SpendDecided, SpendRequestsChanged
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.cost import Budget
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import NO_MODEL, HandoverFailed, HandoverMade, ObservationsMade
from helix_desktop.domain.messages import ModelInfo, ModelResponse
from tests.support.agent_rig import AgentRig
from tests.support.handover_rig import NO_SWEEP
from tests.support.observation_rig import PLACE_AT_ONCE, thinking_turn_script
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply, thinking_script

PRICED = ModelInfo("test", "priced", 8_000, 400, price_in=2.0, price_out=10.0)
UNPRICED = ModelInfo("test", "unpriced", 8_000, 400)
ASKING = msgspec.structs.replace(NO_SWEEP, ask_above=1_000)


async def fill_window(info: ModelInfo = PRICED, steps: int = 6, policy: ContextPolicy = ASKING) -> AgentRig:
    """Start a session of two turns whose window passes 85 % in the second, which has so many steps."""
    rig = AgentRig(ScriptedModel(thinking_script(6), info), policy)
    await rig.begin()
    for remaining in (steps, 0):
        assert (await rig.conversation.run("Think.")).how == "done"
        await rig.wait_until_idle()
        rig.model.script = thinking_script(remaining)
    return rig


async def unobserved_session(ask_above: int) -> AgentRig:
    """Return a session with more unobserved turns than its policy allows."""
    rig = AgentRig(
        ScriptedModel(thinking_turn_script(), UNPRICED),
        msgspec.structs.replace(PLACE_AT_ONCE, ask_above=ask_above),
    )
    await rig.begin()
    for _ in range(5):
        await rig.conversation.run("Think. Never touch main.")
        await rig.wait_until_idle()
    return rig


async def test_a_large_handover_waits_for_approval() -> None:
    """No request is sent; the question has tokens, money and the model; a yes starts it."""
    rig = await fill_window()
    (spend_request,) = rig.conversation.spend_requests
    assert rig.model.summary_requests == []
    assert (spend_request.work, spend_request.limit, spend_request.estimate.model) == (
        "handover",
        1_000,
        "test/priced",
    )
    assert spend_request.estimate.tokens > 1_000
    assert spend_request.estimate.cost == pytest.approx(
        (spend_request.estimate.tokens * 2 + 1_200 * 10) / 1_000_000
    )
    rig.conversation.answer_spend_request("handover", "allow")
    assert rig.conversation.spend_requests == ()
    await rig.wait_until_idle()
    assert len(rig.model.summary_requests) == len(rig.events(HandoverMade)) == 1
    estimates = {
        update.estimate for update in rig.updates_of(CompactionProgress) if update.phase == "summarize"
    }
    assert estimates == {spend_request.estimate}


async def test_an_open_question_blocks_no_turn_and_a_full_window_is_kept_valid() -> None:
    """The turn goes on; at 95 % space is made without a model, and the question goes with its cause."""
    rig = await fill_window(steps=14)
    assert rig.model.summary_requests == []
    (handover,) = rig.events(HandoverMade)
    assert (handover.model, handover.trigger) == (NO_MODEL, HandoverTrigger.OVERFLOW)
    assert rig.updates_of(SpendRequestsChanged)[0].requests
    assert rig.conversation.window.measure()[1].fits


async def test_a_refusal_changes_nothing_and_is_not_asked_again() -> None:
    """Not by the next turns: only when the history has changed."""
    rig = await fill_window()
    before = rig.conversation.window.measure()[0]
    rig.conversation.answer_spend_request("handover", "refuse")
    await rig.wait_until_idle()
    assert rig.conversation.window.measure()[0] == before
    rig.clock.advance_s(10_000)
    await rig.conversation.run("A word.")
    await rig.wait_until_idle()
    assert rig.conversation.spend_requests == ()
    assert rig.model.summary_requests == rig.events(HandoverMade) == rig.events(HandoverFailed) == []


async def test_the_handover_can_be_made_without_a_model() -> None:
    """The window becomes smaller at once, and nothing is sent."""
    rig = await fill_window()
    rig.conversation.answer_spend_request("handover", "no model")
    await rig.wait_until_idle()
    (handover,) = rig.events(HandoverMade)
    assert (handover.model, handover.spent) == (NO_MODEL, 0)
    assert rig.model.summary_requests == []


async def test_observations_ask_too_with_an_unknown_price() -> None:
    """For all unobserved history, also an imported one; a yes makes them."""
    rig = await unobserved_session(ask_above=500)
    (spend_request,) = rig.conversation.spend_requests
    assert (spend_request.work, spend_request.limit, spend_request.estimate.cost) == (
        "observations",
        500,
        None,
    )
    assert rig.model.observation_requests == []
    rig.conversation.answer_spend_request("observations", "allow")
    await rig.wait_until_idle()
    assert len(rig.events(ObservationsMade)) == 1


async def test_an_imported_history_is_not_sent_without_approval() -> None:
    """Opening it makes no request, and the first turn there ends with the question."""
    rig = await unobserved_session(ask_above=0)
    rig.workspace.policy = msgspec.structs.replace(rig.workspace.policy, observe_at=0.0, observe_place_at=0.0)
    request_count = len(rig.model.observation_requests)
    for _ in range(4):
        await rig.conversation.run("Think. Never touch main.")
    await rig.conversation.close()
    workspace = rig.create_workspace(rig.store, msgspec.structs.replace(PLACE_AT_ONCE, ask_above=500))
    conversation = await workspace.open_session(rig.conversation.session.id)
    assert not conversation.spend_requests
    await conversation.run("Go on.")
    await conversation.wait_for_background_work()
    assert len(rig.model.observation_requests) == request_count
    assert [request.work for request in conversation.spend_requests] == ["observations"]
    await conversation.close()


@pytest.mark.parametrize(("ask_above", "is_asked"), [(0, False), (1, True), (7_900, False)])
async def test_the_policy_sets_the_limit(ask_above: int, is_asked: bool) -> None:
    """0 disables the questions; a limit counts as it was saved, also above half the window."""
    rig = await fill_window(policy=msgspec.structs.replace(ASKING, ask_above=ask_above))
    assert bool(rig.conversation.spend_requests) is is_asked
    assert bool(rig.model.summary_requests) is not is_asked


def test_no_profile_asks() -> None:
    assert {policy.ask_above for policy in PROFILES.values()} == {0}


@pytest.mark.parametrize("approver", [None, FixedApprover("deny")], ids=["in the app", "headless"])
async def test_a_budget_without_room_stops_background_work_and_says_so(approver: Approver | None) -> None:
    """Once for the same history; with a larger budget it goes on."""
    rig = AgentRig(ScriptedModel(thinking_script(11), UNPRICED), NO_SWEEP, approver=approver)
    await rig.begin()
    await rig.conversation.run("Think.")
    left = 3_000  # enough for another call, too little to read what the handover covers
    await rig.conversation.budget.set_limit(Budget(tokens=rig.conversation.budget.spent.tokens + left))
    answers = asyncio.Event()
    rig.model.script = replies_in_order([answers, ModelResponse("An answer.")])
    turn = asyncio.create_task(rig.conversation.run("Think. " * 60))  # noqa: TID251 - awaited below
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
    await rig.conversation.run("Go on.")
    await rig.wait_until_idle()
    assert rig.model.summary_requests
    assert len(rig.updates_of(ErrorRaised)) == 1


async def test_a_spent_budget_stops_background_work_and_says_so_once() -> None:
    """The turn that spent it was complete: nothing else says why nothing is noted after it."""
    policy = msgspec.structs.replace(PLACE_AT_ONCE, observe_at=0.0, observe_place_at=0.0)
    rig = AgentRig(ScriptedModel(lambda _: text_reply("word " * 600)), policy)
    await rig.begin()
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
    await rig.conversation.run("Go on.")
    await rig.wait_until_idle()
    assert len(rig.model.observation_requests) == 1


async def test_a_budget_in_money_has_room_for_what_has_no_price() -> None:
    """As for the steps themselves, which it does not stop either."""
    rig = AgentRig(ScriptedModel(thinking_script(12), UNPRICED), NO_SWEEP)
    await rig.begin()
    await rig.conversation.budget.set_limit(Budget(cost=5.0))
    await rig.conversation.run("Think.")
    await rig.wait_until_idle()
    assert rig.model.summary_requests
    assert rig.updates_of(ErrorRaised) == []


async def test_notes_that_the_user_asks_for_show_their_price_first() -> None:
    """However little they read, and whatever the policy says: nothing is sent before the answer."""
    rig = await unobserved_session(ask_above=10**6)
    noted = len(rig.model.observation_requests)
    rig.conversation.observations.start(is_price_shown=True)
    await rig.wait_until_idle()
    (request,) = rig.conversation.spend_requests
    assert (request.work, request.limit) == ("observations", 0)
    assert request.estimate.tokens > 0
    rig.conversation.answer_spend_request("observations", "refuse")
    await rig.wait_until_idle()
    assert len(rig.model.observation_requests) == noted
    rig.conversation.observations.start(is_price_shown=True)
    await rig.wait_until_idle()
    rig.conversation.answer_spend_request("observations", "allow")
    await rig.wait_until_idle()
    assert len(rig.model.observation_requests) == noted + 1
    assert rig.conversation.spend_requests == ()


async def test_the_demo_model_never_asks() -> None:
    """It sends nothing anywhere."""
    rig = await fill_window(msgspec.structs.replace(PRICED, demo=True))
    assert rig.conversation.spend_requests == ()
    assert rig.model.summary_requests


@pytest.mark.parametrize(
    ("info", "budget", "allowed"),
    [
        (PRICED, Budget(), False),
        (PRICED, Budget(tokens=10**6), True),
        (PRICED, Budget(cost=5.0), True),
        (UNPRICED, Budget(cost=5.0), False),
        (UNPRICED, Budget(tokens=10**6), True),
    ],
)
async def test_in_a_headless_run_the_budget_decides(info: ModelInfo, budget: Budget, allowed: bool) -> None:
    """Work over the budget does not start, and the decision is reported once."""
    rig = AgentRig(ScriptedModel(thinking_script(12), info), ASKING, approver=FixedApprover("deny"))
    await rig.begin()
    if budget != Budget():
        await rig.conversation.budget.set_limit(budget)
    await rig.conversation.run("Think.")
    await rig.wait_until_idle()
    (decided,) = rig.updates_of(SpendDecided)
    assert decided.allowed is allowed
    assert rig.conversation.spend_requests == ()
    assert bool(rig.model.summary_requests) is allowed
