"""A session's spending: always in sight, a budget with a click, a clear stop; approvals of what is read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QFontMetricsF, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.cost import Budget, Spending
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.events.session import BudgetSet
from helix_desktop.domain.events.summary import NO_MODEL, HandoverDiscarded, HandoverMade, ObservationsMade
from helix_desktop.providers.http import HttpClient
from helix_desktop.ui.chat.rows.row_types import DividerRow, NoticeRow
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.kit.forms import FieldRow
from helix_desktop.ui.window.session_status import BudgetDialog, _parse_budget
from helix_desktop.ui.window.sidebar.session_list import row_end
from helix_desktop.ui.window.status_lines import CostLine
from helix_desktop.words.costs import CostState, cost_text
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Hang,
    Reply,
    StreamedReply,
    Text,
    TokenCounts,
    text_reply,
)
from tests.support.model_servers.connect import connect_model
from tests.support.timeline_pane import find_card, pills
from tests.support.timeline_pane import press as press_card
from tests.support.window.buttons import find_child, press
from tests.support.window.chat_geometry import action_names, press_action
from tests.support.window.handover_window import has_draft, opened_handovers
from tests.support.window.window_rig import WindowRig, open_window, until

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


def _type(dialog: BudgetDialog, name: str, text: str) -> None:
    line = dialog.form.line(name)
    line.selectAll()
    QTest.keyClick(line, Qt.Key.Key_Backspace)
    QTest.keyClicks(line, text)


async def set_to(rig: WindowRig, tokens: str, cost: str = "") -> None:
    dialog = await rig.dialog(BudgetDialog)
    for name, text in (("tokens", tokens), ("cost", cost)):
        _type(dialog, name, text)
    count = len(rig.events(BudgetSet))
    press(dialog, "set_budget")
    await until(lambda: len(rig.events(BudgetSet)) > count, "the budget on record")


async def test_what_a_typed_limit_means(qapp: QApplication) -> None:
    """0 is no limit, a used-up one stops the session, and each fault is named; cents below one stay."""
    parent, spent = QWidget(), Spending(5_000, 0.5)
    dialog = BudgetDialog(parent, CostState(spent, Budget(cost=0.004)), has_prices=True)
    assert (dialog.form.line("cost").text(), dialog.budget) == ("0.004", Budget(0, 0.004))
    no_limit = "0: no limit."
    used_up = "Used up already: the next turn stops before its first model call."
    whole = "Enter a whole number, for example 200,000 or 200k."
    for name, typed, expected in (
        ("tokens", "0", no_limit),
        ("tokens", "5k", used_up),
        ("tokens", "8.2m", ""),
        ("tokens", "1.5", whole),
        ("tokens", "-3", "Enter 0 or more."),
        ("tokens", "1e400", "Enter a number."),
        ("tokens", "1e13", "Enter a smaller number."),
        ("tokens", "", ""),
        ("cost", "0.00", no_limit),
        ("cost", "0,5", used_up),
        ("cost", "nan", "Enter a number."),
    ):
        _type(dialog, name, typed)
        notes = [field.note_text() for field in dialog.findChildren(FieldRow)]
        assert notes == ([expected, used_up] if name == "tokens" else ["", expected]), typed


async def test_spending_is_in_sight_and_ends_at_its_budget(rig: WindowRig) -> None:
    """Each step has a workspace of its own."""
    await _check_a_budget(rig)
    await _check_an_invalid_number(rig)
    await _check_dollars(rig)


async def _check_a_budget(rig: WindowRig) -> None:
    """The spent amount is displayed below; a warning comes near the end; the end gives advice that works."""
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
        (notice,) = rig.rows(NoticeRow)
        assert (notice.level, action_names(notice)) == ("warning", ("set_budget", "retry"))
        assert "3,000 of 3,000 tokens" in notice.why
        assert rig.window.top_bar.status().startswith("Budget spent · ")
        (item,) = rig.window.sidebar.session_list.sessions()
        assert row_end(item, "now") == ("Budget spent", "warn")
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


async def _check_an_invalid_number(rig: WindowRig) -> None:
    """The field displays the error; leaving both empty removes the budget."""
    async with ChatServer(reader(0)) as server:
        await rig.begin("invalid", {"a.txt": "words"}, server, budget_tokens=5_000, budget_cost=1.5)
        await rig.run_turn("Go")
        assert (
            rig.window.cost_line.text()
            == "Session usage: 1k tokens sent and received · 1k tokens without a price"
            " · 20 % of budget (5k tokens or $1.50)"
        )
        rig.window.commands.set_budget.trigger()
        dialog = await rig.dialog(BudgetDialog)
        tokens, cost = dialog.form.line("tokens"), dialog.form.line("cost")
        assert (tokens.text(), cost.text()) == ("5000", "1.50")
        tokens.end(False)
        QTest.keyClicks(tokens, "x")
        before = dialog.budget
        assert "Enter a number." in [field.error_text() for field in dialog.findChildren(FieldRow)]
        press(dialog, "set_budget")
        assert rig.events(BudgetSet) == []
        assert dialog.budget == before
        await set_to(rig, "")
        assert rig.events(BudgetSet) == [BudgetSet()]
        await until(lambda: rig.window.cost_line.shown_text() == "", "no budget")


async def _check_dollars(rig: WindowRig) -> None:
    """In the line, and in the list of sessions."""
    async with rig.answered_by(reader(1), "dollars", {"a.txt": "words"}) as server:
        info = msgspec.structs.replace(rig.workspace.model.info, price_in=100.0, price_out=1_000.0)
        http = HttpClient()
        await rig.workspace.set_models(connect_model("openai-chat", info, server.base_url, http=http))
        await rig.run_turn("Go")
        await http.aclose()
        assert rig.window.cost_line.text() == "Session usage: 2k tokens sent and received · $0.38"
        assert rig.window.sidebar.session_list.sessions()[0].subtitle.startswith("$0.38 · ")
        await rig.conversation.session.record(HandoverDiscarded(100, 0.02, estimated=True))
        await until(
            lambda: rig.window.sidebar.session_list.sessions()[0].subtitle.startswith("≈ $0.40 · "),
            "an estimate",
        )


@pytest.mark.parametrize(
    ("has_prices", "is_free", "note"),
    [
        (True, False, ""),
        (False, False, "Prices of this model are unknown. Only its tokens count."),
        (False, True, "This model is free. Only its tokens count."),
    ],
)
async def test_a_limit_in_dollars_says_why_it_has_no_effect(
    qapp: QApplication, has_prices: bool, is_free: bool, note: str
) -> None:
    parent = QWidget()
    state = CostState(Spending(5_000), Budget())
    dialog = BudgetDialog(parent, state, has_prices=has_prices, is_free=is_free)
    notes = [label.text() for label in dialog.findChildren(QLabel) if "model" in label.text()]
    assert [text for text in notes if "Only its tokens" in text] == [note] * bool(note)


async def test_no_session_is_at_the_end_of_a_budget_that_was_lifted(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Header, list and card say so until there is budget again, also after a restart."""
    async with ChatServer(reader(5)) as server:
        async with open_window(qapp, tmp_path) as rig:
            await rig.open_folder("project", {"a.txt": "words"})
            await rig.use_server(server)
            rig.type_message("/budget 3k")
            await until(lambda: rig.events(BudgetSet), "the budget")
            await rig.run_turn("Go")
            await _check_spent(rig, is_spent=True)
            rig.type_message("/budget 2k")
            await until(lambda: len(rig.events(BudgetSet)) == 2, "a smaller one")
            await _check_spent(rig, is_spent=True)
            rig.type_message("/budget off")
            await until(lambda: len(rig.events(BudgetSet)) == 3, "no budget")
            await until(lambda: _spent_places(rig) == [], "the list and the header")
            await _check_spent(rig, is_spent=False)
            rig.type_message("/budget 3k")
            await until(lambda: len(_spent_places(rig)) == 2, "spent again")
            await _check_spent(rig, is_spent=True)
            rig.type_message("/budget none")
            await until(lambda: _spent_places(rig) == [], "lifted again")
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await until(lambda: rig.rows(NoticeRow), "the session")
            await until(rig.window.sidebar.session_list.sessions, "the list")
            await _check_spent(rig, is_spent=False)
            await rig.use_server(server)
            press_action(rig.chat.view, rig.rows(NoticeRow)[0], "continue")
            await until(lambda: len(rig.events(TurnEnded)) == 2, "the end of the next turn")
            assert rig.events(TurnEnded)[-1].how == "done"
            await _check_past_end(rig)
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await _check_past_end(rig)


async def _check_past_end(rig: WindowRig) -> None:
    """The card of the turn that a later message went on from asks for nothing."""
    await until(lambda: rig.rows(NoticeRow), "the card")
    (notice,) = [row for row in rig.rows(NoticeRow) if "used up" in row.what]
    assert (notice.level, notice.fix, notice.actions) == ("info", "", ())


def _spent_places(rig: WindowRig) -> list[str]:
    (item,) = rig.window.sidebar.session_list.sessions()
    states = (row_end(item, "now")[0], rig.window.top_bar.status())
    return [text for text in states if text.startswith("Budget spent")]


async def _check_spent(rig: WindowRig, *, is_spent: bool) -> None:
    """Wait until list, header and card say so: they are updated one after another."""
    expected = ("warning", ("set_budget", "retry")) if is_spent else ("info", ("continue", "retry"))

    def is_shown() -> bool:
        notice = rig.rows(NoticeRow)[-1]
        card = (notice.level, action_names(notice))
        return len(_spent_places(rig)) == 2 * is_spent and card == expected

    await until(is_shown, "list, header and card")
    assert ("Raise the budget" in rig.rows(NoticeRow)[-1].fix) is is_spent


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        *((word, Budget()) for word in ("off", "OFF", "none", "0", "$0", "0 $0")),
        ("0 $2.50", Budget(cost=2.5)),
        ("1k $0", Budget(tokens=1_000)),
    ],
)
def test_words_for_no_limit_lift_the_budget(typed: str, expected: Budget) -> None:
    """Each of them alone lifts both limits; beside a limit, a zero lifts the other one."""
    assert _parse_budget(typed, Budget(6_000, 1.0)) == expected


def test_a_word_that_is_no_limit_names_those_that_are() -> None:
    with pytest.raises(InvalidInput) as refused:
        _parse_budget("never", Budget(6_000, 1.0))
    assert "wasn't changed" in str(refused.value.what)
    assert "No limit: /budget off, none, 0 or $0." in str(refused.value.fix)


def test_the_line_says_less_where_it_is_narrow(qtbot: QtBot) -> None:
    """Nothing is cut: the cache goes first, then words of the usage, then the size of the budget."""
    line = CostLine()
    qtbot.addWidget(line)
    state = CostState(Spending(8_820, estimated=True, unpriced=8_820, cached=5_000), Budget(6_000))
    line.show_cost(state)
    full_text, shown = line.text(), []
    assert "147 % of budget (6k tokens) · Provider's discount" in full_text
    metrics = QFontMetricsF(fonts.sized(line.font(), 12))
    for width in range(1_000, 240, -10):
        line.resize(width, line.height())
        assert metrics.horizontalAdvance(line.shown_text()) < width
        shown.append(line.shown_text())
    budget = "147 % of budget (6k tokens)"
    assert list(dict.fromkeys(shown)) == [
        full_text,
        f"Session usage: {state.text} · {budget}",
        f"{state.text} · {budget}",
        f"≈ 8.8k tokens · {budget}",
        "≈ 8.8k tokens · 147 % of budget",
    ]
    assert line.text() == full_text
    QApplication.sendEvent(line, QHelpEvent(QEvent.Type.ToolTip, QPoint(), QPoint()))
    assert line.toolTip().startswith(full_text)


SUMMARY = "\n".join(f"## {title}\n- Words about it. [e4]" for title in TITLES)

ASKING = {
    "observe_at": 0.05, "observe_place_at": 0.9, "ask_above": 1_000, "handover_least_gain": 0.0,
    "handover_keep": 0.02,
}  # fmt: skip


def answers(request: dict[str, Any]) -> Reply:
    """Long answers, observations and handovers."""
    last = str(request["messages"][-1]["content"])
    if last.startswith("[Write observations]"):
        return text_reply("".join(f"- (1) Word {n} was talked about, at length. [e4]\n" for n in range(30)))
    return text_reply(SUMMARY) if last.startswith("[Write a handover]") else text_reply("some words " * 700)


def click(rig: WindowRig, name: str) -> None:
    button = find_child(rig.window.notices, QPushButton, name)
    button.click()


async def run_long_turns(rig: WindowRig, server: ChatServer, folder: str, turns: int = 6) -> None:
    """So many turns with long answers."""
    await rig.open_folder(folder)
    await rig.use_server(server)
    await rig.change_policy(**ASKING)
    for _ in range(turns):
        await rig.run_turn("Go on")


async def test_an_approval_stays_until_it_is_answered_and_a_dialog_displays_the_cost(rig: WindowRig) -> None:
    async with ChatServer(answers) as server:
        await _check_an_approval(rig, server)
        await _check_the_dialog(rig, server)


async def _check_an_approval(rig: WindowRig, server: ChatServer) -> None:
    """It survives switching sessions, blocks no turn, and its card then states the cost."""
    await run_long_turns(rig, server, "approved")
    first = rig.conversation.session.id
    await until(lambda: "Prepare the next compaction?" in rig.banner_text(), "the question")
    assert "price unknown" in rig.banner_text()
    await rig.wiring.workspace_controller.new_session()
    assert "Prepare the next compaction?" not in rig.banner_text()
    await rig.wiring.workspace_controller.open_session(first)
    assert "Prepare the next compaction?" in rig.banner_text()
    await rig.run_turn("A word")
    assert "Prepare the next compaction?" in rig.banner_text()
    assert rig.events(ObservationsMade) == []
    click(rig, "spend-observations:allow")
    await until(lambda: "Prepare the next compaction?" not in rig.banner_text(), "no question")
    await rig.wait_for_turn_end()
    (event,) = rig.events(ObservationsMade)
    rig.window.show_page("timeline")
    expected_cost = cost_text(event.spent, event.cost)
    timeline = rig.views.timeline.get()
    (seq,) = (entry.seq for entry in rig.conversation.session.log if entry.event is event)
    await until(lambda: find_card(timeline, seq), "its card")
    press_card(timeline, seq, "fold:details")
    assert expected_cost.endswith("tokens · price unknown")
    assert f"Used {expected_cost}" in pills(timeline, seq)


async def _check_the_dialog(rig: WindowRig, server: ChatServer) -> None:
    """It displays the cost of a handover before anything is written, and again for another end.

    The same work then needs no question.
    """
    await run_long_turns(rig, server, "refused")
    await until(lambda: "Prepare the next compaction?" in rig.banner_text(), "the question")
    click(rig, "spend-observations:refuse")
    rig.window.commands.compact_now.trigger()
    dialog = await opened_handovers(rig)
    await until(lambda: dialog.ranges.price.text().startswith("Reads ≈ "), "the price")
    furthest = dialog.ranges.price.text()
    assert "tokens · price unknown" in furthest
    dialog.ranges.box.setCurrentIndex(dialog.ranges.box.count() - 2)  # the last one is for a new session
    price = dialog.ranges.price.text
    await until(lambda: price().startswith("Reads ≈ ") and price() != furthest, "the price of another end")
    dialog.write_button.click()
    await until(lambda: has_draft(dialog), "the draft")
    dialog.use_button.click()
    await until(lambda: rig.events(HandoverMade), "the handover")


async def run_until_a_step_waits(rig: WindowRig) -> None:
    ends = len(rig.events(TurnEnded))
    while not rig.conversation.summary_wait.is_active:
        rig.type_message("Go on")
        ends += 1
        await until(partial(has_ended_or_waits, rig, ends), "the end of the turn, or a wait")


def has_ended_or_waits(rig: WindowRig, ends: int) -> bool:
    """Return True once so many turns have ended, or a step waits."""
    return rig.conversation.summary_wait.is_active or len(rig.events(TurnEnded)) >= ends


async def test_a_step_that_waits_for_the_summary_says_so_with_two_ways_out(rig: WindowRig) -> None:
    """Continue without a model makes room at once; Stop ends the turn. Another session doesn't show it."""

    def hang(request: dict[str, Any]) -> Reply:
        is_summary = str(request["messages"][-1]["content"]).startswith("[Write a handover]")
        return StreamedReply(Hang()) if is_summary else text_reply("some words " * 1_500)

    async with rig.answered_by(hang, "full", window=16_000):
        await rig.change_policy(handover_at=0.95, observe_at=0.0, observe_place_at=0.0, fold_after_steps=0)
        await run_until_a_step_waits(rig)
        waiting = rig.conversation.session.id
        await rig.wiring.workspace_controller.new_session()
        assert "waiting for the summary" not in rig.banner_text()
        await rig.wiring.workspace_controller.open_session(waiting)
        assert "waiting for the summary" in rig.banner_text()
        click(rig, "summary-wait:continue")
        await rig.wait_for_turn_end()
        assert "waiting for the summary" not in rig.banner_text()
        (made,) = rig.events(HandoverMade)
        assert (made.model, made.fallback) == (NO_MODEL, "You continued without a model.")
        await until(lambda: any(row.kind == "context" for row in rig.rows(DividerRow)), "it is said")
        await run_until_a_step_waits(rig)
        click(rig, "summary-wait:stop")
        await until(lambda: not rig.conversation.is_running, "the end of the turn")
        assert rig.events(TurnEnded)[-1].how == "stopped"
        assert "waiting for the summary" not in rig.banner_text()
        rig.conversation.handovers.cancel()
