"""The settings: accepted input, emitted forms, hidden secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot
from texts import pseudo

from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.paths import resources_dir
from helix_desktop.config.settings import ModelEntry
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.model_spec import ModelSpec, SourcedSpec
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.layout import row
from helix_desktop.ui.design.style.stylesheet import apply
from helix_desktop.ui.design.style.theme import LIGHT
from helix_desktop.ui.settings.policy.form import conflict_text, profiles_beside
from helix_desktop.ui.settings.providers.models import (
    ProviderDraft,
    ProviderStatus,
    validate_provider,
    web_address,
)
from helix_desktop.ui.settings.providers.page import ProvidersPage
from helix_desktop.ui.settings.view import SettingsView
from tests.support.default_settings import NothingOnScreen, default_settings, provider_errors, settings_view
from tests.support.pseudo_languages import pseudo_language
from tests.support.window.buttons import find_button, find_buttons, press, trigger
from tests.support.window.list_contents import cell_texts

QWEN = ModelEntry(name="qwen3", window=32_768, reserve=4_000)
GOOD = ProviderDraft("p1", "Ollama", "http://localhost:11434/v1", "openai-chat", (QWEN,), "qwen3")
DEMO = ProviderDraft("demo", "Offline demo", "", demo=True)
IN_SERVICE = "Will be kept in Secret Service."
CATALOG = ModelCatalog.load(resources_dir() / "models.toml")


@pytest.fixture
def dialog(qtbot: QtBot) -> Iterator[SettingsView]:
    """Settings with the demo in use and one provider whose key is in the keychain."""
    frame, settings_dialog = QWidget(), settings_view(default_settings(), NothingOnScreen())
    settings_dialog.head.hide()  # there is room for the list
    frame.setLayout(row(settings_dialog.names, settings_dialog, settings_dialog.head, gap=0))
    frame.resize(980, 760)
    qtbot.addWidget(frame)
    settings_dialog.providers.set_catalog(CATALOG)
    settings_dialog.providers.show_providers(
        (DEMO, GOOD),
        (
            ProviderStatus("demo", True, "none", ""),
            ProviderStatus("p1", False, "keychain", "Kept in Secret Service.", IN_SERVICE),
        ),
    )
    with qtbot.waitExposed(frame):
        frame.show()
    yield settings_dialog
    frame.close()


def line(root: QWidget, name: str) -> QLineEdit:
    return next(edit for edit in root.findChildren(QLineEdit) if edit.accessibleName() == name)


def words(root: QWidget) -> str:
    return "\n".join(label.text() for label in root.findChildren(QLabel) if label.isVisible())


def _are_uncut(buttons: Sequence[PushButton]) -> bool:
    return all(button.sizeHint().width() <= button.width() for button in buttons)


def test_page_names_are_never_cut_at_any_text_size(
    qapp: QApplication, dialog: SettingsView, qtbot: QtBot
) -> None:
    for text_px in (13, 20):
        apply(qapp, LIGHT, text_px)
        names = [
            button for button in dialog.names.findChildren(PushButton) if button.property("kind") == "nav"
        ]
        assert len(names) == 10
        qtbot.waitUntil(partial(_are_uncut, names))
    apply(qapp, LIGHT)


def test_the_demo_comes_first_without_fields_and_a_stored_key_is_never_displayed(
    dialog: SettingsView,
) -> None:
    """The footer belongs to the fields, and the page says where a key is stored."""
    assert "workspace default" in dialog.providers.list.item(0).text()
    dialog.providers.list.setCurrentRow(0)
    assert not dialog.providers.editor.isVisible()
    assert "needs no key" in words(dialog)
    footer = dialog.providers.editor.footer
    dialog.providers.list.setCurrentRow(1)
    assert footer.isVisible()

    key = line(dialog, "API key")
    assert key.text() == ""
    assert key.echoMode() is QLineEdit.EchoMode.Password
    assert "Kept in Secret Service." in words(dialog)
    for status, note in (
        (ProviderStatus("p", False, "environment", "From OPENAI_API_KEY."), "From OPENAI_API_KEY."),
        (ProviderStatus("p", False, "none", IN_SERVICE), IN_SERVICE),
        (ProviderStatus("p", False, "none"), "Will be kept in the system's keychain, if there is one."),
    ):
        dialog.providers.editor.show_provider(GOOD, status)
        assert note in words(dialog)

    dialog.providers.list.setCurrentRow(0)
    assert not footer.isVisible()
    dialog.providers.add()
    assert footer.isVisible()
    dialog.providers.show_providers((DEMO,), (ProviderStatus("demo", True, "none", ""),))
    assert not footer.isVisible()


def test_the_provider_in_use_comes_first(qtbot: QtBot) -> None:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    states = ProviderStatus("demo", False, "none", ""), ProviderStatus("p1", True, "keychain", "")
    page.show_providers((DEMO, GOOD), states)
    assert page.list.currentRow() == 1
    page.list.setCurrentRow(0)
    page.show_providers((DEMO, GOOD), states)
    assert page.list.currentRow() == 0


def test_a_new_provider_starts_with_its_name_and_invalid_fields_are_not_saved(
    qtbot: QtBot, dialog: SettingsView
) -> None:
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    menu = dialog.providers.findChildren(QMenu)[0]
    trigger(menu, "another_server")

    assert line(dialog.providers, "Name").hasFocus()
    assert IN_SERVICE in words(dialog)
    QTest.keyClicks(line(dialog, "Base URL"), "not an address")

    with qtbot.assertNotEmitted(dialog.providers.editor.saved):
        press(dialog, "save_provider")
    assert set(provider_errors(dialog.providers.editor)) == {"name", "base_url", "models"}
    assert dialog.providers.editor.focusWidget().accessibleName() == "Name", "it may be out of sight"


def test_a_vendor_needs_one_click_and_a_key_and_figures_typed_by_the_user_win(
    qtbot: QtBot, dialog: SettingsView
) -> None:
    menu = dialog.providers.findChildren(QMenu)[0]
    trigger(menu, "vendor:anthropic")
    QTest.keyClicks(line(dialog, "API key"), "sk-ant")

    with qtbot.waitSignal(dialog.providers.editor.saved) as saved:
        QTest.keyClick(dialog, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    form = saved.args[0]
    anthropic = ("anthropic", "https://api.anthropic.com/v1", "anthropic")
    assert (form.name, form.base_url, form.dialect) == anthropic
    assert form.default_model == "claude-opus-5-5"
    models = dialog.providers.editor.models
    first = cell_texts(models.table)[0]
    assert first == ["claude-opus-5-5 · default", "1,000,000", "128,000", "4 / 20", "yes", "yes", "catalog"]

    window = models.spec_form.form("window").line("window")
    assert (window.text(), window.placeholderText()) == ("", "1,000,000")
    assert "Anthropic, Models overview" in models.spec_form.form("window").rows["window"].note_text()

    window.setText("200k")
    window.editingFinished.emit()
    assert models.entries[0].window == 200_000
    assert cell_texts(models.table)[0][1] == "200,000"
    assert cell_texts(models.table)[0][6] == "set by you · catalog"
    assert models.spec_form.form("window").rows["window"].note_text() == "set by you"

    window.setText("many")
    window.editingFinished.emit()
    assert window.property("invalid")
    assert models.spec_form.form("window").rows["window"].note_text() == "Enter a number."
    assert models.entries[0].window == 200_000
    window.setText("200,000")
    window.editingFinished.emit()
    assert models.spec_form.form("window").rows["window"].note_text() == "set by you"

    images = models.spec_form.form("images").controls["images"]
    assert isinstance(images, ComboBox)
    images.setCurrentIndex(2)
    images.activated.emit(2)
    assert models.entries[0].images is False
    press(dialog, "forget_figures")
    assert models.entries[0] == ModelEntry(name="claude-opus-5-5")


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("localhost:8185/v1", "http://localhost:8185/v1"),
        ("127.0.0.1/v1", "http://127.0.0.1/v1"),
        ("api.example.com/v1", "https://api.example.com/v1"),
        ("two words.com", "two words.com"),
    ],
)
def test_an_address_gets_its_scheme(typed: str, address: str) -> None:
    assert web_address(typed) == address


def test_models_are_added_and_removed_one_is_the_default_and_has_both_prices_or_none(
    dialog: SettingsView,
) -> None:
    """With one price its costs would be too low; a comma that separates no groups is the decimal point."""
    dialog.providers.list.setCurrentRow(1)
    models = dialog.providers.editor.models
    spec = SourcedSpec("server", "its list of models", ModelSpec(window=8_192, tools=True))
    models.set_offered({"small": spec, "qwen3": spec})
    assert cell_texts(models.table)[0][1] == "32,768", "the user's own figure stays"
    models.name_field.setEditText("small")
    press(dialog, "add_model")
    assert cell_texts(models.table)[1][:2] == ["small", "8,192"]
    assert models.selected_model == "small"

    press(dialog, "use_by_default")
    assert dialog.providers.editor.form().default_model == "small"
    models.table.select_model("qwen3")
    press(dialog, "remove_model")
    assert [entry.name for entry in dialog.providers.editor.form().models] == ["small"]

    price = models.spec_form.form("price_out").line("price_out")
    price.setText("1,5")
    price.editingFinished.emit()
    assert models.entries[0].price_out == 1.5
    assert cell_texts(models.table)[0][3] == "? / 1.5"
    press(dialog, "save_provider")
    assert (
        models.spec_form.form("price_in").rows["price_in"].note_text()
        == "Enter both prices, or neither: the costs would be too low."
    )


@pytest.mark.parametrize(
    ("form", "field"),
    [
        (replace(GOOD, base_url="ftp://x"), "base_url"),
        (replace(GOOD, base_url="http://"), "base_url"),
        (replace(GOOD, base_url="http://x:99999999"), "base_url"),
        (replace(GOOD, models=()), "models"),
    ],
)
def test_an_invalid_provider_is_refused_at_its_field(form: ProviderDraft, field: str) -> None:
    assert validate_provider(GOOD) == {}
    assert field in validate_provider(form)


BALANCED = PROFILES["balanced"]


def typed(dialog: SettingsView, key: str, text: str) -> QLineEdit:
    entry = dialog.policy.form.controls[key]
    assert isinstance(entry, QLineEdit)
    entry.setFocus()
    entry.selectAll()
    QTest.keyClicks(entry, text)
    QTest.keyClick(entry, Qt.Key.Key_Return)
    return entry


def test_each_profile_is_a_stop_of_one_slider(qtbot: QtBot, dialog: SettingsView) -> None:
    """From the one that sends most to the one that sends least, by click on its name and by keys.

    Own changes, which may send more or less, stay at its stop; a screen reader hears the name, not a number.
    """
    accessibility.install()
    page, selected = dialog.policy, list[str]()
    page.slider.profile_selected.connect(selected.append)
    page.show_policy("helix", BALANCED, BALANCED)
    dialog.show_page("policy")
    for profile in profiles_beside(BALANCED):
        assert find_button(page, f"profile:{profile.name}").accessibleDescription() == profile.description
    find_button(page, "profile:lean").click()
    track = page.slider.track
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Home, Qt.Key.Key_End):
        QTest.keyClick(track, key)
    assert selected == ["lean", "lean", "classic", "off", "lean"]
    QTest.mouseClick(track, Qt.MouseButton.LeftButton, pos=QPoint(round(track.x_of(0.8)), 9))
    assert selected[-1] == "classic"

    own = msgspec.structs.replace(PROFILES["balanced"], protect_steps=14)
    page.show_policy("helix", own, BALANCED)
    interface = QAccessible.queryAccessibleInterface(track)
    assert (interface.role(), interface.text(QAccessible.Text.Value)) == (
        QAccessible.Role.Slider,
        "Balanced with 1 change",
    )
    QTest.keyClick(track, Qt.Key.Key_Left)
    QTest.keyClick(track, Qt.Key.Key_Right)
    assert selected[-2:] == ["classic", "lean"]


def test_numbers_of_a_policy_are_changed_one_by_one_refused_and_reset(dialog: SettingsView) -> None:
    """Typing goes on in the same field of another policy; while it is off, no number can be changed."""
    page = dialog.policy
    page.show_policy("helix", PROFILES["off"], BALANCED)
    dialog.show_page("policy")
    entry = page.form.controls["protect_steps"]
    assert not page.form.controls["handover_at"].isEnabled()
    page.show_policy("helix", BALANCED, BALANCED)
    assert page.form.controls["handover_at"].isEnabled()
    page.show_policy("helix", PROFILES["lean"], BALANCED)
    assert page.form.controls["protect_steps"] is entry
    assert isinstance(entry, QLineEdit)
    assert entry.text() == str(PROFILES["lean"].protect_steps)

    page.show_policy("helix", BALANCED, BALANCED)
    changes: list[tuple[str, object]] = []
    page.values.change = lambda name, value: changes.append((name, value))
    typed(dialog, "protect_steps", "12")
    typed(dialog, "handover_at", "80")
    typed(dialog, "checkpoint_tokens", "12,500")
    assert changes == [("protect_steps", 12), ("handover_at", 0.8), ("checkpoint_tokens", 12_500)]
    changes.clear()
    typed(dialog, "handover_at", "20")
    assert not changes
    assert page.form.errors().get("handover_at", "") == "Enter a number from 30 % to 95 %."
    numbers = msgspec.structs.asdict(PROFILES["balanced"])
    page.form.show_error("observe_at", conflict_text({**numbers, "observe_at": 0.8}))
    assert page.form.errors()["observe_at"] == "“Compact early from” can't be above “observe_place_at”."

    own = msgspec.structs.replace(PROFILES["balanced"], protect_steps=14, handover_at=0.7)
    page.show_policy("helix", own, BALANCED)
    assert page.slider.track.value_text == "Balanced with 2 changes"
    back = find_buttons(page, "reset")
    assert [button.text().strip() for button in back] == [str(PROFILES["balanced"].protect_steps), "85 %"]
    back[1].click()
    assert changes == [("handover_at", 0.85)]
    page.show_policy("helix", BALANCED, BALANCED)
    assert all(button.isHidden() for button in back)
    assert page.slider.track.value_text == "Balanced"


def test_a_rule_can_be_revoked_and_has_no_codes_for_the_signs_that_order_its_line(
    qtbot: QtBot, dialog: SettingsView
) -> None:
    """In a language from right to left, a rule's command is isolated; its own hidden characters are codes."""
    dialog.show_page("permissions")
    rule = PermissionRule("*", "pytest *", kind="pattern")
    dialog.permissions.show_rules("helix", [rule], {}, {})
    qtbot.waitUntil(lambda: rule.text in words(dialog))
    outdated = "The server describes a tool differently since you allowed this."
    assert outdated not in words(dialog)
    dialog.permissions.show_rules("helix", [rule], {}, {rule.text: "tool"})
    qtbot.waitUntil(lambda: outdated in words(dialog))
    dialog.permissions.show_rules("helix", [], {}, {})
    assert "the agent asks before what may change something" in words(dialog)

    with pseudo_language(pseudo.RIGHT_TO_LEFT):
        dialog.permissions.show_rules(
            "helix", [PermissionRule("*", "pytest \u202e*", kind="pattern")], {}, {}
        )
    qtbot.waitUntil(lambda: "pytest" in words(dialog))
    assert "\\u202e" in words(dialog)
    assert not {"\\u2066", "\\u2069"} & set(re.findall(r"\\u[0-9a-f]{4}", words(dialog)))
