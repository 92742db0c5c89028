"""The policy page and file: replays, what applying changes, hand edits, a preview that was left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QLineEdit, QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import PolicyChosen
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.policy.policy_replay import FieldEffect, PolicyReplay
from helix_desktop.replay.policy.session_replays import FOLDER, STORED_FROM
from helix_desktop.replay.policy.worker import PolicyReplayWorker
from helix_desktop.replay.recording import SessionFacts
from helix_desktop.ui.settings.policy.replay_card import ReplayCard
from tests.support.galleries.policy_gallery import sample_replay
from tests.support.model_servers.chat_server import StreamedReply, Text
from tests.support.window.buttons import find_button, find_buttons, find_child, press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


class ScriptedReplays(PolicyReplayWorker):
    """Replays of a made-up session, in which more protected steps send more; `go` lets the exact one end."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.fails, self.loads, self.is_closed = asyncio.Event(), False, 0, False
        self.policies: list[ContextPolicy] = []
        self.is_ready = False

    async def load(self, log: Sequence[RecordedEvent], facts: SessionFacts) -> None:
        """Count, or fail as a worker does that cannot start."""
        self.loads += 1
        if self.fails:
            raise HelixError(verbatim("The session can't be replayed."), verbatim("No memory."))

    async def first_picture(
        self, log: Sequence[RecordedEvent], facts: SessionFacts, policy: ContextPolicy
    ) -> PolicyReplay:
        """Return the same approximate picture as `replay` does first."""
        return sample_replay(1_000 * policy.protect_steps, 13, is_exact=False)

    async def replay(self, policy: ContextPolicy) -> AsyncGenerator[PolicyReplay, None]:
        """Yield an approximate picture, and the exact one when it may."""
        self.policies.append(policy)
        approximate = sample_replay(1_000 * policy.protect_steps, 13, is_exact=False)
        yield approximate
        await self.go.wait()
        yield msgspec.structs.replace(approximate, is_exact=True)

    async def replay_in_background(self, policy: ContextPolicy) -> PolicyReplay:
        """Return the exact picture when it may."""
        self.policies.append(policy)
        await self.go.wait()
        return sample_replay(1_000 * policy.protect_steps, 13)

    async def effect(self, policy: ContextPolicy, field: str) -> FieldEffect:
        """More protected steps cost more."""
        own, default = getattr(policy, field), getattr(PROFILES[policy.profile], field)
        return FieldEffect(field, 1_500.0 * (own - default), 0.01, 0)

    async def stay_ready(self, *, is_on: bool) -> None:
        """Remember whether it may end when nobody asks."""
        self.is_ready = is_on

    async def close(self) -> None:
        """Forget the session."""
        self.is_closed = True


async def _open_page(rig: WindowRig, replays: ScriptedReplays) -> None:
    rig.wiring.settings.replays.create_worker = lambda: replays
    await rig.wiring.settings.show("policy")
    for fold in (rig.settings.policy.replay, rig.settings.policy.numbers):
        fold.head.setChecked(True)


def _text(page: QWidget, name: str) -> str:
    words = find_child(page, QLabel, name)
    return "" if words.isHidden() else words.text()


async def test_a_preview_is_replayed_and_a_policy_applied_to_one_session(rig: WindowRig) -> None:
    await rig.wiring.settings.show("policy")
    assert find_buttons(rig.settings.policy, "open_folder"), "each workspace has its own policy"
    await rig.open_folder("preview")
    await _check_a_preview(rig)
    assert not find_buttons(rig.settings.policy, "open_folder")
    await rig.open_folder("session")
    await _check_a_policy_of_one_session(rig)


async def test_the_threshold_is_the_one_of_the_panel(rig: WindowRig) -> None:
    """Where the answer needs the room, it is lower than the number of the policy."""
    threshold = "85 %, here 75 % to leave room for the answer"
    reply = StreamedReply(Text("Read."))
    async with rig.answered_by(lambda _: reply, "small", window=4_000):
        await until(lambda: "Compacts at 75 %" in rig.views.inspector.until.text(), "the panel")
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
    await until(lambda: "Difference" in _figures(card) and card.status.isHidden(), "both policies")
    assert "Preview | Policy in use | Difference" in _figures(card)
    assert "\N{MINUS SIGN}" in _figures(card)
    assert "tokens" in card.chart.text_at(QPointF(card.chart.width() / 2, 5))
    assert "outputs cached" in "".join(card.chart.text_at(QPointF(x, y)) for x in range(0, 700, 6)
                                       for y in range(0, 190, 6))  # fmt: skip
    assert rig.workspace.policy == PROFILES["balanced"]
    assert _text(page, "policy_in_use") == "Preview. Nothing changes until you apply it."

    page.form.write("protect_steps", 9)
    field = page.form.rows["protect_steps"]
    await until(lambda: "bills" in field.note_text(), "the effect of the field")
    assert field.note_text().startswith("This session: bills ")
    assert page.form.rows["protect_tokens"].note_text().startswith("At most, of these steps"), (
        "the others say what they are"
    )
    await _check_a_preview_is_discarded_by_keyboard(rig)
    rig.window.leave_settings()
    await _check_it_is_ready_with_the_page(rig, replays)
    await rig.wiring.session.show(rig.workspace, None)
    await until(lambda: replays.is_closed, "no process holds what may be a secret")


async def _check_a_preview_is_discarded_by_keyboard(rig: WindowRig) -> None:
    page = rig.settings.policy
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


async def test_a_value_that_conflicts_is_not_applied_around_and_not_lost(rig: WindowRig) -> None:
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


def _file(rig: WindowRig) -> Path:
    return rig.wiring.services.registry.policy_file(rig.workspace.id).path


async def test_edited_files_count(rig: WindowRig) -> None:
    """Each step has a workspace of its own."""
    await _check_an_edited_file(rig)
    await _check_a_bad_file(rig)


async def _check_an_edited_file(rig: WindowRig) -> None:
    await rig.open_folder("edited")
    await rig.wiring.settings.show("policy")
    page = rig.settings.policy
    of_file = "sweep_min = 2_000  # as the profile\nsweep_max   = 21_000\nanchor_tokens = 3200\n"
    _file(rig).write_text(f'# mine\nprofile = "balanced"\nprotect_steps = 14\n{of_file}', encoding="utf-8")
    await until(lambda: rig.workspace.policy.protect_steps == 14, "the edited number")
    assert "2 changes" in page.slider.track.value_text
    page.form.write("handover_at", 0.7)
    assert rig.workspace.policy.handover_at == 0.85, "nothing is saved before it is applied"
    find_button(page, "apply_to_workspace").click()
    assert "# mine" in _file(rig).read_text(encoding="utf-8")
    assert (rig.workspace.policy.protect_steps, rig.workspace.policy.handover_at) == (14, 0.7)
    find_button(page, "profile:lean").click()
    find_button(page, "apply_to_workspace").click()
    assert of_file in _file(rig).read_text(encoding="utf-8"), "what only the file has stays byte for byte"
    policy = rig.workspace.policy
    assert (policy.protect_steps, policy.sweep_max, policy.anchor_tokens) == (3, 21_000, 3_200)
    rig.window.leave_settings()


async def _check_a_bad_file(rig: WindowRig) -> None:
    """A bad policy file is reported with its line and not overwritten."""
    await rig.open_folder("bad")
    await rig.change_policy(protect_steps=14)
    await rig.wiring.settings.show("policy")
    page, bad = rig.settings.policy, 'profile = "balanced"\nprotect_steps = "many"\n'
    _file(rig).write_text(bad, encoding="utf-8")
    error = "Line 2: protect_steps must be a whole number (got text)."
    await until(lambda: error in rig.banner_text(), "the error with its line")
    card = find_child(page, QFrame, "policy_file_error")
    assert not card.isHidden()
    assert rig.workspace.policy.protect_steps == 14
    find_button(page, "profile:lean").click()
    find_button(page, "apply_to_workspace").click()
    assert _file(rig).read_text(encoding="utf-8") == bad
    assert rig.workspace.policy.handover_at == 0.85
    await rig.open_folder("other")
    assert "policy file" not in rig.banner_text()
    await rig.wiring.workspace_controller.open_folder(rig.folder / "bad")
    assert error in rig.banner_text()

    find_button(card, "replace_file").click()
    assert "policy-file" not in rig.window.notices.names()
    assert rig.wiring.services.registry.load_policy(rig.workspace.id) == rig.workspace.policy
    damaged_files = list(_file(rig).parent.glob("policy.damaged-*.toml"))
    assert [path.read_text(encoding="utf-8") for path in damaged_files] == [bad]
    rig.window.leave_settings()


async def _close_with_a_preview(rig: WindowRig) -> ScriptedReplays:
    """Look at another policy, with a number that can't be used, and close the settings."""
    replays = ScriptedReplays()
    rig.wiring.settings.replays.create_worker = lambda: replays
    await rig.wiring.settings.show("policy")
    page = rig.settings.policy
    page.form.write("protect_steps", 9)
    control = page.form.controls["intake_above"]
    assert isinstance(control, QLineEdit)
    control.setFocus()
    control.selectAll()
    QTest.keyClicks(control, "30000000")
    QTest.keyClick(control, Qt.Key.Key_Return)
    assert page.form.errors().get("intake_above", "")
    rig.window.leave_settings()
    await until(lambda: "Policy not applied: Balanced with 1 change." in rig.banner_text(), "the notice")
    return replays


async def test_a_policy_that_was_not_applied_can_be_shown_and_discarded_later(rig: WindowRig) -> None:
    """Each step has a workspace of its own."""
    await _check_discard(rig)
    await _check_show_where_no_session_is_open(rig)
    await _check_a_session_that_has_the_policy(rig)


async def _check_discard(rig: WindowRig) -> None:
    """It drops what was not applied."""
    await rig.open_folder("discard")
    await rig.run_turn("Begin.")
    await rig.run_turn("Go on.")
    replays = await _close_with_a_preview(rig)
    page, loads = rig.settings.policy, replays.loads
    button = find_button(rig.window.notices, "policy-preview:discard")
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    await until(lambda: "policy-preview" not in rig.window.notices.names(), "the notice gone")
    await until(rig.composer.editor.hasFocus, "the keyboard is where it was")
    assert not page.isVisible()
    assert (rig.workspace.policy, rig.events(PolicyChosen)) == (PROFILES["balanced"], [])
    assert replays.loads == loads, "nothing is replayed out of sight"

    await rig.wiring.settings.show("policy")
    await until(page.isVisible, "the page again")
    assert page.slider.track.value_text == "Balanced"
    assert not page.form.errors().get("intake_above", ""), "nor what was typed"
    steps = page.form.controls["protect_steps"]
    assert isinstance(steps, QLineEdit)
    assert steps.text() == str(PROFILES["balanced"].protect_steps)
    rig.window.leave_settings()
    assert "policy-preview" not in rig.window.notices.names(), "nothing is left to apply"


async def _check_show_where_no_session_is_open(rig: WindowRig) -> None:
    await rig.open_folder("show")
    await _close_with_a_preview(rig)
    await rig.wiring.workspace_controller.show_session(rig.workspace, "")
    assert not rig.window.commands.change_policy.isEnabled()
    press(rig.window.notices, "policy-preview:show")
    await until(rig.settings.policy.isVisible, "the page")
    assert rig.settings.policy.slider.track.value_text == "Balanced with 1 change"
    rig.window.leave_settings()


async def _check_a_session_that_has_the_policy(rig: WindowRig) -> None:
    """The notice goes with it."""
    await rig.open_folder("sessions")
    await rig.run_turn("Begin.")
    first, opener = rig.conversation.session.id, rig.wiring.workspace_controller
    await rig.wiring.workspace_controller.new_session()
    same = msgspec.structs.replace(PROFILES["balanced"], protect_steps=9)
    await rig.conversation.choose_policy(same)
    second = rig.conversation.session.id
    await opener.open_session(first)
    await _close_with_a_preview(rig)
    await opener.open_session(second)
    assert "policy-preview" not in rig.window.notices.names()


async def _go_on(conversation: Conversation, turns: int) -> None:
    """Record further turns of a session."""
    turn = UserSpoke("Go on.", 5), AssistantSpoke("Done.", "test/small", 5), TurnEnded("done")
    await conversation.session.record(*turn * turns)


def _use(rig: WindowRig, replays: ScriptedReplays) -> None:
    settings = rig.wiring.settings
    settings.replays.create_worker = lambda: replays
    settings.preparation.quiet_timer.setInterval(0)


async def test_a_long_session_is_replayed_ahead_and_stored(qapp: QApplication, tmp_path: Path) -> None:
    replays, profiles = ScriptedReplays(), set(PROFILES.values())
    async with open_window(qapp, tmp_path) as rig:
        _use(rig, replays)
        workspace_id = await rig.open_folder("project")
        folder = rig.wiring.services.registry.data_folder(workspace_id) / FOLDER
        await rig.run_turn("Begin.")
        await _go_on(rig.conversation, STORED_FROM // 6)
        assert not replays.policies, "a short one is replayed fast enough"

        await _go_on(rig.conversation, STORED_FROM // 3)
        await until(lambda: replays.policies, "the first policy")
        await rig.wiring.settings.show("policy")
        rig.settings.policy.replay.head.click()
        card = rig.settings.policy.replay_card
        await until(lambda: "Approximate" in card.status.text(), "the page's own replay")
        assert not folder.exists()
        rig.window.leave_settings()
        replays.go.set()
        await until(folder.exists, "what is stored")
        assert set(replays.policies) == profiles
        (stored,) = folder.iterdir()
        first = stored.read_bytes()

        await _go_on(rig.conversation, 1)
        await until(lambda: stored.read_bytes() != first, "what is stored of the longer session")

    again = ScriptedReplays()
    again.fails = True
    async with open_window(qapp, tmp_path) as rig:
        _use(rig, again)
        await rig.wiring.workspace_controller.open_folder(tmp_path / "project")
        await until(lambda: rig.wiring.session.has_conversation, "the session")
        await rig.wiring.settings.show("policy")
        rig.settings.policy.replay.head.click()
        card = rig.settings.policy.replay_card
        await until(lambda: "≈" not in card.chart.text_at(QPointF(card.chart.width() / 2, 5)), "the picture")
        await rig.conversation.choose_policy(PROFILES["lean"])  # what is recorded changes no replay
        for name in PROFILES:
            rig.settings.policy.slider.profile_selected.emit(name)
            await until(lambda: card.status.isHidden() and card.chart.isVisible(), f"{name}, exact")
        assert again.loads, "for other values"
        assert not again.policies, "each of the profiles was read"
        rig.window.leave_settings()


def _figures(card: ReplayCard) -> str:
    """Return the rows of the table of figures, their cells side by side."""
    cells = card.figures._cells.items()
    rows = dict.fromkeys(place for (place, _), _ in cells)
    return "\n".join(
        " | ".join(cell.text() for (place, _), cell in cells if place == row and cell.text()) for row in rows
    )
