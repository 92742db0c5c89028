"""The settings: what a form accepts, what it emits, what it never shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.settings.dialog import SettingsDialog
from helix_desktop.ui.settings.providers import ProviderEditor
from helix_desktop.ui.settings.rows import (
    AboutInfo,
    CheckLine,
    PermissionRow,
    PolicyField,
    PolicyForm,
    PolicyGroup,
    ProviderForm,
    ProviderStatus,
    policy_fault,
    provider_faults,
)
from helix_desktop.ui.theme import DARK
from helix_desktop.ui.widgets import Combo, Switch, retint

GOOD = ProviderForm("p1", "Ollama", "http://localhost:11434/v1", "qwen3", 32_768, 4_000)
DEMO = ProviderForm("demo", "Offline demo", "", "demo", 24_000, 2_000, demo=True)


@pytest.fixture
def dialog(qtbot: QtBot) -> Iterator[SettingsDialog]:
    """Settings with the demo in use and one provider whose key is in the keychain."""
    parent = QWidget()
    qtbot.addWidget(parent)
    made = SettingsDialog(parent)
    made.providers.show_providers(
        (DEMO, GOOD),
        (
            ProviderStatus("demo", True, "none", ""),
            ProviderStatus("p1", False, "keychain", "Secret Service"),
        ),
    )
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()
    # The parent stays referenced to here: it owns the dialog, and Python would let it go.
    parent.close()


def button(root: QWidget, text: str) -> QPushButton:
    """The visible button with a text."""
    return next(
        found for found in root.findChildren(QPushButton) if found.text() == text and found.isVisible()
    )


def line(root: QWidget, name: str) -> QLineEdit:
    """The field with an accessible name."""
    return next(found for found in root.findChildren(QLineEdit) if found.accessibleName() == name)


def words(root: QWidget) -> str:
    """All visible texts."""
    return "\n".join(label.text() for label in root.findChildren(QLabel) if label.isVisible())


def test_the_demo_is_listed_first_and_has_no_fields(dialog: SettingsDialog) -> None:
    assert not dialog.isModal()
    assert "in use here" in dialog.providers.list.item(0).text()
    dialog.providers.list.setCurrentRow(0)
    assert not dialog.providers.editor.isVisible()
    assert "needs no key" in words(dialog)


def test_a_kept_key_is_named_but_never_shown(dialog: SettingsDialog) -> None:
    dialog.providers.list.setCurrentRow(1)

    key = line(dialog, "API key")
    assert key.text() == ""
    assert key.echoMode() is QLineEdit.EchoMode.Password
    assert "Kept in the Secret Service." in words(dialog)


@pytest.mark.parametrize(
    ("status", "note"),
    [
        (ProviderStatus("p", False, "environment", "environment variable OPENAI_API_KEY"), "OPENAI_API_KEY"),
        (ProviderStatus("p", False, "run", "this run only: it was locked"), "Kept for this run only: it was"),
        (ProviderStatus("p", False, "none", "in the Secret Service"), "Will be kept in the Secret Service."),
        (ProviderStatus("p", False, "none", ""), "Will be kept in the system's keychain, or for this run"),
    ],
)
def test_the_page_says_where_the_key_is(
    qtbot: QtBot, dialog: SettingsDialog, status: ProviderStatus, note: str
) -> None:
    dialog.providers.list.setCurrentRow(1)
    dialog.providers.editor.show_provider(GOOD, status)

    assert note in words(dialog)


def test_a_new_provider_begins_with_its_name(qtbot: QtBot, dialog: SettingsDialog) -> None:
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    QTest.mouseClick(button(dialog, "Add provider"), Qt.MouseButton.LeftButton)

    assert line(dialog, "Name").hasFocus()
    assert "Will be kept in the Secret Service." in words(dialog)


def test_the_footer_belongs_to_fields(qtbot: QtBot, dialog: SettingsDialog) -> None:
    footer = dialog.providers.editor.footer
    dialog.providers.list.setCurrentRow(1)
    assert footer.isVisible()
    dialog.providers.list.setCurrentRow(0)
    assert not footer.isVisible()
    dialog.providers.add()
    assert footer.isVisible()
    dialog.providers.show_providers((DEMO,), (ProviderStatus("demo", True, "none", ""),))
    assert not footer.isVisible()


def test_a_preset_fills_in_the_address(qtbot: QtBot, dialog: SettingsDialog) -> None:
    dialog.providers.add()
    menu = button(dialog, "Presets…").menu()
    next(action for action in menu.actions() if action.text().startswith("LM Studio")).trigger()

    form = dialog.providers.editor.form()
    assert (form.name, form.base_url, form.id) == ("LM Studio", "http://localhost:1234/v1", "")


def test_save_emits_a_whole_form(qtbot: QtBot, dialog: SettingsDialog) -> None:
    dialog.providers.list.setCurrentRow(1)
    line(dialog, "API key").setText(" sk-typed ")

    with qtbot.waitSignal(dialog.providers.editor.saved) as saved:
        QTest.mouseClick(button(dialog, "Save"), Qt.MouseButton.LeftButton)
    assert saved.args == [replace(GOOD, key="sk-typed")]


def test_save_says_what_is_wrong_instead(qtbot: QtBot, dialog: SettingsDialog) -> None:
    dialog.providers.add()
    line(dialog, "Base URL").setText("localhost:11434")

    with qtbot.assertNotEmitted(dialog.providers.editor.saved):
        QTest.mouseClick(button(dialog, "Save"), Qt.MouseButton.LeftButton)
    assert set(dialog.providers.editor.faults()) == {"name", "base_url", "model"}


def test_a_test_shows_its_lines_and_rests_while_it_runs(qtbot: QtBot, dialog: SettingsDialog) -> None:
    dialog.providers.list.setCurrentRow(1)
    with qtbot.waitSignal(dialog.providers.editor.test_requested) as asked:
        QTest.mouseClick(button(dialog, "Test"), Qt.MouseButton.LeftButton)
    assert asked.args == [GOOD]

    dialog.providers.editor.show_checks([CheckLine("Reach", "ok", "41 ms"), CheckLine("Key", "running")])
    assert not button(dialog, "Test").isEnabled()
    dialog.providers.editor.show_checks(
        [CheckLine("Reach", "ok"), CheckLine("Key", "failed", "401: wrong key")]
    )
    assert button(dialog, "Test").isEnabled()
    qtbot.waitUntil(lambda: "401: wrong key" in words(dialog))


def test_listed_models_do_not_replace_what_was_typed(qtbot: QtBot) -> None:
    editor = ProviderEditor()
    qtbot.addWidget(editor)
    qtbot.addWidget(editor.footer)
    editor.show_models(["a", "b"])
    assert editor.form().model == "a"

    editor.findChildren(Combo)[0].setEditText("mine")
    editor.show_models(["a", "b"])
    assert editor.form().model == "mine"


@pytest.mark.parametrize(
    ("form", "field"),
    [
        (replace(GOOD, base_url="ftp://x"), "base_url"),
        (replace(GOOD, base_url="http://"), "base_url"),
        (replace(GOOD, base_url="http://x:99999999"), "base_url"),
        (replace(GOOD, window=100), "window"),
        (replace(GOOD, reserve=30_000), "reserve"),
        (replace(GOOD, reserve=0), "reserve"),
        (replace(GOOD, model=" "), "model"),
    ],
)
def test_provider_rules(form: ProviderForm, field: str) -> None:
    assert provider_faults(GOOD) == {}
    assert field in provider_faults(form)


POLICY = PolicyForm(
    "helix", "Balanced", ("Lean", "Balanced"),
    (PolicyGroup("Cache", (
        PolicyField("steps", "Protected steps", 10, least=2, most=200),
        PolicyField("on", "Cache outputs", True),
        PolicyField("sweep", "Sweep", "rent", choices=("rent", "fixed")),
        PolicyField("at", "Written at", 0.85, least=0.3, most=0.95),
    )),),
)  # fmt: skip


def test_valid_policy_changes_come_out_one_by_one(qtbot: QtBot, dialog: SettingsDialog) -> None:
    page = dialog.policy
    page.show_policy(POLICY)
    dialog.show_page("policy")
    seen: list[dict[str, object]] = []
    page.changed.connect(seen.append)

    steps = page.input("steps")
    assert isinstance(steps, QLineEdit)
    steps.selectAll()
    QTest.keyClicks(steps, "12")
    QTest.keyClick(steps, Qt.Key.Key_Return)
    switch = page.input("on")
    assert isinstance(switch, Switch)
    switch.click()
    at = page.input("at")
    assert isinstance(at, QLineEdit)
    at.selectAll()
    QTest.keyClicks(at, "0.8")
    QTest.keyClick(at, Qt.Key.Key_Return)

    assert seen == [{"steps": 12}, {"on": False}, {"at": 0.8}]


def test_a_wrong_policy_number_is_marked_and_kept_back(qtbot: QtBot, dialog: SettingsDialog) -> None:
    page = dialog.policy
    page.show_policy(POLICY)
    dialog.show_page("policy")
    steps = page.input("steps")
    steps.setFocus()
    assert isinstance(steps, QLineEdit)
    steps.selectAll()

    with qtbot.assertNotEmitted(page.changed):
        QTest.keyClicks(steps, "1")
        QTest.keyClick(steps, Qt.Key.Key_Return)
    assert page.fault("steps") == "Between 2 and 200."


@pytest.mark.parametrize(
    ("text", "fault"), [("abc", "Type a number."), ("2.5", "Type a whole number."), ("1,0", "")]
)
def test_policy_numbers(text: str, fault: str) -> None:
    assert policy_fault(PolicyField("k", "K", 10, least=2, most=200), text) == fault


def test_a_rule_can_be_revoked(qtbot: QtBot, dialog: SettingsDialog) -> None:
    dialog.show_page("permissions")
    dialog.permissions.show_rules("helix", [PermissionRow("r1", "run_command: pytest *", "12 Nov", "")])
    qtbot.waitUntil(lambda: "run_command: pytest *" in words(dialog))

    with qtbot.waitSignal(dialog.permissions.revoke_requested) as revoked:
        QTest.mouseClick(button(dialog, "Revoke"), Qt.MouseButton.LeftButton)
    assert revoked.args == ["r1"]
    dialog.permissions.show_rules("helix", [])
    assert "asks each time" in words(dialog)


def test_appearance_shows_and_emits(qtbot: QtBot, dialog: SettingsDialog) -> None:
    dialog.show_page("appearance")
    with qtbot.assertNotEmitted(dialog.appearance.enter_sends_chosen):
        dialog.appearance.show_appearance("dark", 15, enter_sends=False)
    assert button(dialog, "Dark").isChecked()

    with qtbot.waitSignal(dialog.appearance.mode_chosen) as chosen:
        QTest.mouseClick(button(dialog, "Light"), Qt.MouseButton.LeftButton)
    assert chosen.args == ["light"]
    with qtbot.waitSignal(dialog.appearance.enter_sends_chosen) as sends:
        dialog.appearance.findChildren(Switch)[0].click()
    assert sends.args == [True]


def test_about_names_version_folder_and_terms(qtbot: QtBot, dialog: SettingsDialog) -> None:
    dialog.show_page("about")
    dialog.about.show_about(AboutInfo("0.1.0", "3.11", "6.11.3", "/data/helix", (("Inter", "OFL 1.1"),)))
    retint(dialog, DARK)

    parts = ("0.1.0", "/data/helix", "Inter", "OFL 1.1")
    qtbot.waitUntil(lambda: all(part in words(dialog) for part in parts))
