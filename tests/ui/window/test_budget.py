"""A session's spending: in sight, with a budget and a clear stop; approvals; a wait for the summary."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.events.session import BudgetSet
from helix_desktop.domain.events.summary import NO_MODEL, HandoverMade, ObservationsMade
from helix_desktop.ui.chat.rows.row_types import DividerRow, NoticeRow
from helix_desktop.ui.window.session_cost import BudgetDialog
from helix_desktop.ui.window.sidebar.session_list import row_end
from tests.support.model_servers.chat_server import (
    Call,
    Hang,
    Reply,
    StreamedReply,
    Text,
    TokenCounts,
    text_reply,
)
from tests.support.window.buttons import press
from tests.support.window.chat_geometry import action_names, press_action
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop


def reader(steps: int) -> Callable[[dict[str, Any]], Reply]:
    """A model that reads a file `steps` times per turn; each step costs 1,000 tokens."""

    def script(request: dict[str, Any]) -> Reply:
        messages = request["messages"]
        newest = max(n for n, message in enumerate(messages) if message["role"] == "user")
        done = sum(message["role"] == "assistant" for message in messages[newest:])
        usage = TokenCounts(900, 100)
        if done < steps:
            call = Call("read_file", '{"path": "a.txt"}', id=f"r{len(messages)}")
            return StreamedReply(call, usage=usage)
        return StreamedReply(Text("Read."), usage=usage)

    return script


async def set_to(rig: WindowRig, tokens: str) -> None:
    dialog = await rig.dialog(BudgetDialog)
    line = dialog.form.line("tokens")
    line.selectAll()
    QTest.keyClicks(line, tokens)
    count = len(rig.events(BudgetSet))
    press(dialog, "set_budget")
    await until(lambda: len(rig.events(BudgetSet)) > count, "the budget on record")


async def test_spending_has_a_budget_approvals_and_ways_out_of_a_wait(rig: WindowRig) -> None:
    """The last step has a workspace of its own: its policy is another."""
    await _check_a_budget(rig)
    await _check_an_approval_of_spending(rig)
    await _check_a_wait_for_the_summary(rig)


async def _check_a_budget(rig: WindowRig) -> None:
    """Below the message, in header, list and card; a session whose budget was raised or lifted goes on."""
    async with rig.answered_by(reader(5), "budget", {"a.txt": "words"}):
        line = rig.window.cost_line
        assert not line.isVisible(), "there is no price and no budget"
        rig.window.commands.set_budget.trigger()
        await set_to(rig, "3k")
        assert rig.events(BudgetSet) == [BudgetSet(3_000)]
        await until(
            lambda: line.text() == "Session usage: 0 tokens sent and received · 0 % of budget (3k tokens)",
            "the budget in sight",
        )
        QTest.mouseClick(line, Qt.MouseButton.LeftButton)
        (await rig.dialog(BudgetDialog)).close()
        await rig.run_turn("Go")
        (ended,) = rig.events(TurnEnded)
        assert ended.cause == "budget"
        assert (
            line.text()
            == "Session usage: 3k tokens sent and received · price unknown · 100 % of budget (3k tokens)"
        )
        await _check_spent(rig, is_spent=True)
        (notice,) = rig.rows(NoticeRow)
        assert "3,000 of 3,000 tokens" in notice.why
        press_action(rig.chat.view, notice, "set_budget")
        await set_to(rig, "4,500")
        press_action(rig.chat.view, notice, "retry")
        await until(lambda: len(rig.events(TurnEnded)) == 2, "the end of the next turn")
        await rig.wait_for_turn_end()
        assert [row.level for row in rig.rows(NoticeRow)] == ["info", "warning"]
        assert "4,000 of 4,500" in rig.rows(NoticeRow)[0].why
        assert [row.text for row in rig.rows(DividerRow)] == [
            "Budget: 3,000 tokens",
            "Budget: 4,500 tokens",
            "Attempt 1 failed",
        ]
        for typed, is_spent in (("4k", True), ("off", False), ("3k", True), ("none", False)):
            count = len(rig.events(BudgetSet))
            rig.type_message(f"/budget {typed}")
            await until(partial(_has_events, rig, count), f"the budget {typed}")
            await _check_spent(rig, is_spent=is_spent)
        press_action(rig.chat.view, rig.rows(NoticeRow)[-1], "continue")
        await until(lambda: len(rig.events(TurnEnded)) == 3, "the end of the next turn")
        assert rig.events(TurnEnded)[-1].how == "done"
        past = [row for row in rig.rows(NoticeRow) if "used up" in row.what][-1]
        assert (past.level, past.fix, past.actions) == ("info", "", ()), "a later message went on from it"


def _has_events(rig: WindowRig, count: int) -> bool:
    return len(rig.events(BudgetSet)) > count


async def _check_spent(rig: WindowRig, *, is_spent: bool) -> None:
    """Wait until list, header and card say so: they are updated one after another."""
    expected = ("warning", ("set_budget", "retry")) if is_spent else ("info", ("continue", "retry"))

    def is_shown() -> bool:
        (item,) = rig.window.sidebar.session_list.sessions()
        notice = rig.rows(NoticeRow)[-1]
        places = row_end(item, "now")[0], rig.window.top_bar.status()
        named = [text.startswith("Budget spent") for text in places]
        return named == [is_spent] * 2 and (notice.level, action_names(notice)) == expected

    await until(is_shown, "list, header and card")
    assert ("Raise the budget" in rig.rows(NoticeRow)[-1].fix) is is_spent


BY_HAND = {"observe_at": 0.0, "observe_place_at": 0.0}


def answers(request: dict[str, Any]) -> Reply:
    """Long answers, and observations."""
    last = str(request["messages"][-1]["content"])
    if last.startswith("[Write observations]"):
        return text_reply("".join(f"- (1) Word {n} was talked about, at length. [e4]\n" for n in range(30)))
    return text_reply("some words " * 700)


async def _check_an_approval_of_spending(rig: WindowRig) -> None:
    """The price of a summary that the user starts survives switching sessions, and blocks no turn."""
    async with rig.answered_by(answers):
        await rig.change_policy(**BY_HAND)
        for _ in range(6):
            await rig.run_turn("Go on")
        rig.window.commands.observe_now.trigger()
        first = rig.conversation.session.id
        await until(lambda: "Summarize older messages?" in rig.banner_text(), "the question")
        assert "price unknown" in rig.banner_text()
        await rig.wiring.workspace_controller.new_session()
        assert "Summarize older messages?" not in rig.banner_text()
        await rig.wiring.workspace_controller.open_session(first)
        assert "Summarize older messages?" in rig.banner_text()
        await rig.run_turn("A word")
        assert "Summarize older messages?" in rig.banner_text()
        assert rig.events(ObservationsMade) == []
        price = rig.banner_text()
        press(rig.window.notices, "spend-observations:allow")
        await until(lambda: rig.banner_text() != price, "the price with the new turn")
        await until(lambda: "Summarize older messages?" in rig.banner_text(), "the question again")
        press(rig.window.notices, "spend-observations:allow")
        await until(lambda: len(rig.events(ObservationsMade)) == 1, "the summary")


async def run_until_a_step_waits(rig: WindowRig) -> None:
    ends = len(rig.events(TurnEnded))
    while not rig.conversation.summary_wait.is_active:
        rig.type_message("Go on")
        ends += 1
        await until(partial(has_ended_or_waits, rig, ends), "the end of the turn, or a wait")


def has_ended_or_waits(rig: WindowRig, ends: int) -> bool:
    """Return True once so many turns have ended, or a step waits."""
    return rig.conversation.summary_wait.is_active or len(rig.events(TurnEnded)) >= ends


async def _check_a_wait_for_the_summary(rig: WindowRig) -> None:
    """Continue without a model makes room at once; Stop ends the turn. Another session doesn't show it."""

    def hang(request: dict[str, Any]) -> Reply:
        is_summary = str(request["messages"][-1]["content"]).startswith("[Write a handover]")
        return StreamedReply(Hang()) if is_summary else text_reply("some words " * 1_500)

    async with rig.answered_by(hang, "full", window=16_000):
        await rig.change_policy(handover_at=0.95, observe_at=0.0, observe_place_at=0.0, fold_after_steps=0)
        await run_until_a_step_waits(rig)
        waiting = rig.conversation.session.id
        await rig.wiring.workspace_controller.new_session()
        assert "waiting for the handover summary" not in rig.banner_text()
        await rig.wiring.workspace_controller.open_session(waiting)
        assert "waiting for the handover summary" in rig.banner_text()
        assert "in 5 minutes at the latest" in rig.banner_text()
        press(rig.window.notices, "summary-wait:continue")
        await rig.wait_for_turn_end()
        assert "waiting for the handover summary" not in rig.banner_text()
        (made,) = rig.events(HandoverMade)
        assert (made.model, made.fallback) == (NO_MODEL, "You continued without a model.")
        await until(lambda: any(row.kind == "context" for row in rig.rows(DividerRow)), "it is said")
        await run_until_a_step_waits(rig)
        press(rig.window.notices, "summary-wait:stop")
        await until(lambda: not rig.conversation.is_running, "the end of the turn")
        assert rig.events(TurnEnded)[-1].how == "stopped"
        assert "waiting for the handover summary" not in rig.banner_text()
        rig.conversation.handovers.cancel()
