"""The settings as a page, left and searched; the policy page and its file; instructions and skills."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QFrame, QLabel, QLineEdit, QWidget

from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.errors import HelixError, SettingsDamaged
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import PolicyChosen
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.policy.policy_replay import FieldEffect, PolicyReplay
from helix_desktop.replay.policy.worker import PolicyReplayWorker
from helix_desktop.replay.recording import SessionFacts
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, UserRow
from helix_desktop.ui.kit.forms import Form
from helix_desktop.ui.kit.intents import Find, GoToSession, OpenFolder
from helix_desktop.ui.settings.page_layout import SettingsFileLine
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.ui.settings.policy.replay_card import ReplayCard
from helix_desktop.ui.window.keyboard_page import KeyboardPage
from tests.support.galleries.settings_gallery import sample_replay
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    Text,
    Wait,
    replies_in_order,
    text_reply,
)
from tests.support.window.browser import use_browser
from tests.support.window.buttons import find_button, find_buttons, find_child, press
from tests.support.window.usage_checks import panel_rows
from tests.support.window.window_rig import WindowRig, act, open_window, until

pytestmark = pytest.mark.qt_loop

_CONTROL = Qt.KeyboardModifier.ControlModifier
_NONE = Qt.KeyboardModifier.NoModifier


async def _open_by_key(rig: WindowRig) -> None:
    focused = rig.window.focusWidget() or rig.window
    await act(lambda: QTest.keyClick(focused, Qt.Key.Key_Comma, _CONTROL))
    assert rig.window.page() == "settings"


def _press_key(rig: WindowRig, key: Qt.Key, modifiers: Qt.KeyboardModifier = _NONE) -> None:
    QTest.keyClick(rig.window.focusWidget() or rig.window, key, modifiers)


async def test_the_settings_are_entered_and_left_and_nothing_is_lost(tmp_path: Path, rig: WindowRig) -> None:
    """By name, mouse, key and search; in place of the session, or without a workspace."""
    await _check_without_a_workspace(tmp_path, rig)
    await _check_each_way_out(rig)
    await _check_the_page_on_return(rig)
    await _check_find(rig)
    await _check_what_is_not_saved(rig)
    await _check_a_switch_that_is_needed(rig)
    await _check_a_search_in_any_page(rig)
    await _check_a_search_in_a_narrow_window(rig)
    await _check_a_turn_that_goes_on(rig)
    await _check_a_closed_pane(rig)


async def _check_each_way_out(rig: WindowRig) -> None:
    window = rig.window
    workspace_id = rig.workspace.id
    window.resize(1_440, 900)
    window.show_page("timeline")
    focused = window.sidebar.search
    focused.setFocus()
    assert focused.hasFocus(), "not what the page would give the keyboard to"
    leave: dict[str, Callable[[], object]] = {
        "Esc": lambda: _press_key(rig, Qt.Key.Key_Escape),
        "the key that opened them": lambda: _press_key(rig, Qt.Key.Key_Comma, _CONTROL),
        "the key that closes a page": lambda: _press_key(rig, Qt.Key.Key_W, _CONTROL),
        "the button": lambda: press(rig.settings.names, "leave_settings"),
        "the workspace": lambda: QTest.mouseClick(
            window.rail.button(workspace_id), Qt.MouseButton.LeftButton
        ),
    }
    for how, do in leave.items():
        await _open_by_key(rig)
        name = find_button(rig.settings.names, f"page:{rig.settings.current_page()}")
        assert name.hasFocus(), "who came with the keyboard sees where it is"
        hidden: tuple[QWidget, ...] = (window.sidebar, window.top_bar, window.panel_pane)
        assert not any(part.isVisible() for part in hidden)
        assert rig.settings.isVisible()
        await act(do)
        assert window.page() == "timeline", how
        assert all(part.isVisible() for part in hidden)
        assert window.focusWidget() is focused, f"the keyboard after {how}"
    await _open_by_key(rig)
    _press_key(rig, Qt.Key.Key_2, _CONTROL)
    assert window.page() == "outputs", "a page of the session"
    assert rig.views.outputs.get().table.hasFocus()


async def _check_the_page_on_return(rig: WindowRig) -> None:
    rig.window.show_page("chat")
    await act(rig.window.commands.settings.trigger)
    await _check_the_dialogs(rig)
    rig.window.leave_settings()
    await act(rig.window.commands.settings.trigger)
    assert rig.settings.current_page() == "data", "the page that was last shown"
    await act(rig.window.commands.about.trigger)
    assert rig.settings.current_page() == "about", "a page by name, with the settings on screen"
    rig.window.leave_settings()
    await act(rig.window.commands.change_policy.trigger)
    assert rig.settings.current_page() == "policy", "a page by name"
    rig.window.leave_settings()
    rig.window.activateWindow()  # which the last dialog took
    await until(rig.window.isActiveWindow, "the window in front")


async def _check_find(rig: WindowRig) -> None:
    await rig.wiring.settings.show("about")
    _press_key(rig, Qt.Key.Key_F, _CONTROL)
    assert rig.window.page() == "settings"
    assert not rig.chat.find_bar.isVisibleTo(rig.chat)
    await rig.wiring.settings.show("keyboard")
    _press_key(rig, Qt.Key.Key_F, _CONTROL)
    assert rig.settings.page("keyboard", KeyboardPage).filter.hasFocus()
    _press_key(rig, Qt.Key.Key_Escape)
    assert rig.window.page() == "chat"


async def _check_a_closed_pane(rig: WindowRig) -> None:
    commands = rig.window.commands
    commands.toggle_sidebar.trigger()
    assert not rig.window.sidebar.isVisible()
    await rig.wiring.settings.show("data")
    assert rig.settings.names.isVisible(), "the names of the pages need no sidebar"
    assert not commands.toggle_sidebar.isEnabled()
    rig.settings.focus_name()
    rig.window.resize(560, 420)
    head = rig.settings.head
    await until(head.isVisible, "a menu of the pages where the list has no room")
    assert head.pages.hasFocus(), "no field of the page takes the next key"
    assert not rig.settings.names.isVisible()
    head.pages.setCurrentIndex(head.pages.findText("About"))
    await act(lambda: head.pages.activated.emit(head.pages.currentIndex()))
    assert rig.settings.about.isVisible()
    assert rig.settings.width() >= 356
    rig.window.resize(1_024, 680)
    await until(rig.settings.names.isVisible, "the list again")
    assert rig.settings.names.list.current_button.hasFocus()
    assert rig.settings.names.list.current == "about"
    rig.window.resize(560, 420)
    await until(head.isVisible, "the menu again")
    press(head, "leave_settings")
    assert rig.window.page() == "chat"
    await rig.wiring.settings.show("data")
    rig.window.leave_settings()
    assert not rig.window.sidebar.isVisible()
    assert commands.toggle_sidebar.isEnabled()


async def _check_the_dialogs(rig: WindowRig) -> None:
    """A dialog stands over the page that led to it, and gives the keyboard back."""
    settings = rig.settings
    redaction = rig.wiring.redaction
    press(settings.names, "page:data")
    button = find_button(settings.data, "forget")
    await until(button.isVisible, "the figures")
    button.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(button, Qt.Key.Key_Space)
    await until(lambda: redaction.dialog, "the dialog")
    await _close(lambda: redaction.dialog)
    assert settings.isVisible(), "Esc closes the dialog, and leaves no settings"
    assert settings.current_page() == "data"
    assert rig.window.focusWidget() is button


async def _close(dialog_of: Callable[[], QDialog | None]) -> None:
    dialog = dialog_of()
    assert dialog is not None
    await until(dialog.isVisible, "the dialog on screen")
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    await until(lambda: dialog_of() is None, "the dialog closed")


async def _check_what_is_not_saved(rig: WindowRig) -> None:
    await rig.wiring.settings.show("mcp")
    rig.settings.mcp.open_add()
    rig.settings.mcp.add_box.paste.setPlainText("{")
    await act(lambda: rig.window.perform(GoToSession(rig.workspace.id, rig.conversation.session.id)))
    assert rig.window.page() == "chat", "a session was chosen"
    assert rig.app_window.unsaved_settings() == ["MCP servers"]


async def _check_a_turn_that_goes_on(rig: WindowRig) -> None:
    """Its approval is seen in the settings."""
    go = asyncio.Event()
    asking = replies_in_order(
        *(text_reply("Many words. " * 300) for _ in range(3)),
        StreamedReply(Text("One "), Wait(go), Call("run_command", '{"command": "sleep 0"}')),
        text_reply("Ended."),
    )
    async with ChatServer(asking) as server:
        await rig.begin("project", {}, server)
        await _check_keys_to_earlier_messages(rig)
        waiting = rig.window.waiting_sessions.button
        rig.type_message("Run it.")
        await until(lambda: rig.conversation.is_running, "the turn")
        await rig.wiring.settings.show("data")
        _press_key(rig, Qt.Key.Key_L, _CONTROL)
        assert rig.window.page() == "chat", "the message field is in the session"
        await rig.wiring.settings.show("data")
        go.set()
        await until(waiting.isVisible, "that the session waits, above the settings")
        assert "waits for you" in rig.window.windowTitle()
        rig.window.commands.allow_call.trigger()
        await until(lambda: rig.window.page() == "chat", "the question, which its first use shows")
        assert rig.rows(ApprovalRow), "and does not answer"
        assert not waiting.isVisible(), "its card says so"
        await rig.wiring.settings.show("data")
        await act(lambda: QTest.mouseClick(waiting, Qt.MouseButton.LeftButton))
        assert rig.window.page() == "chat"
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()


async def _check_without_a_workspace(tmp_path: Path, rig: WindowRig) -> None:
    rig.wiring.workspace_controller.show_welcome()
    await act(rig.window.commands.settings.trigger)
    assert rig.settings.names.isVisible()
    _press_key(rig, Qt.Key.Key_Escape)
    assert rig.window.places.welcome.get().isVisible()
    assert not rig.window.sidebar.isVisible()
    await rig.wiring.settings.show("policy")
    page = rig.settings.policy
    assert page.isVisible()
    controls = (page.slider.track, page.numbers, page.apply_bar.workspace)
    assert not any(control.isVisible() for control in controls), "each workspace has its own"
    rig.window.leave_settings()
    await _check_a_folder_that_is_being_opened(tmp_path, rig)
    await rig.wiring.settings.show("policy")
    page.numbers.head.setChecked(True)
    assert all(control.isVisible() for control in controls)


async def _check_a_folder_that_is_being_opened(tmp_path: Path, rig: WindowRig) -> None:
    place = tmp_path / "opening"
    place.mkdir()
    rig.wiring.services.registry.add(place, trusted=True)
    before = asyncio.all_tasks()
    rig.perform(OpenFolder(str(place)))
    opening = asyncio.all_tasks() - before
    await asyncio.sleep(0)  # it has begun
    assert not rig.wiring.session.has_conversation
    await rig.wiring.settings.show("data")
    await asyncio.wait(opening)
    assert rig.window.page() == "settings"
    assert rig.conversation.session.id, "it is open below"
    _press_key(rig, Qt.Key.Key_Escape)
    assert rig.window.page() == "chat"
    assert rig.composer.editor.hasFocus()
    await rig.wiring.settings.show("data")
    await act(rig.window.commands.new_session.trigger)
    assert rig.window.page() == "chat", "a new session is to be seen"


def _found(rig: WindowRig) -> list[str]:
    """What the list shows, as a screen reader says it."""
    return [line.words for line in rig.settings.names.search.hits.rows]


def _type(rig: WindowRig, words: str) -> None:
    rig.settings.names.search.field.selectAll()
    QTest.keyClicks(rig.settings.names.search.field, words)


async def _check_a_search_in_any_page(rig: WindowRig) -> None:
    """What is found has the keyboard."""
    await rig.wiring.settings.show("providers")
    view = rig.settings
    search = rig.settings.names.search
    rig.window.perform(Find(""))
    assert rig.window.focusWidget() is search.field

    _type(rig, "enter sends")
    assert _found(rig) == ["Sending, General"]
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    switch = view.appearance.controls["enter_sends"]
    await until(lambda: rig.window.focusWidget() is switch, "the switch has the keyboard")
    assert not view.appearance.rows["enter_sends"].visibleRegion().isEmpty()
    assert view.findChild(QFrame, "found_ring"), "it is marked"
    assert view.current_page() == "appearance"

    _type(rig, "compact context policy")
    found = _found(rig)
    assert len(found) > 1, f"words of a group count for its fields: {found}"
    QTest.keyClick(search.field, Qt.Key.Key_Down)
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    form = find_child(view.policy, Form)
    hit = search.hits.row
    assert hit == 1
    await until(lambda: view.current_page() == "policy", "its page")
    await until(
        lambda: form.isAncestorOf(rig.window.focusWidget() or rig.window), "the field has the keyboard"
    )

    _type(rig, "zzz")
    assert not _found(rig)
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    assert rig.window.page() == "settings"
    assert view.names.list.current_button.isVisible()
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    assert rig.window.page() != "settings"


async def _check_a_search_in_a_narrow_window(rig: WindowRig) -> None:
    await rig.wiring.settings.show("appearance")
    rig.window.resize(560, 420)
    view = rig.settings
    search = rig.settings.head.search
    await until(search.isVisible, "the search above the pages")
    rig.window.perform(Find(""))
    assert rig.window.focusWidget() is search.field
    QTest.keyClicks(search.field, "maximum size")
    assert [line.words for line in search.hits.rows] == [
        "Maximum size, Data · Outputs",
        "Maximum size, Data · File history",
    ]
    assert search.hits.isVisible()
    QTest.keyClick(search.field, Qt.Key.Key_Down)
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    control = view.data.forms[1].controls["history_quota"]
    await until(lambda: rig.window.focusWidget() is control, "the field has the keyboard")
    assert not search.hits.isVisible()

    search.field.setFocus(Qt.FocusReason.TabFocusReason)
    assert search.hits.isVisible(), "the next one of them"
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    assert view.data.isVisible()
    QTest.keyClicks(search.field, "zzz")
    assert not view.data.isVisible()
    rig.window.resize(1_024, 680)
    await until(view.names.isVisible, "the list of pages")
    assert view.data.isVisible()
    assert not search.field.text()


async def _check_a_switch_that_is_needed(rig: WindowRig) -> None:
    await rig.wiring.settings.show("appearance")
    form = rig.settings.appearance
    form.write("notify", False)
    _type(rig, "play sound")
    QTest.keyClick(rig.settings.names.search.field, Qt.Key.Key_Return)
    await until(lambda: rig.window.focusWidget() is form.controls["notify"], "the switch above it")
    ring = find_child(rig.settings, QFrame, "found_ring")
    line = form.rows["notify_sound"]
    assert ring.frameGeometry().contains(
        ring.mapToParent(ring.mapFromGlobal(line.mapToGlobal(line.rect().center())))
    )
    rig.window.leave_settings()


async def _check_keys_to_earlier_messages(rig: WindowRig) -> None:
    """They work from the input and nowhere else; from another page the command leads back."""
    for number in range(3):
        await rig.run_turn(f"Question {number}")
    view = rig.chat.view
    keys = rig.window.commands.previous_message.shortcut()
    combination = keys[0]  # type: ignore[index]  # Qt's stubs leave out __getitem__
    places: list[float] = []
    for target in (rig.composer.editor, view, rig.window.sidebar):
        target.setFocus()
        QTest.keyClick(target, combination.key(), combination.keyboardModifiers())
        places.append(view.chat_viewport.scroll_layout.position)
    assert places[0] > places[1] > 0
    assert places[2] == places[1]
    rig.window.show_page("outputs")
    rig.window.commands.previous_message.trigger()
    assert rig.window.page() == "chat"
    assert view.chat_viewport.scroll_layout.position < places[1]


class ScriptedReplays(PolicyReplayWorker):
    """Replays of a made-up session, in which more protected steps send more; `go` lets the exact one end."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.fails = False
        self.loads = 0
        self.is_closed = False
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
        own = getattr(policy, field)
        default = getattr(PROFILES[policy.profile], field)
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
    await _check_a_new_file(rig)
    await _check_an_edited_file(rig)
    await _check_a_bad_file(rig)
    await _check_the_files_of_other_pages(rig)


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
    press(page, "apply_to_workspace")
    assert page.window().focusWidget() is page.form.controls["observe_at"], "what is to be corrected"
    assert rig.workspace.policy == PROFILES["balanced"]
    page.values.set("observe_place_at", 0.7)  # as after an edit of the file
    assert "observe_at" not in page.form.errors(), "the conflict is over"
    find_button(page, "apply_to_workspace").setFocus()
    QTest.keyClick(find_button(page, "apply_to_workspace"), Qt.Key.Key_Space)
    in_use = "In use: Balanced with 3 changes, in the whole workspace."
    await until(lambda: _text(page, "policy_in_use") == in_use, "what is in use")
    assert page.slider.track.hasFocus(), "the button can't be used any more"
    policy = rig.workspace.policy
    assert (policy.observe_at, policy.observe_place_at, policy.protect_steps) == (0.6, 0.7, 9)
    assert not rig.events(PolicyChosen)
    await _check_a_session_with_its_own_policy(rig, page)
    rig.window.leave_settings()
    await rig.wiring.session.show(rig.workspace, None)
    await until(lambda: replays.is_closed, "no process holds what may be a secret")


async def _check_a_session_with_its_own_policy(rig: WindowRig, page: PolicyPage) -> None:
    """An older log has one; the page says so, and one click takes the workspace's."""
    rig.window.leave_settings()
    await rig.conversation.session.record(PolicyChosen({"profile": "lean"}))
    await rig.wiring.settings.show("policy")
    in_use = "This session: Spend least. Workspace: Balanced with 3 changes."
    await until(lambda: _text(page, "policy_in_use") == in_use, "what is in use")
    assert page.slider.track.value_text == "Balanced with 3 changes", "the page is the workspace's"
    await until(lambda: "for this session only" in rig.composer.gauge.toolTip(), "the gauge")
    find_button(page, "use_workspace_policy").click()
    await until(lambda: "whole workspace" in _text(page, "policy_in_use"), "the workspace's again")
    assert rig.events(PolicyChosen)[-1] == PolicyChosen()
    assert rig.conversation.session.transcript.session_policy is None


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


def _come_back(rig: WindowRig) -> None:
    """Let the window become the active one, as after an edit in another program."""
    assert rig.window.isActiveWindow()
    QApplication.sendEvent(rig.window, QEvent(QEvent.Type.ActivationChange))


async def _check_a_new_file(rig: WindowRig) -> None:
    """A missing file is made with a comment, which later changes keep, and then opened."""
    await rig.open_folder("new")
    await rig.wiring.settings.show("policy")
    page = rig.settings.policy
    path = _file(rig)
    path.unlink(missing_ok=True)
    with use_browser(("file",)) as editor:
        find_button(page, "open_policy_file").click()
        await until(lambda: editor.addresses, "the file in an editor")
    assert editor.addresses == [path.as_uri()]
    comment = "# The context policy of this workspace. The guide lists every number."
    assert path.read_text(encoding="utf-8").startswith(comment)
    path.write_text(f"{comment}\nprotect_steps = 14\n", encoding="utf-8")
    find_button(page, "profile:lean").click()
    find_button(page, "apply_to_workspace").click()
    assert path.read_text(encoding="utf-8").startswith(comment)
    assert rig.wiring.services.registry.load_policy(rig.workspace.id) == rig.workspace.policy
    rig.window.leave_settings()


async def _check_an_edited_file(rig: WindowRig) -> None:
    await rig.open_folder("edited")
    await rig.wiring.settings.show("policy")
    page = rig.settings.policy
    of_file = "sweep_min = 2_000  # as the profile\nsweep_max   = 21_000\nanchor_tokens = 3200\n"
    _file(rig).write_text(f'# mine\nprofile = "balanced"\nprotect_steps = 14\n{of_file}', encoding="utf-8")
    _come_back(rig)
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
    line = find_child(page, QLabel, "policy_unread_fields")
    assert line.isHidden()
    _file(rig).write_text("protect_steps = 14\nask_above = 1000\n", encoding="utf-8")
    _come_back(rig)
    await until(lambda: line.text() == "No longer used in policy.toml: ask_above.", "what is not read")
    assert not line.isHidden()
    assert rig.workspace.policy.protect_steps == 14
    rig.window.leave_settings()


async def _check_the_files_of_other_pages(rig: WindowRig) -> None:
    """The page on screen shows what its files say when the user is back in the window."""
    services = rig.wiring.services
    view = rig.settings
    settings_file = services.data_dir.settings_file
    instructions = services.user_instructions.path()
    await rig.wiring.settings.show("instructions")
    instructions.write_text("Be brief.", encoding="utf-8")
    _come_back(rig)
    await until(lambda: view.instructions.personal.excerpt.text() == "Be brief.", "the instructions")
    await rig.wiring.settings.show("providers")
    before = settings_file.read_text(encoding="utf-8")
    settings_file.write_text("theme = blue", encoding="utf-8")
    _come_back(rig)
    await until(view.providers.file_line.error.isVisible, "what is wrong with the settings")
    await rig.wiring.settings.show("permissions")
    settings_file.write_text(before, encoding="utf-8")
    _come_back(rig)
    line = find_child(view.permissions, SettingsFileLine)
    await until(line.error.isHidden, "a file without errors")
    rig.window.leave_settings()


async def _check_a_bad_file(rig: WindowRig) -> None:
    """A bad policy file is reported with its line and not overwritten."""
    await rig.open_folder("bad")
    await rig.change_policy(protect_steps=14)
    await rig.wiring.settings.show("policy")
    page = rig.settings.policy
    bad = 'profile = "balanced"\nprotect_steps = "many"\n'
    _file(rig).write_text(bad.replace("protect", "protects"), encoding="utf-8")
    _come_back(rig)
    assert "Line 2: Unknown field protects_steps." in rig.banner_text()
    _file(rig).write_text(bad, encoding="utf-8")
    _come_back(rig)
    assert "Unknown field" not in rig.banner_text(), "another error takes its place"
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


async def test_a_workspace_opens_with_a_bad_policy_file_and_sends_once_it_is_fixed(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with ChatServer(replies_in_order(text_reply("High."), text_reply("Still high."))) as server:
        async with open_window(qapp, tmp_path) as rig:
            identity = await rig.open_folder("typo")
            await rig.use_server(server)
            await rig.run_turn("How high is the tide?")
            session_id = rig.conversation.session.id
            path = _file(rig)
        path.write_text('profile = "lean"\nhandover_att = 0.7\n', encoding="utf-8")

        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.open_workspace(identity)
            await rig.wiring.workspace_controller.open_session(session_id)
            assert [row.text for row in rig.rows(UserRow)] == ["How high is the tide?"]
            error = "Line 2: Unknown field handover_att."
            await until(lambda: error in rig.banner_text(), "what is wrong, and where")
            assert "Nothing is sent or compacted until you fix the file." in rig.banner_text()
            assert find_buttons(rig.window.notices, "open"), "a button that opens the file"

            rig.type_message("And now?")
            await until(lambda: "is invalid" in rig.banner_text(), "why it isn't sent")
            with pytest.raises(SettingsDamaged, match="Line 2"):
                await rig.conversation.send("And now?")
            with pytest.raises(SettingsDamaged, match="Line 2"):
                rig.conversation.handovers.start()
            assert len(server.bodies) == 1
            await until(lambda: rig.composer.editor.toPlainText() == "And now?", "the text is kept")

            path.write_text('profile = "lean"\nhandover_at = 0.7\n', encoding="utf-8")
            _come_back(rig)
            notices = rig.window.notices
            await until(lambda: "policy-file" not in notices.names(), "the file is read again")
            assert rig.workspace.policy.handover_at == 0.7
            QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
            await until(lambda: len(server.bodies) == 2, "the message is sent")
            await rig.wait_for_turn_end()
            assert error not in rig.banner_text()


def _skill(name: str, description: str, body: str = "Do it.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"


async def test_instructions_and_skills_are_sent_and_listed(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the settings hold and what the folder has; a skill is started by its name, its file goes along."""
    monkeypatch.setenv("USERPROFILE" if os.name == "nt" else "HOME", str(tmp_path / "home"))
    skills = {
        ".agents/skills/pdf/SKILL.md": _skill("pdf", "Reads PDFs"),
        ".agents/skills/undo/SKILL.md": _skill("undo", "Undoes it" + " all" * 300),
        ".claude/skills/pdf/SKILL.md": _skill("pdf", "Reads other PDFs"),
        ".claude/skills/wrong/SKILL.md": _skill("right", "Has another name"),
    }
    async with ChatServer(lambda _: text_reply("Yes.")) as server, open_window(qapp, tmp_path) as rig:
        for path, text in skills.items():
            file = tmp_path / "project" / path
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
        await rig.open_folder("project")
        await rig.use_server(server)
        await until(lambda: "Skills" in _standing_texts(rig), "a row before anything was sent")
        await rig.wiring.settings.show("instructions")
        page = rig.settings.instructions
        words = [label.text() for label in page.skills.findChildren(QLabel)]
        wrong, why, hidden, not_used, pdf, reads, undo, undoes = filter(None, words[-12:])
        assert (wrong, hidden, pdf, undo) == (
            ".claude/skills/wrong/SKILL.md",
            ".claude/skills/pdf/SKILL.md",
            "pdf",
            "undo",
        )
        assert why.startswith("Its name is right, that of its folder wrong.")
        assert not_used == "Not used: .agents/skills/pdf/SKILL.md comes first"
        assert reads == "Reads PDFs · .agents/skills/pdf/SKILL.md"
        start, *rest = undoes.split(" · ")
        assert start.startswith("Undoes it all")
        assert rest == [
            "Its description has 1,209 characters; the first 1,024 are sent",
            "The agent uses it; /undo is a built-in command",
            ".agents/skills/undo/SKILL.md",
        ]
        own = rig.wiring.services.user_instructions
        own.path().write_text("Be brief.", encoding="utf-8")
        own.path(rig.workspace.id).write_text("Test with make.", encoding="utf-8")
        await rig.run_turn("Hello")
        system = str(server.bodies[-1]["messages"][0]["content"])
        assert system.index("Be brief.") < system.index("Test with make.")
        assert "- pdf: Reads PDFs" in system
        assert _standing_texts(rig) == ["Skills", "For all workspaces", "For this workspace"]
        rig.composer.set_text("/pdf a.pdf")
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
        await until(lambda: len(server.bodies) > 1 and not rig.conversation.is_running, "the turn")
        sent = str(server.bodies[-1]["messages"][-1]["content"])
        assert sent.startswith("Use the skill pdf: follow @.agents/skills/pdf/SKILL.md.\n\na.pdf")
        assert sent.endswith("Do it.\n")


def _standing_texts(rig: WindowRig) -> list[str]:
    return [row.name for row in panel_rows(rig) if row.kind == "instructions"]
