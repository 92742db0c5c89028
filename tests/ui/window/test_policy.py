"""The policy page and file: a preview, what applying changes, hand edits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QWidget

from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import PolicyChosen
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.policy.policy_replay import FieldEffect, PolicyReplay
from helix_desktop.replay.policy.worker import PolicyReplayWorker
from helix_desktop.replay.recording import SessionFacts
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.ui.settings.policy.replay_card import ReplayCard
from tests.support.galleries.settings_gallery import sample_replay
from tests.support.window.buttons import find_button, find_buttons, find_child, press
from tests.support.window.window_rig import WindowRig, until

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


def _chart_texts(card: ReplayCard) -> str:
    """Return what the chart says below the mouse and to screen readers."""
    return card.chart.text_at(QPointF(card.chart.width() / 2, 5)) + card.chart.accessibleName()


def _figures(card: ReplayCard) -> str:
    """Return the rows of the table of figures, their cells side by side."""
    cells = card.figures._cells.items()
    rows = dict.fromkeys(place for (place, _), _ in cells)
    return "\n".join(
        " | ".join(cell.text() for (place, _), cell in cells if place == row and cell.text()) for row in rows
    )


async def test_a_policy_is_previewed_applied_taken_back_and_edited_in_its_file(rig: WindowRig) -> None:
    """Each step has a workspace of its own."""
    await _check_a_preview(rig)
    await _check_an_edited_file(rig)
    await _check_a_bad_file(rig)


async def _check_a_preview(rig: WindowRig) -> None:
    """A preview changes nothing; left, it is a notice that shows or discards it."""
    await rig.wiring.settings.show("policy")
    assert find_buttons(rig.settings.policy, "open_folder"), "each workspace has its own policy"
    await rig.open_folder("project")
    replays = ScriptedReplays()
    await _open_page(rig, replays)
    page = rig.settings.policy
    assert not find_buttons(page, "open_folder")
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
    replays.go.set()
    await until(lambda: card.status.isHidden() and "≈" not in _chart_texts(card), "the exact picture")
    find_button(page, "profile:lean").click()
    await until(lambda: "Difference" in _figures(card) and card.status.isHidden(), "both policies")
    assert "Preview | Policy in use | Difference" in _figures(card)
    assert rig.workspace.policy == PROFILES["balanced"]
    assert _text(page, "policy_in_use") == "Preview. Nothing changes until you apply it."
    page.form.write("protect_steps", 9)
    field = page.form.rows["protect_steps"]
    await until(lambda: field.note_text().startswith("This session: bills "), "the effect of the field")
    find_button(page, "discard_policy").setFocus()
    QTest.keyClick(find_button(page, "discard_policy"), Qt.Key.Key_Space)
    assert page.slider.track.value_text == "Balanced"
    assert page.slider.track.hasFocus(), "the button that had the keyboard is gone"

    page.form.write("protect_steps", 9)
    _enter(page, "intake_above", "30000000")
    assert page.form.errors().get("intake_above", "")
    notices = rig.window.notices
    rig.window.leave_settings()
    await until(lambda: "Policy not applied: Balanced with 1 change." in rig.banner_text(), "the notice")
    await rig.wiring.workspace_controller.new_session()
    press(notices, "policy-preview:show")
    await until(page.isVisible, "the page")
    assert page.slider.track.value_text == "Balanced with 1 change"
    rig.window.leave_settings()
    await until(lambda: "policy-preview" in notices.names(), "the notice again")
    press(notices, "policy-preview:discard")
    await until(lambda: "policy-preview" not in notices.names(), "the notice gone")
    await rig.wiring.settings.show("policy")
    assert page.slider.track.value_text == "Balanced"
    assert not page.form.errors(), "nor what was typed"
    assert (rig.workspace.policy, rig.events(PolicyChosen)) == (PROFILES["balanced"], [])

    _enter(page, "protect_steps", "9")
    _enter(page, "observe_at", "60")
    assert "observe_place_at" in page.form.errors().get("observe_at", "")
    for button in ("apply_to_session", "apply_to_workspace"):
        press(page, button)
        assert page.window().focusWidget() is page.form.controls["observe_at"], "what is to be corrected"
    assert not rig.events(PolicyChosen)
    page.values.set("observe_place_at", 0.7)  # as after an edit of the file
    assert "observe_at" not in page.form.errors(), "the conflict is over"
    find_button(page, "apply_to_session").setFocus()
    QTest.keyClick(find_button(page, "apply_to_session"), Qt.Key.Key_Space)
    await until(lambda: rig.events(PolicyChosen), "the event")
    policy = rig.conversation.session.transcript.session_policy
    assert policy is not None
    assert (policy.observe_at, policy.observe_place_at, policy.protect_steps) == (0.6, 0.7, 9)
    in_use = "This session: Balanced with 3 changes. Workspace: Balanced."
    await until(lambda: _text(page, "policy_in_use") == in_use, "what is in use")
    assert page.slider.track.hasFocus(), "not the button that undoes it"
    assert rig.workspace.policy == PROFILES["balanced"]
    await until(lambda: "for this session only" in rig.composer.gauge.toolTip(), "the gauge")
    find_button(page, "use_workspace_policy").click()
    await until(lambda: len(rig.events(PolicyChosen)) > 1, "the other event")
    await until(lambda: "whole workspace" in _text(page, "policy_in_use"), "the workspace's again")
    rig.window.leave_settings()
    await rig.wiring.session.show(rig.workspace, None)
    await until(lambda: replays.is_closed, "no process holds what may be a secret")


def _enter(page: PolicyPage, key: str, text: str) -> None:
    """Type a number into its field, and press Enter."""
    control = page.form.controls[key]
    assert isinstance(control, QLineEdit)
    control.setFocus()
    control.selectAll()
    QTest.keyClicks(control, text)
    QTest.keyClick(control, Qt.Key.Key_Return)


def _file(rig: WindowRig) -> Path:
    return rig.wiring.services.registry.policy_file(rig.workspace.id).path


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
