"""The policy page over a session: the replay of what is previewed, and what applying it changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QWidget

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.session import PolicyChosen
from helix_desktop.ui.settings.policy.replay_card import ReplayCard
from tests.support.model_servers.chat_server import ChatServer, StreamedReply, Text
from tests.support.scripted_replays import ScriptedReplays
from tests.support.window.buttons import find_button, find_buttons, press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def _open_page(rig: WindowRig, replays: ScriptedReplays) -> None:
    rig.wiring.settings.replays.create_worker = lambda: replays
    await rig.wiring.settings.show("policy")
    for fold in (rig.settings.policy.replay, rig.settings.policy.numbers):
        fold.head.setChecked(True)


def _text(page: QWidget, name: str) -> str:
    words = page.findChild(QLabel, name)
    assert isinstance(words, QLabel)
    return "" if words.isHidden() else words.text()


async def test_a_preview_is_replayed_and_a_policy_applied_to_one_session(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.settings.show("policy")
        assert find_buttons(rig.settings.policy, "open_folder"), "each workspace has its own policy"
        await rig.open_folder("preview")
        await _check_a_preview(rig)
        assert not find_buttons(rig.settings.policy, "open_folder")
        await rig.open_folder("session")
        await _check_a_policy_of_one_session(rig)


async def test_the_threshold_is_the_one_of_the_panel(qapp: QApplication, tmp_path: Path) -> None:
    """Where the answer needs the room, it is lower than the number of the policy."""
    threshold = "85 %, here 75 % to leave room for the answer"
    reply = StreamedReply(Text("Read."))
    async with ChatServer(lambda _: reply) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("small")
        await rig.use_server(server, window=4_000)
        await until(lambda: "compacted at 75 %" in rig.views.inspector.until.text(), "the panel")
        await rig.wiring.settings.show("policy")
        assert rig.settings.policy.form.rows["handover_at"]._below.note == f"At the latest: {threshold}."


def _chart_texts(card: ReplayCard) -> str:
    """Return what the chart says below the mouse and to screen readers."""
    return card.chart.text_at(QPointF(card.chart.width() / 2, 5)) + card.chart.accessibleName()


async def _check_a_preview(rig: WindowRig) -> None:
    """It is replayed at once and changes nothing.

    First an approximate picture that says so, then the exact one, beside the policy in use.
    """
    replays = ScriptedReplays()
    await _open_page(rig, replays)
    page = rig.settings.policy
    card = page.replay_card
    assert "After two requests" in _text(card, "replay_message")
    rig.window.leave_settings()
    await rig.run_turn("Begin.")
    await rig.run_turn("Go on.")
    replays.fails = True
    await _open_page(rig, replays)
    await until(lambda: "No memory." in _text(card, "replay_message"), "what failed")
    replays.fails = False
    find_button(card, "retry_replay").click()
    await until(lambda: "Approximate" in card.status.text(), "the first picture")
    assert _chart_texts(card).count("≈") == 4
    await until(lambda: replays.loads == 2, "the session is given again")
    replays.go.set()
    await until(lambda: card.status.isHidden() and "≈" not in _chart_texts(card), "the exact picture")

    find_button(page, "profile:lean").click()
    await until(lambda: "Difference" in card.figures.text() and card.status.isHidden(), "both policies")
    assert "Preview | Policy in use | Difference" in card.figures.text()
    assert "\N{MINUS SIGN}" in card.figures.text()
    assert "tokens" in card.chart.text_at(QPointF(card.chart.width() / 2, 5))
    assert "outputs cached" in "".join(card.chart.text_at(QPointF(x, y)) for x in range(0, 700, 6)
                                       for y in range(0, 190, 6))  # fmt: skip
    assert rig.workspace.policy == PROFILES["balanced"]
    assert _text(page, "policy_in_use") == "Preview. Nothing changes until you apply it."

    page.form.write("protect_steps", 9)
    field = page.form.rows["protect_steps"]
    await until(lambda: "bills" in field.note_text(), "the effect of the field")
    assert field.note_text().startswith("This session: bills ")
    assert page.form.rows["protect_tokens"].note_text().startswith("Of these steps"), (
        "the others say what they are"
    )
    await _check_a_preview_is_kept_until_it_is_discarded(rig)
    rig.window.leave_settings()
    await _check_it_is_ready_with_the_page(rig, replays)
    await rig.wiring.session.show(rig.workspace, None)
    await until(lambda: replays.is_closed, "no process holds what may be a secret")


async def _check_a_preview_is_kept_until_it_is_discarded(rig: WindowRig) -> None:
    """Who closes the settings with a policy that was not applied reads it, and comes back to it."""
    page = rig.settings.policy
    title = page.slider.track.value_text
    rig.window.leave_settings()
    await until(lambda: f"Policy not applied: {title}." in rig.banner_text(), "the reminder")
    press(rig.window.notices, "policy-preview:show")
    await until(page.isVisible, "the preview again")
    assert "Policy not applied" not in rig.banner_text()
    assert page.slider.track.value_text == title
    find_button(page, "discard_policy").setFocus()
    QTest.keyClick(find_button(page, "discard_policy"), Qt.Key.Key_Space)
    assert page.slider.track.value_text == "Balanced"
    assert page.slider.track.hasFocus(), "the button that had the keyboard is gone"
    choice = page.replay_card.policy
    await until(lambda: choice.currentText() == "Policy on this page", "nothing is left to apply")


async def _check_it_is_ready_with_the_page(rig: WindowRig, replays: ScriptedReplays) -> None:
    """What replays may end while the page is out of sight, and is there before the next value is chosen."""
    await until(lambda: not replays.is_ready, "its process may end")
    await rig.wiring.settings.show("policy")
    await until(lambda: replays.is_ready, "ready again with the page")
    rig.window.leave_settings()
    card, loads = rig.settings.policy.replay_card, replays.loads
    assert "had answered" not in _text(card, "replay_notes")
    other = await rig.wiring.services.models.adhoc("box/other", "http://127.0.0.1:1/v1", 32_000)
    await rig.workspace.set_models(other)
    await rig.wiring.settings.show("policy")
    await until(lambda: "if box/other had answered" in _text(card, "replay_notes"), "its model")
    await until(lambda: replays.loads > loads, "it is replayed for that model")
    rig.window.leave_settings()


async def _check_a_policy_of_one_session(rig: WindowRig) -> None:
    """It is applied and taken back."""
    rig.window.commands.change_policy.trigger()
    await until(rig.settings.isVisible, "the page")
    page = rig.settings.policy
    assert rig.settings.current_page() == "policy"
    assert not find_button(page, "apply_to_session").isEnabled()
    page.form.write("protect_steps", 9)
    find_button(page, "apply_to_session").setFocus()
    QTest.keyClick(find_button(page, "apply_to_session"), Qt.Key.Key_Space)
    await until(lambda: rig.events(PolicyChosen), "the event")
    in_use = "This session: Balanced with 1 change. Workspace: Balanced."
    await until(lambda: _text(page, "policy_in_use") == in_use, "what is in use")
    assert page.slider.track.hasFocus(), "not the button that undoes it"
    assert rig.workspace.policy == PROFILES["balanced"]
    await until(lambda: "for this session only" in rig.composer.gauge.toolTip(), "the gauge")
    find_button(page, "use_workspace_policy").click()
    await until(lambda: len(rig.events(PolicyChosen)) > 1, "the other event")
    await until(lambda: "whole workspace" in _text(page, "policy_in_use"), "the workspace's again")
    rig.window.leave_settings()


async def test_a_value_that_conflicts_is_not_applied_around_and_not_lost(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.run_turn("Begin.")
        await _open_page(rig, ScriptedReplays())
        page = rig.settings.policy

        def enter(key: str, text: str) -> None:
            control = page.form.controls[key]
            assert isinstance(control, QLineEdit)
            control.setFocus()
            control.selectAll()
            QTest.keyClicks(control, text)
            QTest.keyClick(control, Qt.Key.Key_Return)

        def value_of(key: str) -> str:
            control = page.form.controls[key]
            assert isinstance(control, QLineEdit)
            return control.text().replace(",", "")

        enter("protect_steps", "9")
        enter("observe_at", "60")
        assert "observe_place_at" in page.form.errors().get("observe_at", "")
        enter("intake_above", "900")
        assert value_of("observe_at") == "60", "another change keeps what is to be corrected"
        for button in ("apply_to_session", "apply_to_workspace"):
            press(page, button)
            assert page.window().focusWidget() is page.form.controls["observe_at"]
        assert not rig.events(PolicyChosen)
        page.values.set("observe_place_at", 0.7)  # as after an edit of the file
        assert "observe_at" not in page.form.errors(), "the conflict is over"
        press(page, "apply_to_session")
        await until(lambda: rig.events(PolicyChosen), "the event")
        policy = rig.conversation.session.transcript.session_policy
        assert policy is not None
        assert (policy.observe_at, policy.observe_place_at, policy.protect_steps) == (0.6, 0.7, 9)
        enter("observe_at", "90")
        page.slider.profile_selected.emit("lean")
        assert "observe_at" not in page.form.errors()
        rig.window.leave_settings()
